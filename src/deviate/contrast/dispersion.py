"""Is one side noisier than the other? Tests of the spread of two independent samples."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from deviate.contrast.arrangements import NOTHING, Arranged, Places
from deviate.contrast.results import Tested, TwoSamples, outcome, quiet, two_samples
from deviate.measure.sample import Floats, is_identical

#: Where p of the test alone is larger, the runs are not permuted: no verdict hangs on it.
PERMUTED_UP_TO = 0.2

#: Values that are permuted at a time, to bound the memory.
CHUNK = 1 << 20


def brown_forsythe(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal spread by the distances from each side's median.

    It holds its level for skewed and heavy-tailed values too, and sees little below 16 runs per side
    (``benchmarks/statistics``). Unknown below three runs per side.

    References
    ----------
    .. [1] M. B. Brown and A. B. Forsythe, "Robust tests for the equality of variances", JASA 69, 1974.

    Examples
    --------
    >>> round(brown_forsythe([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 5.0, 7.0]).statistic, 3)
    2.4
    """
    return _levene(two_samples(a, b), "median")


def brown_forsythe_permutation(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal spread with `brown_forsythe` and by permuting the runs; the larger p counts.

    `brown_forsythe` alone calls equal sides different in up to 10 % of comparisons, and in up to 63 % of those of 20
    metrics, where some runs collapse and values are of two kinds. This test does in at most 5 %
    (``benchmarks/statistics/unequal.py``). Unknown as there.

    Examples
    --------
    >>> test = brown_forsythe_permutation([1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 17.0, 25.0])
    >>> round(brown_forsythe([1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 17.0, 25.0]).p, 3), round(test.p, 3)
    (0.024, 0.257)
    """
    plain = brown_forsythe(a, b)
    if plain.p is None or plain.p > PERMUTED_UP_TO:
        return plain
    both = two_samples(a, b)
    arranged = Arranged(both.a, both.b, _brown_forsythe_statistics)
    return outcome(plain.statistic or 0.0, max(plain.p, arranged.p()), arranged.method)


def levene(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal spread by the distances from each side's mean.

    It is more powerful than `brown_forsythe` at few runs and less honest: of equal sides it calls up to 9 % different
    with heavy tails and 22 % with skew (``benchmarks/statistics``). Unknown below three runs per side.

    References
    ----------
    .. [1] H. Levene, "Robust tests for equality of variances", in "Contributions to probability and statistics", 1960.
    """
    return _levene(two_samples(a, b), "mean")


def f_variance(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal variances by their ratio, which is right for normal values only.

    ``F = var(a) / var(b)`` and ``p = 2 * min(P(F' <= F), P(F' >= F))`` of ``F'`` with ``n_a - 1`` and ``n_b - 1``
    degrees of freedom. Unknown where one side is constant.

    References
    ----------
    .. [1] G. W. Snedecor and W. G. Cochran, "Statistical methods", section 6.12.

    Examples
    --------
    >>> round(f_variance([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 5.0, 7.0]).p, 4)
    0.2848
    """
    both = two_samples(a, b)
    if reason := _why_no_ratio(both):
        return Tested(reason=reason)
    with quiet():
        ratio = float(both.a.var(ddof=1) / both.b.var(ddof=1))
    freedom = both.a.size - 1, both.b.size - 1
    return outcome(ratio, 2 * min(float(special.fdtr(*freedom, ratio)), float(special.fdtrc(*freedom, ratio))))


def bartlett(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal variances with Bartlett's test, which is right for normal values only.

    Unknown where one side is constant.

    References
    ----------
    .. [1] M. S. Bartlett, "Properties of sufficiency and statistical tests", Proceedings of the Royal Society A 160,
       1937.
    """
    both = two_samples(a, b)
    if reason := _why_no_ratio(both):
        return Tested(reason=reason)
    with quiet():
        test = scipy.stats.bartlett(both.a, both.b)
    return outcome(test.statistic, test.pvalue)


def _levene(both: TwoSamples, center: Literal["median", "mean"]) -> Tested:
    if both.reason:
        return Tested(reason=both.reason)
    if min(both.a.size, both.b.size) < 3:
        return Tested(reason="a test of spread needs three runs or more of each")
    with quiet():
        test = scipy.stats.levene(both.a, both.b, center=center)
    equal = "the distances from the centre are all equal in each"
    return outcome(test.statistic, test.pvalue, why_not=equal)


def _brown_forsythe_statistics(values: Floats, places: Places) -> Floats:
    """Return for each arrangement how much farther the first side is from its median, in standard errors."""
    parts = max(1, places.shape[0] * values.size // CHUNK)
    return np.concatenate([_distances_compared(values, part) for part in np.array_split(places, parts)])


def _distances_compared(values: Floats, places: Places) -> Floats:
    is_other = np.ones((len(places), values.size), dtype=bool)
    np.put_along_axis(is_other, places, False, axis=1)
    others = np.broadcast_to(values, is_other.shape)[is_other].reshape(len(places), -1)
    first, second = (np.abs(side - np.median(side, axis=1, keepdims=True)) for side in (values[places], others))
    n, m = first.shape[1], second.shape[1]
    within = (first.var(axis=1) * n + second.var(axis=1) * m) / (n + m - 2) * (1 / n + 1 / m)
    gaps = first.mean(axis=1) - second.mean(axis=1)
    with quiet():
        return np.where(np.abs(gaps) > NOTHING, gaps / np.sqrt(np.where(within > NOTHING, within, 0.0)), 0.0)


def _why_no_ratio(both: TwoSamples) -> str:
    if both.reason:
        return both.reason
    constant = is_identical(both.a) or is_identical(both.b)
    return "the runs of one of the two gave exactly the same value, so its variance is zero" if constant else ""
