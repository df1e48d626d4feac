"""Intervals of means over pairs of runs, by leaving out runs, and what pairs add beyond what each run adds."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np
from scipy import special

from deviate.stats.intervals import DEFAULT_LEVEL, Interval, check_level
from deviate.stats.predictions import Integers
from deviate.stats.results import StudentT
from deviate.stats.spread import Floats

# What pairs of runs add to a mean over pairs, beyond what each run adds by itself.


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


METHOD = "jackknife over runs"
METHOD_AS_WHOLES = "jackknife over runs, with half the degrees of freedom: runs differ as wholes"
METHOD_FEWER = "jackknife over runs, with 0.7 of the degrees of freedom: runs differ as wholes"
METHOD_CORRECTED = "jackknife over runs, corrected for pairs"

NEEDS_TWO = "a pair needs two runs"
NO_PAIR = "no pair of runs has a value"
NEEDS_THREE = "an interval over pairs needs three runs or more"

#: Numbers that differ by less than this share of their size are equal: what is left is rounding.
ROUNDING = 1e-12

#: Share of the degrees of freedom that is left where runs differ as wholes, by the method that says so.
LEFT = {METHOD_AS_WHOLES: 0.5, METHOD_FEWER: 0.7}

#: What a share can be.
SHARE = (0.0, 1.0)
#: What a difference of two shares, or a correlation, can be.
SIGNED = (-1.0, 1.0)


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A number over runs with its interval."""

    #: None where it is unknown.
    value: float | None
    interval: Interval
    #: Why the value is unknown; empty where it is known.
    reason: str = ""


def pair_estimate(matrix: Floats, level: float = DEFAULT_LEVEL, bounds: tuple[float, float] = SHARE) -> Estimate:
    """Give the mean over all pairs of different runs with the interval of `jackknife_interval`.

    Parameters
    ----------
    matrix : ndarray of float, shape (n_runs, n_runs)
        Symmetric, a number for each pair; the diagonal does not count, and neither do pairs that are NaN. Runs of which
        every pair is NaN are left out altogether.
    bounds : (float, float), optional
        Smallest and largest possible value: an end of the interval beyond is set to it.

    Examples
    --------
    >>> estimate = pair_estimate(np.array([[0, 0.1, 0.2], [0.1, 0, 0.3], [0.2, 0.3, 0]]))
    >>> round(estimate.value, 3), round(estimate.interval.low, 3), round(estimate.interval.high, 3)
    (0.2, 0.0, 0.697)
    """
    if len(matrix) < 2:
        return without_value(NEEDS_TWO, level)
    return _estimate(*pair_mean(matrix), level, bounds)


def share_estimate(sums: Floats, squares: float, examples: int, level: float = DEFAULT_LEVEL) -> Estimate:
    """Give the mean over all pairs of a share of examples, with the interval of `share_interval`.

    Parameters
    ----------
    sums : ndarray of float, shape (n_runs,)
        Of the shares of each run's pairs.
    squares : float
        Sum of the squared shares of all pairs.
    examples : int
        What the shares are of.
    """
    if sums.size < 2:
        return without_value(NEEDS_TWO, level)
    value, left_out = _means(sums, np.full(sums.size, sums.size - 1))
    pairs = math.comb(sums.size, 2)
    assert value is not None
    interval = share_interval(
        value,
        left_out,
        by_chance=_is_by_chance(value, squares, pairs, examples),
        least=pair_variance(sums, squares),
        level=level,
    )
    return Estimate(value=value, interval=interval)


def shares_estimate(counts: Integers | Floats, examples: int, level: float = DEFAULT_LEVEL) -> Estimate:
    """Give the same from the number of examples of each pair, shape ``(n_runs, n_runs)``, with a diagonal of 0."""
    shares = counts / examples
    return share_estimate(shares.sum(axis=1), float((shares**2).sum()) / 2, examples, level)


def skewed_estimate(matrix: Floats, level: float = DEFAULT_LEVEL) -> Estimate:
    """Give the mean over all pairs of numbers in [0, 1] with `share_interval`, all degrees of freedom left."""
    if len(matrix) < 2:
        return without_value(NEEDS_TWO, level)
    value, left_out = pair_mean(matrix)
    assert value is not None
    return Estimate(value=value, interval=share_interval(value, left_out, by_chance=True, level=level))


def bent_estimate(matrix: Floats, examples: int, level: float = DEFAULT_LEVEL) -> Estimate:
    """Give the mean over all pairs of a share of examples, by `share_interval` with its second-order part."""
    if len(matrix) < 2:
        return without_value(NEEDS_TWO, level)
    value, left_out = pair_mean(matrix)
    assert value is not None
    interval = share_interval(
        value,
        left_out,
        by_chance=varies_by_chance(matrix[np.triu_indices(len(matrix), 1)], examples),
        as_wholes=METHOD_FEWER,
        second=within_group(matrix),
        level=level,
    )
    return Estimate(value=value, interval=interval)


