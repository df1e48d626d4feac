"""How many runs a question needs, and what a number of runs can show."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import msgspec
import numpy as np
import scipy
from scipy import special

from deviate.measure.intervals import DEFAULT_LEVEL, sd_factors
from deviate.measure.robust_sd import first_enough
from deviate.measure.sample import Floats

#: Probability of showing a difference that is there, where the user names none.
DEFAULT_POWER = 0.8

DEFAULT_ALPHA = 0.05

#: Pairs of samples from which the power of the Brown-Forsythe test is simulated: a standard error of up to 0.8 points.
SIMULATED = 4000

#: Effects are looked for up to this many SDs.
_LARGEST_EFFECT = 1e3

#: Times the edge, or 1, from which on t is beyond it: a normal value, or the root of a mean square, is 40 SDs off.
_SURE = 80.0

#: Points of the integral over how the variance divides between the sides: the power is right to 0.0001.
_SHARES = 16


class Precision(msgspec.Struct, frozen=True, kw_only=True):
    """How well `n` runs determine mean and SD."""

    n: int
    #: Half-width of the t interval of the mean, in SDs.
    mean_half_width: float
    #: Ends of the chi-square interval of the SD, as multiples of the SD.
    sd_low: float
    sd_high: float


def welch_power(effect: float, n: int, m: int, alpha: float = DEFAULT_ALPHA) -> float:
    """Give the probability that the two-sided Welch test shows a difference of `effect` SDs.

    For normal values with equal SDs. With the variance divided between the sides as it happens to be, the statistic is
    a multiple of Student's, see `welch_edges`.

    Parameters
    ----------
    effect : float
        Difference of the means in SDs, 0 or above.
    n, m : int
        Runs of each side, 2 or more.

    Examples
    --------
    >>> round(welch_power(1.0, 17, 17), 3), round(welch_power(1.0, 5, 5), 3)
    (0.806, 0.265)
    """
    edges, shares = welch_edges(n, m, alpha)
    return float(shown_beyond(edges, n + m - 2, effect * math.sqrt(n * m / (n + m))) @ shares)


def paired_t_power(effect: float, pairs: int, alpha: float = DEFAULT_ALPHA) -> float:
    """Give the probability that a two-sided paired t test shows a mean difference of `effect` SDs of the differences.

    Parameters
    ----------
    effect : float
        0 or above.
    pairs : int
        2 or more.
    """
    edges: Floats = np.array([-special.stdtrit(pairs - 1, alpha / 2)])
    return float(shown_beyond(edges, pairs - 1, effect * math.sqrt(pairs))[0])


@lru_cache(maxsize=512)
def welch_edges(n: int, m: int, alpha: float) -> tuple[Floats, Floats]:
    """Return what Student's statistic must exceed where Welch's test shows a difference, with the weight of each.

    The variance of the difference of the means is estimated as ``S c(u) / (n + m - 2)``, where ``S`` is the sum of the
    squares of both sides, and ``u`` the share of the first in it. For equal SDs ``u`` has a beta distribution and does
    not depend on ``S``; the points are those of a Gauss-Legendre integration over its quantiles.

    Returns
    -------
    edges, weights : ndarray of float, shape (`_SHARES`,)
    """
    nodes, weights = np.polynomial.legendre.leggauss(_SHARES)
    share = special.betaincinv((n - 1) / 2, (m - 1) / 2, (nodes + 1) / 2)
    first, second = share / (n * (n - 1)), (1 - share) / (m * (m - 1))
    freedom = (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (m - 1))
    scale = np.sqrt((n + m - 2) * (first + second) / (1 / n + 1 / m))
    edges = np.asarray(-special.stdtrit(freedom, alpha / 2) * scale, dtype=np.float64)
    return edges, weights / 2


def shown_beyond(edges: Floats, freedom: int, center: float | Floats) -> Floats:
    """Give the probability of t beyond each edge on either side, for a noncentral t distribution."""
    # So far off t is beyond for sure, whatever its freedom; SciPy may take ten seconds to give no number there.
    is_sure = center >= _SURE * np.maximum(edges, 1.0)
    asked = np.where(is_sure, 0.0, center)
    near, far = special.nctdtr(freedom, asked, edges), special.nctdtr(freedom, asked, -edges)
    # Deep in its tails SciPy's noncentral t is not a number.
    below: Floats = np.where(np.isfinite(near), near, np.less(asked, edges))
    beyond: Floats = 1 - below + np.where(np.isfinite(far), far, 0.0)
    return np.where(is_sure, 1.0, beyond)


def detectable_difference(
    n: int, m: int, alpha: float = DEFAULT_ALPHA, power: float = DEFAULT_POWER, *, paired: bool = False
) -> float:
    """Give the smallest difference, in SDs, that so many runs show with probability `power`.

    Parameters
    ----------
    paired : bool, optional
        Runs belong together; the difference is then in SDs of the differences.

    Examples
    --------
    >>> [round(detectable_difference(n, n), 2) for n in (3, 5, 8, 16, 30)]
    [3.51, 2.08, 1.52, 1.03, 0.74]
    """
    _check(alpha, power)

    def lacking(effect: float) -> float:
        return (paired_t_power(effect, n, alpha) if paired else welch_power(effect, n, m, alpha)) - power

    return float(scipy.optimize.brentq(lacking, 0.0, _LARGEST_EFFECT, xtol=1e-6))


def runs_for_difference(
    effect: float, alpha: float = DEFAULT_ALPHA, power: float = DEFAULT_POWER, *, paired: bool = False
) -> int | None:
    """Give the runs per side that show a difference of `effect` SDs with probability `power`.

    The answer is 2 or more; None where `MOST_RUNS` are not enough.

    Parameters
    ----------
    effect : float
        Difference of the means in SDs (of the differences, where `paired`); its sign does not matter.

    Examples
    --------
    >>> [runs_for_difference(effect) for effect in (0.5, 0.8, 1.0, 1.5, 2.0)]
    [64, 26, 17, 9, 6]
    """
    _check(alpha, power)
    size = abs(effect)
    return first_enough(
        lambda n: (paired_t_power(size, n, alpha) if paired else welch_power(size, n, n, alpha)) >= power
    )


def simulated_power(n: int, m: int, rng: np.random.Generator) -> Callable[[float, float], float]:
    """Draw pairs of normal samples once; return the power of the Brown-Forsythe test at any SD ratio and alpha.

    The test is an analysis of variance of the distances from the medians, and those of the first side grow with its SD.
    """
    a, b = (
        np.abs(values - np.median(values, axis=1, keepdims=True))
        for values in (rng.standard_normal((SIMULATED, n)), rng.standard_normal((SIMULATED, m)))
    )
    mean_a, mean_b = a.mean(axis=1), b.mean(axis=1)
    squares_a, squares_b = n * a.var(axis=1), m * b.var(axis=1)
    freedom = n + m - 2

    def power(ratio: float, alpha: float) -> float:
        between = n * m / (n + m) * (ratio * mean_a - mean_b) ** 2
        within = (ratio**2 * squares_a + squares_b) / freedom
        return float(np.mean(between >= special.stdtrit(freedom, alpha / 2) ** 2 * within))

    return power


@lru_cache(maxsize=64)
def _simulated_alike(n: int, seed: int) -> Callable[[float, float], float]:
    return simulated_power(n, n, np.random.default_rng([seed, n]))


def runs_for_sd_ratio(
    ratio: float, seed: int = 0, alpha: float = DEFAULT_ALPHA, power: float = DEFAULT_POWER
) -> int | None:
    """Give the runs per side that show an SD ratio with probability `power`, by the Brown-Forsythe test.

    The answer is right to about 3 % (simulation); None where more than 2,000 runs would be needed.

    Parameters
    ----------
    ratio : float
        Of the SDs, above 0 and not 1; 2 and 0.5 ask the same.
    """
    _check(alpha, power)
    larger = max(ratio, 1 / ratio) if ratio > 0 else math.nan
    if not larger > 1:
        raise ValueError(f"an SD ratio to be shown is above 0 and not 1; got {ratio}")

    def enough(n: int) -> bool:
        return _simulated_alike(n, seed)(larger, alpha) >= power

    return first_enough(enough, start=3, most=_MOST_SIMULATED)


def detectable_sd_ratio(
    n: int, seed: int = 0, alpha: float = DEFAULT_ALPHA, power: float = DEFAULT_POWER
) -> float | None:
    """Give the smallest SD ratio that `n` runs per side show with probability `power`, by the Brown-Forsythe test.

    The ratio is above 1, right to about 3 % (simulation); None where even a ratio of 100 would be missed.

    Parameters
    ----------
    n : int
        Runs per side, 3 or more.
    """
    _check(alpha, power)
    if n > _MOST_SIMULATED:
        return _large_sample_ratio(n, alpha, power)
    simulated = _simulated_alike(n, seed)

    def lacking(log_ratio: float) -> float:
        return simulated(math.exp(log_ratio), alpha) - power

    if lacking(math.log(_LARGEST_RATIO)) < 0:
        return None
    return math.exp(scipy.optimize.bisect(lacking, 0.0, math.log(_LARGEST_RATIO), xtol=1e-3))


def _large_sample_ratio(n: int, alpha: float, power: float) -> float:
    """Give the same where so many runs make the logarithm of the ratio of mean distances from the medians normal.

    Its variance is ``2 / n`` times the squared coefficient of variation of ``|z|``, which is ``pi / 2 - 1``.
    """
    quantiles = float(special.ndtri(power) - special.ndtri(alpha / 2))
    return math.exp(quantiles * math.sqrt((math.pi - 2) / n))


def precision(n: int, level: float = DEFAULT_LEVEL) -> Precision:
    """Give how well `n` runs determine mean and SD, for normal values.

    Examples
    --------
    >>> widths = precision(8)
    >>> round(widths.mean_half_width, 2), round(widths.sd_low, 2), round(widths.sd_high, 2)
    (0.84, 0.66, 2.04)
    """
    low, high = sd_factors(n, level)
    return Precision(n=n, mean_half_width=_half_width(n, level), sd_low=low, sd_high=high)


def runs_for_precision(half_width: float, level: float = DEFAULT_LEVEL, freedom: int | None = None) -> int | None:
    """Give the runs after which the t interval of the mean is expected to be no wider than ``± half_width`` SDs.

    Where the SD was measured, the mean of so many runs lies within ``± half_width`` of the true one with a probability
    of `level`, whatever the true SD: ``t(freedom) / sqrt(n) <= half_width`` [1]_.

    Parameters
    ----------
    half_width : float
        In SDs, above 0.
    freedom : int, optional
        Degrees of freedom of the measured SD; None where it is known.

    References
    ----------
    .. [1] C. Stein, "A two-sample test for a linear hypothesis whose power is independent of the variance", Annals of
       Mathematical Statistics 16(3), 1945.

    Examples
    --------
    >>> runs_for_precision(0.5), runs_for_precision(0.5, freedom=4), runs_for_precision(0.5, freedom=29)
    (18, 31, 18)
    """
    return first_enough(lambda n: _half_width(n, level, freedom) <= half_width)


_MOST_SIMULATED = 2000
_LARGEST_RATIO = 100.0


def _half_width(n: int, level: float, freedom: int | None = None) -> float:
    known = n - 1 if freedom is None else min(freedom, n - 1)
    return float(special.stdtrit(known, (1 + level) / 2)) / math.sqrt(n)


def _check(alpha: float, power: float) -> None:
    if not 0 < alpha < power < 1:
        raise ValueError(f"alpha and power lie between 0 and 1, alpha below power; got {alpha} and {power}")
