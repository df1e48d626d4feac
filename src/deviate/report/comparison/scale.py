"""Percent on one side and fractions on the other: such a comparison says nothing about the recipes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deviate.report.comparison.inputs import SideMetric

#: Percent is 100 times a fraction; the recipes may differ too, so ratios of means within a factor of two are taken
#: for it.
FEWEST_TIMES, MOST_TIMES = 50, 200


def in_other_units(metrics: Sequence[SideMetric]) -> tuple[int, int] | None:
    """Find a side that gives fractions and one that gives percent.

    Parameters
    ----------
    metrics : sequence of SideMetric
        One metric, a side each.

    Returns
    -------
    (int, int) or None
        Places of the side with fractions (all values in 0 to 1) and of the one with percent (all in 1 to 100, the mean
        50 to 200 times as large); None where there are none, or the metric is no quality.
    """
    if any(metric.kind != "quality" for metric in metrics):
        return None
    fractions = [place for place, metric in enumerate(metrics) if _within(metric, 0, 1)]
    percents = [place for place, metric in enumerate(metrics) if _within(metric, 1, 100)]
    pairs = ((one, other) for one in fractions for other in percents)
    return next((pair for pair in pairs if _is_hundredfold(*(metrics[place] for place in pair))), None)


def _within(metric: SideMetric, low: float, high: float) -> bool:
    return bool(metric.values) and low <= min(metric.values) and max(metric.values) <= high


def _is_hundredfold(fraction: SideMetric, percent: SideMetric) -> bool:
    small, large = float(np.mean(fraction.values)), float(np.mean(percent.values))
    return FEWEST_TIMES * small <= large <= MOST_TIMES * small
