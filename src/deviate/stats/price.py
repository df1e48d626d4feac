"""Ratio of what two sides took, from runs that were made in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from deviate.stats.intervals import DEFAULT_LEVEL, Interval, mean_interval

#: Why there is no ratio.
TOO_FEW = "it takes two runs or more of each, made here"

#: Pairs of runs that give a ratio.
LEAST_PAIRS = 2


class HeldPrice(msgspec.Struct, frozen=True, kw_only=True):
    """Two variants that differ in the implementation alone, and their times."""

    held: str
    free: str
    #: The time that is compared: per iteration where that was measured, else of the whole run.
    metric: str = ""
    #: Runs of one index, one of each variant.
    pairs: int = 0
    #: Time where it is held, as a multiple of that where it is free; None where that is not known.
    ratio: float | None = None
    interval: Interval | None = None
    #: Why the ratio is not known; empty where it is.
    reason: str = ""


def paired_price(
    held: str, free: str, metric: str, pairs: Sequence[tuple[float, float]], level: float = DEFAULT_LEVEL
) -> HeldPrice:
    """Compare what was taken by runs that were made in turn, each pair where it is held and where it is free.

    The ratio is the geometric mean of those of the pairs, its interval that of Student's t on their logarithms.
    """
    logs = [math.log(one / other) for one, other in pairs]
    if len(logs) < LEAST_PAIRS:
        return HeldPrice(held=held, free=free, metric=metric, reason=TOO_FEW)
    ratio, interval = math.exp(sum(logs) / len(logs)), _raised(mean_interval(logs, level))
    return HeldPrice(held=held, free=free, metric=metric, pairs=len(logs), ratio=ratio, interval=interval)


def _raised(interval: Interval) -> Interval:
    low, high = (None if end is None else math.exp(end) for end in (interval.low, interval.high))
    return msgspec.structs.replace(interval, low=low, high=high)
