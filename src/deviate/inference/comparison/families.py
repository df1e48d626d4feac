"""Which tests are adjusted together: those of what is claimed, of what is explored beside it, and of measured times."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple, TypeVar

import msgspec

from deviate.collect.measured import TIMES
from deviate.contrast.multiplicity import Correction, adjust
from deviate.contrast.sequential import claim_factor

_MEASURED = frozenset(metric.name for metric in TIMES)

#: ``claimed``: the metrics that were named before, or the main one; ``explored``: all others that the training reports;
#: ``times``: those that Deviate measures.
Family = Literal["claimed", "explored", "times"]
FAMILIES: tuple[Family, ...] = ("claimed", "explored", "times")

#: Names a test within a comparison; the last part is the metric's name.
Key = TypeVar("Key", bound=tuple[str, ...])


class Claimed(NamedTuple):
    """When something was claimed of two sides."""

    #: As `deviate.replicate.workspace.looks.Claim` has it.
    number: int = 1
    #: Tests that were made together then; 0 where that is now.
    tests: int = 0


class Adjusted(msgspec.Struct, frozen=True, kw_only=True):
    """A p-value adjusted within its family; None where the test could not be made."""

    p: float | None
    #: Tests that were adjusted together with this one, itself included.
    family: int
    #: Comparisons of the same runs that claimed something new until this was claimed, see `Claimed`.
    claim: int = 1

    @property
    def divisor(self) -> int:
        """By what alpha is divided in the strictest step."""
        return max(self.family, 1) * claim_factor(self.claim)


def is_measured_time(name: str) -> bool:
    """Tell whether Deviate measures this time itself, in every experiment and whether or not anybody asks for it.

    Examples
    --------
    >>> is_measured_time("time per run"), is_measured_time("images per second")
    (True, False)
    """
    return name in _MEASURED


def family_of(name: str, claimed: Collection[str]) -> Family:
    """Return the family of a metric's tests.

    Examples
    --------
    >>> [family_of(name, ["acc"]) for name in ("acc", "loss", "time per run")]
    ['claimed', 'explored', 'times']
    """
    if is_measured_time(name):
        return "times"
    return "claimed" if name in claimed else "explored"


def adjust_families(
    ps: Mapping[Key, float | None],
    correction: Correction,
    claimed: Collection[str],
    claims: Mapping[Key, Claimed] | None = None,
) -> dict[Key, Adjusted]:
    """Adjust the p-values of each family together.

    What is claimed is settled before the values are seen, so that a verdict on it does not depend on which other
    metrics there are. Nobody chose the measured times as outcomes. Within each family the chance of any false alarm
    stays at alpha or below.

    Parameters
    ----------
    ps : mapping of tuple to float or None
        p in [0, 1] by a key that ends in the metric's name; None where a test could not be made, which does not count.
    correction : {'holm', 'bonferroni', 'bh', 'none'}
        See `contrast.multiplicity.adjust`.
    claimed : collection of str
        Names of the metrics that are claimed.
    claims : mapping of tuple to Claimed, optional
        When each of them was first claimed: those of one claim are adjusted together, with as many tests as it had.

    Examples
    --------
    >>> ps = {("acc",): 0.04, ("loss",): 0.02, ("f1",): 0.5, ("time per run",): 0.04}
    >>> [(each.p, each.family) for each in adjust_families(ps, "holm", ["acc"]).values()]
    [(0.04, 1), (0.04, 2), (0.5, 2), (0.04, 1)]
    """
    together: dict[tuple[Family, Claimed], list[Key]] = {}
    for key in ps:
        family = family_of(key[-1], claimed)
        when = (claims or {}).get(key, Claimed()) if family == "claimed" and correction != "none" else Claimed()
        together.setdefault((family, when), []).append(key)
    adjusted: dict[Key, Adjusted] = {}
    for (_, when), keys in together.items():
        values = [ps[key] for key in keys]
        size = sum(p is not None for p in values)
        # Nothing is known of those that were claimed with them and are not compared now.
        unseen = [1.0] * max(0, when.tests - size)
        factor = claim_factor(when.number)
        for key, p in zip(keys, adjust([*values, *unseen], correction), strict=False):
            p_claimed = None if p is None else min(1.0, factor * p)
            adjusted[key] = Adjusted(p=p_claimed, family=size + len(unseen), claim=when.number)
    return {key: adjusted[key] for key in ps}


def family_sizes(ps: Mapping[Key, float | None], claimed: Collection[str]) -> dict[Family, int]:
    """Return how many tests each family has.

    Examples
    --------
    >>> family_sizes({("acc",): 0.04, ("loss",): 0.02, ("f1",): None}, ["acc"])
    {'claimed': 1, 'explored': 1, 'times': 0}
    """
    tested = [family_of(key[-1], claimed) for key, p in ps.items() if p is not None]
    return {family: tested.count(family) for family in FAMILIES}
