"""Is one side higher than the other, or noisier, run by run? Tests of runs that belong together two by two."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from deviate.stats.intervals import Interval
from deviate.stats.results import Tested, TwoSamples, outcome, quiet, student_of_one, two_samples
from deviate.stats.spread import Floats, is_identical
from deviate.stats.tests import (
    EXACT_UP_TO,
    NOTHING,
    PERMUTED_FROM,
    PERMUTED_UP_TO,
    RESAMPLES,
    Arranged,
    Places,
    distances_arranged,
    two_sided,
)

#: On the common scale, where the largest value is about 1: what rounding alone brings.
ROUNDING = 16 * float(np.finfo(float).eps)


def paired_t(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal means with Student's t test of the differences.

    Unknown below two pairs and where all differences are equal.

    Examples
    --------
    >>> round(paired_t([1.0, 2.0, 4.0], [2.0, 4.0, 5.0]).p, 4)
    0.0572
    """
    first, second, reason = _pairs(a, b)
    if reason:
        return Tested(reason=reason)
    return student_of_one(first - second).tested


def wilcoxon(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test by signed ranks whether the differences are centred on zero.

    p is exact up to 50 pairs without ties and differences of zero, and up to 13 pairs with them (all changes of signs);
    beyond that it comes from the normal approximation.

    References
    ----------
    .. [1] F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.

    Examples
    --------
    >>> wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0]).p
    0.0625
    """
    first, second, reason = _pairs(a, b)
    if reason:
        return Tested(reason=reason)
    with quiet():
        test = scipy.stats.wilcoxon(first, second)
    return outcome(test.statistic, test.pvalue)


def paired_permutation(a: ArrayLike, b: ArrayLike, rng: np.random.Generator) -> Tested:
    """Test for equal means by exchanging the sides within pairs.

    Looks at all ``2**n`` exchanges up to `EXACT_UP_TO` (14 pairs), else `RESAMPLES` of them.

    Examples
    --------
    >>> paired_permutation([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0], np.random.default_rng(0)).p
    0.0625
    """
    first, second, reason = _pairs(a, b)
    if reason:
        return Tested(reason=reason)
    exact = 2**first.size <= EXACT_UP_TO
    signs = _all_signs(first.size) if exact else 2.0 * rng.integers(2, size=(RESAMPLES, first.size)) - 1
    p = two_sided(signs @ (first - second) / first.size, float((first - second).mean()), exact=exact)
    method = f"exact, {2**first.size} exchanges" if exact else f"{RESAMPLES} random exchanges"
    return outcome(np.ldexp(float(first.mean() - second.mean()), two_samples(a, b).exponent), p, method)


def _all_signs(pairs: int) -> Floats:
    """Return every way to exchange the sides within pairs, shape ``(2**pairs, pairs)``."""
    exchanged = np.arange(2**pairs)[:, None] >> np.arange(pairs) & 1
    return np.where(exchanged, -1.0, 1.0)


def paired_brown_forsythe(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal spread by the distances from each side's median, compared within pairs by a t test.

    It holds its level for skewed and heavy-tailed values, as `brown_forsythe` does, and sees more where pairs are
    correlated: at 16 pairs with a correlation of 0.8 an SD ratio of 2 in 85 % of comparisons instead of 60 %
    (``benchmarks/statistics/paired_spread.py``). Unknown below three pairs.

    From `PERMUTED_FROM` pairs on the statistic is also had of random arrangements of all runs over sides and pairs, and
    the larger p counts. Where values are of two kinds and half of an even number is of each, all lie equally far from
    the median: t alone then called equal sides different in up to 27 % of comparisons of 20 metrics
    (``benchmarks/statistics/unequal.py``).

    References
    ----------
    .. [1] L. Sandvik and B. Olsson, "A nearly distribution-free test for comparing dispersion in paired samples",
       Biometrika 69, 1982, who compare the ranks of such distances.
    .. [2] R. R. Wilcox, "Comparing the variances of dependent groups", Psychometrika 54, 1989.

    Examples
    --------
    >>> round(paired_brown_forsythe([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 5.0, 8.0]).p, 4)
    0.0796
    """
    both = _pairs_of_spread(a, b)
    if both.reason:
        return Tested(reason=both.reason)
    from_a, from_b = (np.abs(values - np.median(values)) for values in (both.a, both.b))
    gaps = np.where(np.abs(from_a - from_b) <= ROUNDING, 0.0, from_a - from_b)
    if is_identical(gaps):
        unknown = "the distances from the medians differ by the same amount in all pairs"
        return Tested(reason=unknown) if gaps.any() else outcome(0.0, 1.0)
    test = student_of_one(gaps).tested
    if test.p is None or test.statistic is None or both.a.size < PERMUTED_FROM or test.p > PERMUTED_UP_TO:
        return test
    arranged = Arranged(both.a, both.b, _gaps_compared, paired=True)
    return outcome(test.statistic, max(test.p, arranged.p()), arranged.method)


