"""Intervals of numbers that are means over pairs of runs, by leaving out runs."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from scipy import stats

from deviate.measure.intervals import DEFAULT_LEVEL, Interval, check_level
from deviate.measure.predictions import Integers
from deviate.measure.sample import Floats

METHOD = "jackknife over runs"

NEEDS_TWO = "a pair needs two runs"
NEEDS_THREE = "an interval over pairs needs three runs or more"

#: Numbers that differ by less than this share of their size are equal: what is left is rounding.
ROUNDING = 1e-12

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


def pair_sums_estimate(sums: Floats, level: float = DEFAULT_LEVEL) -> Estimate:
    """Give the same for shares of which only the sums over each run's pairs are known, shape ``(n_runs,)``."""
    if sums.size < 2:
        return without_value(NEEDS_TWO, level)
    return _estimate(*_means(sums, np.full(sums.size, sums.size - 1)), level, SHARE)


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
        return without_value("no pair of runs has a value", level)
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
    For means over pairs (U-statistics) the variance is too large rather than too small with few runs [2]_.
    ``benchmarks/statistics/predictions.py`` measures how often the interval covers.

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
    check_level(level)
    if any(group.size < 2 or np.isnan(group).any() for group in left_out):
        return unknown(NEEDS_THREE, level)
    variances = [(group.size - 1) / group.size * _squares(group) for group in left_out]
    total = sum(variances)
    if total == 0:
        return unknown("leaving out any run changes nothing", level)
    freedom = total**2 / sum(v**2 / (group.size - 1) for v, group in zip(variances, left_out, strict=True))
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * math.sqrt(total)
    low, high = max(value - half, bounds[0]), min(value + half, bounds[1])
    return Interval(low=low, high=high, level=level, method=METHOD)


def unknown(reason: str, level: float, method: str = METHOD) -> Interval:
    """Return an interval that is not known."""
    return Interval(level=level, method=method, reason=reason)


def _squares(group: Floats) -> float:
    if np.ptp(group) <= ROUNDING * np.abs(group).max():
        return 0.0
    return float(((group - group.mean()) ** 2).sum())