def corrected_estimate(matrix: Floats, level: float = DEFAULT_LEVEL) -> Estimate:
    """Give the mean over all pairs with the interval of `corrected_interval`; otherwise as `pair_estimate`.

    A pair may be NaN only where one of its runs has no pair at all.
    """
    if len(matrix) < 2:
        return without_value(NEEDS_TWO, level)
    kept = np.flatnonzero((~np.isnan(matrix)).sum(axis=1) > np.isfinite(matrix.diagonal()))
    value, left_out = pair_mean(matrix)
    if value is None:
        return without_value(NO_PAIR, level)
    second = within_group(matrix[np.ix_(kept, kept)])
    return Estimate(value=value, interval=corrected_interval(value, left_out, second=second, level=level))


def pair_mean(matrix: Floats) -> tuple[float | None, Floats]:
    """Give the mean over all pairs of different runs, and the mean without each run that has a pair.

    NaN where no pair is left.
    """
    pairs = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(pairs, np.nan)
    return _means(np.nansum(pairs, axis=1), (~np.isnan(pairs)).sum(axis=1))


def _means(sums: Floats, counts: Integers) -> tuple[float | None, Floats]:
    total, count = sums.sum(), counts.sum()
    sums, counts = sums[counts > 0], counts[counts > 0]
    left = np.full(sums.size, np.nan)
    np.divide(total - 2 * sums, count - 2 * counts, out=left, where=count > 2 * counts)
    return (float(total / count) if count else None), left


def _estimate(value: float | None, left_out: Floats, level: float, bounds: tuple[float, float]) -> Estimate:
    if value is None:
        return without_value(NO_PAIR, level)
    return Estimate(value=value, interval=jackknife_interval(value, left_out, level=level, bounds=bounds))


def without_value(reason: str, level: float) -> Estimate:
    """Return an estimate of which nothing is known."""
    return Estimate(value=None, interval=unknown(reason, level), reason=reason)


