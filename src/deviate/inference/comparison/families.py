"""Which tests are adjusted together: those of the training's metrics, and apart from them those of measured times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from deviate.collect.measured import TIMES
from deviate.contrast.multiplicity import Correction, adjust

_MEASURED = frozenset(metric.name for metric in TIMES)

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


def adjust_families(ps: Mapping[Key, float | None], correction: Correction) -> dict[Key, Adjusted]:
    """Adjust the p-values of the training's metrics together, and those of measured times together.

    Nobody chose the times as outcomes, so they cost the metrics that were chosen no power. Within each family the
    chance of any false alarm stays at alpha or below; in both together it is at most twice that.

    Parameters
    ----------
    ps : mapping of tuple to float or None
        p in [0, 1] by a key that ends in the metric's name; None where a test could not be made, which does not count.
    correction : {'holm', 'bonferroni', 'bh', 'none'}
        See `contrast.multiplicity.adjust`.

    Examples
    --------
    >>> adjusted = adjust_families({("acc",): 0.02, ("loss",): 0.5, ("time per run",): 0.04}, "holm")
    >>> [(each.p, each.family) for each in adjusted.values()]
    [(0.04, 2), (0.5, 2), (0.04, 1)]
    """
    adjusted: dict[Key, Adjusted] = {}
    for timed in (False, True):
        keys = [key for key in ps if is_measured_time(key[-1]) is timed]
        family = [ps[key] for key in keys]
        size = sum(p is not None for p in family)
        for key, p in zip(keys, adjust(family, correction), strict=True):
            adjusted[key] = Adjusted(p=p, family=size)
    return {key: adjusted[key] for key in ps}


def family_sizes(ps: Mapping[Key, float | None]) -> tuple[int, int]:
    """Return how many tests the family of the training's metrics has, and that of measured times apart.

    Where only times are compared theirs is the one family, and there is no other.
    """
    tested = [is_measured_time(key[-1]) for key, p in ps.items() if p is not None]
    times = sum(tested)
    only_times = all(is_measured_time(key[-1]) for key in ps)
    return (times, 0) if only_times else (len(tested) - times, times)
