"""The difference of two means with its interval."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike
from scipy import stats

from deviate.contrast.results import Effect, TwoSamples, quiet, two_samples
from deviate.measure.intervals import DEFAULT_LEVEL, Interval
from deviate.measure.sample import is_identical


def mean_difference(a: ArrayLike, b: ArrayLike, level: float = DEFAULT_LEVEL, *, paired: bool = False) -> Effect:
    """Give ``mean(a) - mean(b)`` with the confidence interval that belongs to Welch's or the paired t test.

    Parameters
    ----------
    a, b : array_like of float, shapes (n_a,) and (n_b,)
        One finite value per run.
    level : float, optional
        Confidence level in (0, 1).
    paired : bool, optional
        Values at the same place belong together.

    Returns
    -------
    Effect
        In the unit of the values. Zero lies outside the interval exactly where the test has ``p < 1 - level``.

    Examples
    --------
    >>> found = mean_difference([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> found.value, round(found.interval.low, 2), round(found.interval.high, 2)
    (-2.0, -6.16, 2.16)
    """
    method = "paired t" if paired else "Welch t"
    both = two_samples(a, b)
    if min(both.a.size, both.b.size) == 0:
        reason = "one side has no run with a finite value"
        return Effect(interval=Interval(level=level, method=method, reason=reason), reason=reason)
    value = both.back(float(both.a.mean() - both.b.mean()))
    if not math.isfinite(value):
        reason = "larger than a 64-bit float can hold"
        return Effect(interval=Interval(level=level, method=method, reason=reason), reason=reason)
    return Effect(value=value, interval=_interval(both, level, method, paired=paired))


def _interval(both: TwoSamples, level: float, method: str, *, paired: bool) -> Interval:
    reason = both.reason
    if paired and not reason and is_identical(both.a - both.b):
        reason = "all pairs differ by exactly the same amount"
    if reason:
        return Interval(level=level, method=method, reason=reason)
    with quiet():
        found = stats.ttest_rel(both.a, both.b) if paired else stats.ttest_ind(both.a, both.b, equal_var=False)
        ends = found.confidence_interval(level)
    low, high = both.back(float(ends.low)), both.back(float(ends.high))
    if not (math.isfinite(low) and math.isfinite(high)):
        return Interval(level=level, method=method, reason="an end is larger than a 64-bit float can hold")
    return Interval(low=low, high=high, level=level, method=method)