def jackknife_interval(
    value: float,
    *left_out: Floats,
    level: float = DEFAULT_LEVEL,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    """Give ``value ± t * sqrt(v)`` from the values that remain when single runs are left out.

    ``v`` is the sum over the groups of runs of ``(R - 1) / R * sum((left_out - mean)**2)`` [1]_. Student's t has
    ``R - 1`` degrees of freedom; with two groups those of Welch and Satterthwaite. The units are runs, not pairs: pairs
    that share a run go together, and an interval over pairs would be far too narrow.

    Parameters
    ----------
    value : float
        The number from all runs.
    *left_out : ndarray of float, shape (R,)
        For each group of runs: the number without its first run, without its second, and so on.
    bounds : (float, float), optional
        Smallest and largest possible value: an end beyond is set to it.

    Notes
    -----
    For means over pairs (U-statistics) the variance is too large rather than too small with few runs [2]_;
    `corrected_interval` mends that. ``benchmarks/statistics/predictions.py`` measures how often the interval covers.

    References
    ----------
    .. [1] J. W. Tukey, "Bias and confidence in not quite large samples", Annals of Mathematical Statistics 29, 1958.
    .. [2] B. Efron and C. Stein, "The jackknife estimate of variance", Annals of Statistics 9(3), 1981.

    Examples
    --------
    >>> interval = jackknife_interval(2.0, np.array([2.5, 2.0, 1.5]))
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.484, 4.484)
    """
    error, freedom, reason = _error(left_out, level)
    if reason:
        return unknown(reason, level)
    low, high = StudentT(value=value, error=error, freedom=freedom).ends(level)
    return Interval(low=max(low, bounds[0]), high=min(high, bounds[1]), level=level, method=METHOD)


def corrected_interval(
    value: float,
    *left_out: Floats,
    second: SecondOrder,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """Give the interval of a mean over pairs in which pairs count beside runs.

    `jackknife_interval` with the variance and the degrees of freedom of `SecondOrder.corrected`, and the t statistic
    transformed by `bent`. Between two groups the skewness is taken for 0: it is where A and B are one recipe, and one
    estimated from few runs of each follows the difference itself.

    Parameters
    ----------
    value : float
        In [-1, 1], as are both ends.
    *left_out : ndarray of float, shape (R,)
        As in `jackknife_interval`.
    second : SecondOrder
        Over the runs of all groups.

    Examples
    --------
    >>> shares = np.array([[0, 0.1, 0.2, 0.2], [0.1, 0, 0.3, 0.2], [0.2, 0.3, 0, 0.2], [0.2, 0.2, 0.2, 0]])
    >>> value, left_out = pair_mean(shares)
    >>> for interval in (
    ...     jackknife_interval(value, left_out),
    ...     corrected_interval(value, left_out, second=within_group(shares)),
    ... ):
    ...     print(round(interval.low, 3), round(interval.high, 3))
    0.07 0.33
    0.108 0.292
    """
    error, freedom, reason = _error(left_out, level, second)
    if reason:
        return unknown(reason, level, METHOD_CORRECTED)
    skewness = _skewness(left_out) if len(left_out) == 1 else 0.0
    low, high = _ends(value, error, freedom, (skewness, second.curvature(_influences(left_out))), level)
    return Interval(low=max(low, SIGNED[0]), high=min(high, SIGNED[1]), level=level, method=METHOD_CORRECTED)


def share_interval(
    value: float,
    *left_out: Floats,
    by_chance: bool,
    as_wholes: str = METHOD_AS_WHOLES,
    second: SecondOrder | None = None,
    least: float = 0.0,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """Give the interval of a share of examples that is a mean over pairs of runs.

    `jackknife_interval` with two corrections. Churn is a variance, that of the labels, and as skewed as one where runs
    differ as wholes: the t statistic is transformed by Hall's cubic [1]_, with the skewness of the values left out. And
    the variance is less well known then: the degrees of freedom are fewer. The squared coefficient of variation of the
    jackknife variance is ``2 / freedom`` [2]_, and was that of 0.35 to 0.75 ``(R - 1)`` in simulation; half of them, or
    0.7 where half made the interval too wide, cover best.

    Parameters
    ----------
    value : float
        In [0, 1], as are both ends.
    *left_out : ndarray of float, shape (R,)
        As in `jackknife_interval`.
    by_chance : bool
        The shares of pairs differ by no more than binomial shares do, so runs are not known to differ as wholes.
        Independent examples, however unequal, make less.
    as_wholes : {METHOD_AS_WHOLES, METHOD_FEWER}, optional
        How many degrees of freedom are left otherwise.
    second : SecondOrder, optional
        Its term of the Edgeworth expansion is removed too, see `bent`.
    least : float, optional
        What pairs alone bring of the variance, see `pair_variance`: the jackknife sees nearly none of it where two
        clusters of runs are about as large, and churn is as large as it can be.

    References
    ----------
    .. [1] P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54, 1992.
    .. [2] F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin
       2(6), 1946.

    Examples
    --------
    >>> left_out = np.array([0.11, 0.11, 0.11, 0.11, 0.06])
    >>> for interval in (jackknife_interval(0.1, left_out), share_interval(0.1, left_out, by_chance=True)):
    ...     print(round(interval.low, 3), round(interval.high, 3))
    -0.011 0.211
    0.027 0.454
    """
    error, freedom, reason = _error(left_out, level)
    if reason:
        return unknown(reason, level)
    error = max(error, math.sqrt(least))
    method = METHOD if by_chance else as_wholes
    curvature = second.curvature(_influences(left_out)) if second else 0.0
    low, high = _ends(value, error, LEFT.get(method, 1.0) * freedom, (_skewness(left_out), curvature), level)
    return Interval(low=max(low, SHARE[0]), high=min(high, SHARE[1]), level=level, method=method)


def _ends(value: float, error: float, freedom: float, terms: tuple[float, float], level: float) -> tuple[float, float]:
    quantile = float(special.stdtrit(freedom, (1 + level) / 2))
    return value - error * bent(quantile, *terms), value - error * bent(-quantile, *terms)


def varies_by_chance(shares: Floats, examples: int) -> bool:
    """Tell whether the shares of pairs differ by no more than binomial shares of so many examples do."""
    return _is_by_chance(float(shares.mean()), float((shares**2).sum()), shares.size, examples)


def _is_by_chance(mean: float, squares: float, pairs: int, examples: int) -> bool:
    # Where both are equal, rounding, which depends on the order of runs and examples, does not decide.
    spread = squares - pairs * mean**2 - ROUNDING * squares
    return spread / max(pairs - 1, 1) <= mean * (1 - mean) / examples


def _error(left_out: tuple[Floats, ...], level: float, second: SecondOrder | None = None) -> tuple[float, float, str]:
    """Return the standard error, its degrees of freedom, and why they are unknown; empty where they are not."""
    check_level(level)
    if any(group.size < 2 or np.isnan(group).any() for group in left_out):
        return math.nan, math.nan, NEEDS_THREE
    sizes = [group.size for group in left_out]
    variances = [(n - 1) / n * _squares(group) for n, group in zip(sizes, left_out, strict=True)]
    if not any(variances):
        return math.nan, math.nan, "leaving out any run changes nothing"
    variance, freedom = (second or NO_PAIRS).corrected(variances, sizes)
    return math.sqrt(variance), freedom, ""


def _influences(left_out: tuple[Floats, ...]) -> Floats:
    """Return what each run adds to the number."""
    return np.concatenate([(group.size - 1) / group.size * (group.mean() - group) for group in left_out])


def _skewness(left_out: tuple[Floats, ...]) -> float:
    """Return the skewness of a number, by the moments of the influence of each run on it."""
    influences = _influences(left_out)
    return float((influences**3).sum() / (influences**2).sum() ** 1.5)


def unknown(reason: str, level: float, method: str = METHOD) -> Interval:
    """Return an interval that is not known."""
    return Interval(level=level, method=method, reason=reason)


def _squares(group: Floats) -> float:
    if np.ptp(group) <= ROUNDING * np.abs(group).max():
        return 0.0
    return float(((group - group.mean()) ** 2).sum())
