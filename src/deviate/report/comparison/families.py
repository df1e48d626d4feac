"""Which tests are adjusted together: those of the training's metrics, and apart from them those of measured times."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.collect.measured import TIMES
from deviate.contrast.multiplicity import CORRECTION_NAMES, Correction, adjust
from deviate.report.comparison.parts import Comparison, MetricComparison
from deviate.report.words import count

_MEASURED = frozenset(metric.name for metric in TIMES)


class Adjusted(msgspec.Struct, frozen=True, kw_only=True):
    """One question asked of many metrics: p-values adjusted within their families."""

    #: As given; None where a test could not be made.
    ps: list[float | None]
    #: Tests that were adjusted together with each, itself included.
    sizes: list[int]


def is_measured_time(name: str) -> bool:
    """Say whether Deviate measures this time itself, in every experiment and whether or not anybody asks for it.

    Examples
    --------
    >>> is_measured_time("time per run"), is_measured_time("images per second")
    (True, False)
    """
    return name in _MEASURED


def adjust_families(names: Sequence[str], ps: Sequence[float | None], correction: Correction) -> Adjusted:
    """Adjust the p-values of the training's metrics together, and those of measured times together.

    Nobody chose the times as outcomes, so they cost the metrics that were chosen no power. Within each family the
    chance of any false alarm stays at alpha or below; in both together it is at most twice that.

    Parameters
    ----------
    names : sequence of str
        Metric of each test.
    ps : sequence of float or None
        In [0, 1]; None where a test could not be made, which does not count.
    correction : {'holm', 'bonferroni', 'bh', 'none'}
        See `contrast.multiplicity.adjust`.

    Examples
    --------
    >>> found = adjust_families(["acc", "loss", "time per run"], [0.02, 0.5, 0.04], "holm")
    >>> found.ps, found.sizes
    ([0.04, 0.5, 0.04], [2, 2, 1])
    """
    adjusted: list[float | None] = [None] * len(ps)
    sizes = [0] * len(ps)
    for timed in (False, True):
        places = [place for place, name in enumerate(names) if is_measured_time(name) is timed]
        family = [ps[place] for place in places]
        for place, p in zip(places, adjust(family, correction), strict=True):
            adjusted[place], sizes[place] = p, sum(p is not None for p in family)
    return Adjusted(ps=adjusted, sizes=sizes)


def family_sizes(metrics: Sequence[MetricComparison]) -> tuple[int, int]:
    """Return how many tests of means the family of the training's metrics has, and that of measured times apart.

    Where only times are compared theirs is the one family, and there is no other.
    """
    tested = [is_measured_time(metric.name) for metric in metrics if metric.contrast.p is not None]
    times = sum(tested)
    only_times = all(is_measured_time(metric.name) for metric in metrics)
    return (times, 0) if only_times else (len(tested) - times, times)


def adjusted_as(comparison: Comparison) -> str:
    """Say in how many tests the p-values of a table were adjusted; empty where none was.

    Examples
    --------
    ``p adjusted (Holm): over 12 tests; of times that Deviate measures over 6``
    """
    family, times = comparison.family, comparison.times_family
    if comparison.correction == "none" or max(family, times) < 2:
        return ""
    apart = f"; of times that Deviate measures over {times}" if times else ""
    return f"p adjusted ({CORRECTION_NAMES[comparison.correction]}): over {count(family, 'test')}{apart}"
