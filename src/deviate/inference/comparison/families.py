"""Which tests are adjusted together: those of what is claimed, of what is explored beside it, and of measured times."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeVar

import msgspec

from deviate.collect.measured import TIMES
from deviate.contrast.multiplicity import Correction, adjust

_MEASURED = frozenset(metric.name for metric in TIMES)

#: ``claimed``: the metrics that were named before, or the main one; ``explored``: all others that the training reports;
#: ``times``: those that Deviate measures.
Family = Literal["claimed", "explored", "times"]
FAMILIES: tuple[Family, ...] = ("claimed", "explored", "times")

#: Names a test within a comparison; the last part is the metric's name.
Key = TypeVar("Key", bound=tuple[str, ...])


class Adjusted(msgspec.Struct, frozen=True, kw_only=True):
    """A p-value adjusted within its family; None where the test could not be made."""

    p: float | None
    #: Tests that were adjusted together with this one, itself included.
    family: int


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
    ps: Mapping[Key, float | None], correction: Correction, claimed: Collection[str]
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

    Examples
    --------
    >>> ps = {("acc",): 0.04, ("loss",): 0.02, ("f1",): 0.5, ("time per run",): 0.04}
    >>> [(each.p, each.family) for each in adjust_families(ps, "holm", ["acc"]).values()]
    [(0.04, 1), (0.04, 2), (0.5, 2), (0.04, 1)]
    """
    adjusted: dict[Key, Adjusted] = {}
    for family in FAMILIES:
        keys = [key for key in ps if family_of(key[-1], claimed) == family]
        values = [ps[key] for key in keys]
        size = sum(p is not None for p in values)
        for key, p in zip(keys, adjust(values, correction), strict=True):
            adjusted[key] = Adjusted(p=p, family=size)
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
