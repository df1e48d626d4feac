"""The difference of two means with its interval, and whether it is smaller than what matters."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike
from scipy import stats

from deviate.contrast.results import Effect, Tested, TwoSamples, outcome, quiet, two_samples, unknown_effect
from deviate.measure.intervals import DEFAULT_LEVEL, Interval
from deviate.measure.sample import is_identical


def mean_difference(a: ArrayLike, b: ArrayLike, level: float = DEFAULT_LEVEL, *, paired: bool = False) -> Effect:
    """Give ``mean(a) - mean(b)`` with the confidence interval that belongs to Welch's or the paired t test.

    In the unit of the values. Zero lies outside the interval exactly where the test has ``p < 1 - level``.

    Examples
    --------
    >>> effect = mean_difference([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> effect.value, round(effect.interval.low, 2), round(effect.interval.high, 2)
    (-2.0, -6.16, 2.16)
    """
    method = "paired t" if paired else "Welch t"
    both = two_samples(a, b)
    if min(both.a.size, both.b.size) == 0:
        return unknown_effect("one of the two has no run with a finite value", level, method)
    value = both.back(float(both.a.mean() - both.b.mean()))
    if not math.isfinite(value):
        return unknown_effect("larger than a 64-bit float can hold", level, method)
    return Effect(value=value, interval=_interval(both, level, method, paired=paired))


def _interval(both: TwoSamples, level: float, method: str, *, paired: bool) -> Interval:
    if reason := _why_untestable(both, paired=paired):
        return Interval(level=level, method=method, reason=reason)
    with quiet():
        test = stats.ttest_rel(both.a, both.b) if paired else stats.ttest_ind(both.a, both.b, equal_var=False)
        ends = test.confidence_interval(level)
    low, high = both.back(float(ends.low)), both.back(float(ends.high))
    if not (math.isfinite(low) and math.isfinite(high)):
        return Interval(level=level, method=method, reason="an end is larger than a 64-bit float can hold")
    return Interval(low=low, high=high, level=level, method=method)


def _why_untestable(both: TwoSamples, *, paired: bool) -> str:
    if paired and not both.reason and is_identical(both.a - both.b):
        return "all pairs differ by exactly the same amount"
    return both.reason


def tost(a: ArrayLike, b: ArrayLike, margin: float, *, paired: bool = False) -> Tested:
    """Test whether the means differ by less than `margin`.

    Takes the larger p of the two one-sided tests, Welch's or the paired one, and its t. It is below alpha exactly where
    the ``1 - 2 alpha`` confidence interval of the difference lies within the margin [1]_.

    Parameters
    ----------
    margin : float
        Above 0, in the unit of the values: the smallest difference that matters, fixed before looking.

    References
    ----------
    .. [1] D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
       equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.

    Examples
    --------
    >>> round(tost([1.0, 1.1, 0.9, 1.0], [1.0, 1.2, 0.9, 1.1], 0.5).p, 4)
    0.001
    """
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"a margin is a number above 0; got {margin}")
    both = two_samples(a, b)
    if reason := _why_untestable(both, paired=paired):
        return Tested(reason=reason)
    scaled = math.ldexp(margin, -both.exponent)
    with quiet():
        if paired:
            above = stats.ttest_rel(both.a + scaled, both.b, alternative="greater")
            below = stats.ttest_rel(both.a - scaled, both.b, alternative="less")
        else:
            above = stats.ttest_ind(both.a + scaled, both.b, equal_var=False, alternative="greater")
            below = stats.ttest_ind(both.a - scaled, both.b, equal_var=False, alternative="less")
    decisive = max(above, below, key=lambda test: float(test.pvalue))
    return outcome(decisive.statistic, decisive.pvalue)
