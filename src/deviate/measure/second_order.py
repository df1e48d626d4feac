"""What pairs of runs add to a mean over pairs, beyond what each run adds by itself."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from deviate.measure.sample import Floats


class SecondOrder(NamedTuple):
    """The second-order part of a number, after Hoeffding's decomposition [1]_.

    References
    ----------
    .. [1] W. Hoeffding, "A class of statistics with asymptotically normal distribution", Annals of Mathematical
       Statistics 19(3), 1948.
    """

    #: What each pair adds, shape ``(runs, runs)`` over the runs of all groups, symmetric with a diagonal of 0.
    pairs: Floats
    #: Variance of the number that comes from pairs.
    variance: float
    #: How often the jackknife variance counts `variance` too much, as a variance.
    excess: float
    #: Variance of `excess` as an estimate, halved: the sum of ``excess_k**2 / freedom_k`` over the kinds of pairs.
    uncertainty: float

    def corrected(self, variances: list[float], sizes: list[int]) -> tuple[float, float]:
        """Give the variance of the number without what the jackknife counts too much, and its degrees of freedom.

        Pairs enter the jackknife variance of each of their runs, so that it is too large [1]_. Hinkley's correction
        [2]_ subtracts the excess; it is the unbiased variance but for terms of higher order [3]_. What is left is at
        least `variance`. The degrees of freedom are those of Satterthwaite, at most those of all runs; between two
        groups at least those of the smaller one, as Welch's are, and within one group at least 1.

        Parameters
        ----------
        variances : list of float
            Jackknife variance of each group of runs.
        sizes : list of int
            Runs of each group.

        References
        ----------
        .. [1] B. Efron and C. Stein, "The jackknife estimate of variance", Annals of Statistics 9(3), 1981.
        .. [2] D. V. Hinkley, "Improving the jackknife with special reference to correlation estimation", Biometrika
           65(1), 1978.
        .. [3] Y. Maesono, "Asymptotic comparisons of several variance estimators and their effects for
           studentizations", Annals of the Institute of Statistical Mathematics 50(3), 1998.
        """
        total, smallest = sum(variances), min(sizes) - 1
        if total <= self.variance + self.excess:
            return self.variance, smallest
        left = total - self.excess
        spread = sum(v**2 / (n - 1) for v, n in zip(variances, sizes, strict=True)) + self.uncertainty
        return left, min(max(left**2 / spread, smallest if len(sizes) > 1 else 1), sum(sizes) - len(sizes))

    def curvature(self, influences: Floats) -> float:
        """Give ``sum over pairs r != s of a_r * a_s * pairs_rs / sigma**3`` with a the influence of each run."""
        return float(influences @ self.pairs @ influences / (influences @ influences) ** 1.5)


def within_group(matrix: Floats) -> SecondOrder:
    """Give the second-order part of the mean over all pairs of different runs.

    ``pairs_rs = 2 / (R (R - 1)) * (h_rs - mean - g_r - g_s)`` where g_r is the effect of run r: the table of all pairs
    as plant breeders analyse a half diallel, with ``R (R - 3) / 2`` degrees of freedom for pairs [1]_.

    Parameters
    ----------
    matrix : ndarray of float, shape (R, R)
        Symmetric, a number for each pair; the diagonal does not count.

    References
    ----------
    .. [1] B. Griffing, "Concept of general and specific combining ability in relation to diallel crossing systems",
       Australian Journal of Biological Sciences 9(4), 1956, method 4.

    Examples
    --------
    >>> table = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])  # no run is above another
    >>> round(within_group(table).variance, 6)
    0.111111
    """
    runs = len(matrix)
    freedom = runs * (runs - 3) // 2
    pairs = np.zeros((runs, runs))
    if freedom < 1:
        return SecondOrder(pairs, 0.0, 0.0, 0.0)
    apart = ~np.eye(runs, dtype=bool)
    means = np.where(apart, matrix, 0.0).sum(axis=1) / (runs - 1)
    effects = (runs - 1) / (runs - 2) * (means - means.mean())
    np.subtract(matrix, means.mean() + effects[:, None] + effects, out=pairs, where=apart)
    square = float((pairs**2).sum()) / 2 / freedom
    variance, excess = 2 * square / (runs * (runs - 1)), 2 * square / ((runs - 1) * (runs - 2))
    return SecondOrder(pairs * 2 / (runs * (runs - 1)), variance, excess, excess**2 / freedom)


def pair_variance(sums: Floats, squares: float) -> float:
    """Give the variance of `within_group` from sums alone; 0 below four runs.

    Parameters
    ----------
    sums : ndarray of float, shape (R,)
        Of the numbers of each run's pairs.
    squares : float
        Sum of the squared numbers of all pairs.

    Examples
    --------
    >>> round(pair_variance(np.ones(4), 2.0), 6)
    0.111111
    """
    runs = sums.size
    freedom = runs * (runs - 3) // 2
    if freedom < 1:
        return 0.0
    means = sums / (runs - 1)
    effects = (runs - 1) / (runs - 2) * (means - means.mean())
    pairs = runs * (runs - 1) / 2
    left = squares - pairs * float(means.mean()) ** 2 - (runs - 2) * float(effects @ effects)
    return max(left, 0.0) / freedom / pairs


def between_groups(cross: Floats) -> SecondOrder:
    """Give the second-order part of the mean over all pairs of a run of A and a run of B, shape ``(R_A, R_B)``.

    The interactions of the two-way table of the runs of A and of B, with ``(R_A - 1) (R_B - 1)`` degrees of freedom.
    """
    a, b = cross.shape
    interactions = cross - cross.mean(axis=1, keepdims=True) - cross.mean(axis=0) + cross.mean()
    pairs = np.zeros((a + b, a + b))
    pairs[:a, a:] = interactions / cross.size
    pairs += pairs.T
    freedom = (a - 1) * (b - 1)
    variance = float((interactions**2).sum()) / freedom / cross.size
    return SecondOrder(pairs, variance, variance, variance**2 / freedom)


def combined(cross: SecondOrder, *within: tuple[float, SecondOrder]) -> SecondOrder:
    """Give the second-order part of the mean across less shares of the means within A and within B."""
    pairs, start = cross.pairs.copy(), 0
    variance, excess, uncertainty = cross[1:]
    for weight, part in within:
        end = start + len(part.pairs)
        pairs[start:end, start:end] -= weight * part.pairs
        variance += weight**2 * part.variance
        excess += weight**2 * part.excess
        uncertainty += weight**4 * part.uncertainty
        start = end
    return SecondOrder(pairs, variance, excess, uncertainty)


def bent(x: float, skewness: float, curvature: float) -> float:
    """Give the t whose transform by Hall's cubic is `x`.

    The studentized mean over pairs has the Edgeworth expansion ``P(T <= x) = Phi(x) + phi(x) * (skewness * (2 x**2 + 1)
    + 3 * curvature * (x**2 + 1)) / 6`` [1]_. A cubic that never falls removes both terms [2]_:
    ``t + a * t**2 + a**2 * t**3 / 3 + c`` with ``a = skewness / 3 + curvature / 2`` and
    ``c = skewness / 6 + curvature / 2``.

    References
    ----------
    .. [1] R. Helmers, "On the Edgeworth expansion and the bootstrap approximation for a studentized U-statistic",
       Annals of Statistics 19(1), 1991.
    .. [2] P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54, 1992.
    """
    a, c = skewness / 3 + curvature / 2, skewness / 6 + curvature / 2
    if not a:
        return x - c
    y = 3 * a * (x - c)
    # cbrt(1 + y) - 1 would lose the digits of a small y.
    return (math.expm1(math.log1p(y) / 3) if abs(y) < 0.5 else math.cbrt(1 + y) - 1) / a


#: Of a number without a second-order part that is known.
NO_PAIRS = SecondOrder(np.zeros((0, 0)), 0.0, 0.0, 0.0)
