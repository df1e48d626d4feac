"""The difference of two means with its interval, and whether it is smaller than what matters."""

from __future__ import annotations

import math

import scipy
from numpy.typing import ArrayLike

from deviate.contrast.arrangements import are_unequal
from deviate.contrast.location import arranged_welch, test_of_means
from deviate.contrast.paired import paired_t
from deviate.contrast.results import Effect, Tested, TwoSamples, one_sided, outcome, quiet, two_samples, unknown_effect
from deviate.measure.intervals import DEFAULT_LEVEL, Interval
from deviate.measure.sample import is_identical


def mean_difference(a: ArrayLike, b: ArrayLike, level: float = DEFAULT_LEVEL, *, paired: bool = False) -> Effect:
    """Give ``mean(a) - mean(b)`` with the confidence interval that belongs to the test of `choose_location`.

    In the unit of the values. Zero lies outside the interval exactly where the test has ``p < 1 - level``: where the
    runs are permuted, each end is as many standard errors away as the farther of the quantiles of t and of the
    permutations [1]_.

    References
    ----------
    .. [1] M. Pauly, T. Asendorf and F. Konietschke, "Permutation-based inference for the AUC: a unified approach for
       continuous and discontinuous data", Biometrical Journal 58, 2016, for such intervals of another statistic.

    Examples
    --------
    >>> effect = mean_difference([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> effect.value, round(effect.interval.low, 2), round(effect.interval.high, 2)
    (-2.0, -6.16, 2.16)
    """
    both = two_samples(a, b)
    permuted = not paired and are_unequal(both.a.size, both.b.size)
    method = "paired t" if paired else "Welch t and permutation" if permuted else "Welch t"
    if min(both.a.size, both.b.size) == 0:
        return unknown_effect("one of the two has no run with a finite value", level, method)
    value = both.back(float(both.a.mean() - both.b.mean()))
    if not math.isfinite(value):
        return unknown_effect("larger than a 64-bit float can hold", level, method)
    return Effect(value=value, interval=_interval(both, level, method, paired=paired, permuted=permuted))


def _interval(both: TwoSamples, level: float, method: str, *, paired: bool, permuted: bool) -> Interval:
    if reason := _why_untestable(both, paired=paired):
        return Interval(level=level, method=method, reason=reason)
    with quiet():
        test = (
            scipy.stats.ttest_rel(both.a, both.b) if paired else scipy.stats.ttest_ind(both.a, both.b, equal_var=False)
        )
        ends = test.confidence_interval(level)
    every = [(float(ends.low), float(ends.high)), *([_permuted_ends(both, level)] if permuted else [])]
    low, high = both.back(min(low for low, _ in every)), both.back(max(high for _, high in every))
    if not (math.isfinite(low) and math.isfinite(high)):
        return Interval(level=level, method=method, reason="an end is larger than a 64-bit float can hold")
    return Interval(low=low, high=high, level=level, method=method)


def _permuted_ends(both: TwoSamples, level: float) -> tuple[float, float]:
    value = float(both.a.mean() - both.b.mean())
    error = math.sqrt(both.a.var(ddof=1) / both.a.size + both.b.var(ddof=1) / both.b.size)
    lowest, highest = arranged_welch(both).limits(level)
    return value - highest * error, value - lowest * error


def _why_untestable(both: TwoSamples, *, paired: bool) -> str:
    if paired and not both.reason and is_identical(both.a - both.b):
        return "all pairs differ by exactly the same amount"
    return both.reason


def tost(a: ArrayLike, b: ArrayLike, margin: float, *, paired: bool = False) -> Tested:
    """Test whether the means differ by less than `margin`.

    Takes the larger p of the two one-sided tests, those of `choose_location`, and its t. It is below alpha where the
    ``1 - 2 alpha`` confidence interval of the difference lies within the margin [1]_; exactly there, if no runs are
    permuted.

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
    test = paired_t if paired else test_of_means(both.a.size, both.b.size)
    above, below = test(both.a + scaled, both.b), test(both.a - scaled, both.b)
    ps = one_sided(above)[0], one_sided(below)[1]
    decisive = above if (ps[0] or 0.0) >= (ps[1] or 0.0) else below
    return outcome(decisive.statistic or 0.0, max(p or 0.0 for p in ps), decisive.method)