def _gaps_compared(values: Floats, places: Places) -> Floats:
    """Return for each arrangement the mean gap between the distances of a pair, in SDs."""
    gaps = np.concatenate([first - second for first, second in distances_arranged(values, places)])
    means, sds = gaps.mean(axis=1), gaps.std(axis=1)
    with quiet():
        return np.where(np.abs(means) > NOTHING, means / np.where(sds > NOTHING, sds, 0.0), 0.0)


def pitman_morgan(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal variances by the correlation of the sums and the differences of pairs.

    Right for normal values only: of equal sides it calls 6 to 52 % different with heavy tails or skew
    (``benchmarks/statistics/paired_spread.py``). Unknown below three pairs.

    References
    ----------
    .. [1] E. J. G. Pitman, "A note on normal correlation", Biometrika 31, 1939.
    .. [2] W. A. Morgan, "A test for the significance of the difference between the two variances in a sample from a
       normal bivariate population", Biometrika 31, 1939.

    Examples
    --------
    >>> round(pitman_morgan([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 5.0, 8.0]).p, 4)
    0.0063
    """
    both = _pairs_of_spread(a, b)
    if both.reason:
        return Tested(reason=both.reason)
    sums, differences = both.a + both.b, both.a - both.b
    if is_identical(sums) or is_identical(differences):
        return Tested(reason="the sums or the differences of all pairs are equal")
    with quiet():
        test = scipy.stats.pearsonr(sums, differences)
    return outcome(test.statistic, test.pvalue)


def correlation(a: ArrayLike, b: ArrayLike) -> float | None:
    """Give Pearson's correlation over the pairs; None where one side is constant or below three pairs.

    Examples
    --------
    >>> round(correlation([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]), 3)
    0.993
    """
    both = two_samples(a, b)
    if both.a.size < 3 or is_identical(both.a) or is_identical(both.b):
        return None
    # Importing SciPy's takes longer than a whole plan.
    with quiet():
        r = float(np.clip(_unit(both.a) @ _unit(both.b), -1, 1))
    return r if np.isfinite(r) else None


def _unit(values: Floats) -> Floats:
    centered = values - values.mean()
    scaled = centered / np.abs(centered).max()
    return np.asarray(scaled / np.linalg.norm(scaled))


def correlation_interval(r: float | None, pairs: int, level: float) -> Interval:
    """Give Fisher's confidence interval of a correlation, for normal values.

    ``tanh(artanh(r) ± z / sqrt(pairs - 3))``. Unknown below four pairs and for a correlation of 1 or -1.

    References
    ----------
    .. [1] R. A. Fisher, "On the 'probable error' of a coefficient of correlation deduced from a small sample",
       Metron 1, 1921.

    Examples
    --------
    >>> interval = correlation_interval(0.5, 12, 0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.104, 0.834)
    """
    if r is None or pairs < 4 or abs(r) >= 1:
        return Interval(level=level, method="Fisher z", reason="it takes four pairs or more that do not lie on a line")
    half = float(special.ndtri((1 + level) / 2)) / math.sqrt(pairs - 3)
    low, high = (math.tanh(math.atanh(r) + side * half) for side in (-1, 1))
    return Interval(low=low, high=high, level=level, method="Fisher z")


def _pairs(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats, str]:
    both = _matched(a, b)
    if both.a.size < 2:
        return both.a, both.b, "a paired test needs two pairs or more"
    same = "all pairs differ by exactly the same amount, so nothing shows how much differences vary"
    return both.a, both.b, same if is_identical(both.a - both.b) else ""


def _pairs_of_spread(a: ArrayLike, b: ArrayLike) -> TwoSamples:
    both = _matched(a, b)
    few = "a paired test of spread needs three pairs or more" if both.a.size < 3 else ""
    return msgspec.structs.replace(both, reason=few or both.reason)


def _matched(a: ArrayLike, b: ArrayLike) -> TwoSamples:
    both = two_samples(a, b)
    if both.a.size != both.b.size:
        raise ValueError(f"pairs need as many runs on each side; got {both.a.size} and {both.b.size}")
    return both
