"""How many runs a question needs, what a number of runs can show, and how wrong what it shows may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import msgspec
import numpy as np
import scipy
from scipy import special

from deviate.stats.intervals import DEFAULT_LEVEL, Interval, first_enough
from deviate.stats.spread import Floats

#: Probability of showing a difference that is there, where the user names none.
DEFAULT_POWER = 0.8

DEFAULT_ALPHA = 0.05

#: Pairs of samples from which the power of the Brown-Forsythe test is simulated: a standard error of up to 0.8 points.
SIMULATED = 4000

#: Times the edge, or 1, from which on t is beyond it: a normal value, or the root of a mean square, is 40 SDs off.
_SURE = 80.0

#: Points of the integral over how the variance divides between the sides: the power is right to 0.0001.
_SHARES = 16


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
    ratio: float, seed: int = 0, alpha: float = DEFAULT_ALPHA, power: float = DEFAULT_POWER, most: int = 2000
) -> int | None:
    """Give the runs per side that show an SD ratio with probability `power`, by the Brown-Forsythe test.

    The answer is right to about 3 % (simulation); None where more than `most` runs would be needed, 2,000 at most.

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

    return first_enough(enough, start=3, most=min(most, _MOST_SIMULATED))


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

    largest = math.log(_LARGEST_RATIO)
    return None if lacking(largest) < 0 else math.exp(_crossing(lacking, largest, within=1e-3))


def _large_sample_ratio(n: int, alpha: float, power: float) -> float:
    """Give the same where so many runs make the logarithm of the ratio of mean distances from the medians normal.

    Its variance is ``2 / n`` times the squared coefficient of variation of ``|z|``, which is ``pi / 2 - 1``.
    """
    quantiles = float(special.ndtri(power) - special.ndtri(alpha / 2))
    return math.exp(quantiles * math.sqrt((math.pi - 2) / n))


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
    return first_enough(lambda n: mean_half_width(n, level, freedom) <= half_width)


_MOST_SIMULATED = 2000
_LARGEST_RATIO = 100.0


def mean_half_width(n: int, level: float = DEFAULT_LEVEL, freedom: int | None = None) -> float:
    """Give the half-width of the t interval of the mean of `n` runs, in SDs.

    >>> round(mean_half_width(8), 2)
    0.84
    """
    known = n - 1 if freedom is None else min(freedom, n - 1)
    return float(special.stdtrit(known, (1 + level) / 2)) / math.sqrt(n)


def _check(alpha: float, power: float) -> None:
    if not 0 < alpha < power < 1:
        raise ValueError(f"alpha and power lie between 0 and 1, alpha below power; got {alpha} and {power}")


# Runs that reach a power in the very test that compares them, with an SD that is itself known from a few runs only.

#: Points of the integral over the true SD.
_SDS = 40

#: Effects are looked for up to these many SDs, one after the other.
_SIZES = (2.0, 4.0, 16.0, 256.0, 1e6)


def planned_power(
    effect: float,
    n: int,
    alpha: float = DEFAULT_ALPHA,
    *,
    m: int | None = None,
    paired: bool = False,
    freedom: int | None = None,
) -> float:
    """Give the probability that Welch's or the paired t test of `n` runs per side shows a difference.

    For normal values with equal SDs, see `welch_power`. Where the SD was measured, the power is the mean over the true
    SDs that it leaves open, ``sd * sqrt(freedom / chi2)`` [1]_.

    Parameters
    ----------
    effect : float
        Difference of the means in SDs, 0 or above; where `paired`, in SDs of the differences within pairs.
    n : int
        Runs of each side, 2 or more.
    m : int, optional
        Runs of the other side; None where it has `n`, too.
    freedom : int, optional
        Degrees of freedom of the measured SD; None where it is known.

    References
    ----------
    .. [1] S. A. Julious and R. J. Owen, "Sample size calculations for clinical studies allowing for uncertainty about
       the variance", Pharmaceutical Statistics 5, 2006.

    Examples
    --------
    >>> round(planned_power(1.0, 17), 3), round(planned_power(1.0, 17, freedom=7), 3)
    (0.806, 0.728)
    """
    effects = np.array([effect]) if freedom is None else effect * _true_sds(freedom)
    if paired:
        edges, shares = np.array([float(-special.stdtrit(n - 1, alpha / 2))]), np.ones(1)
        centers, within = effects * math.sqrt(n), n - 1
    else:
        other = n if m is None else m
        edges, shares = welch_edges(n, other, alpha)
        centers, within = effects * math.sqrt(n * other / (n + other)), n + other - 2
    return float((shown_beyond(edges, within, centers[:, None]) @ shares).mean())


def planned_runs(
    effect: float,
    alpha: float = DEFAULT_ALPHA,
    power: float = DEFAULT_POWER,
    *,
    paired: bool = False,
    freedom: int | None = None,
) -> int | None:
    """Give the runs per side that reach a power, see `planned_power`; None where `MOST_RUNS` are not enough.

    Examples
    --------
    >>> planned_runs(1.0), planned_runs(1.0, freedom=7), planned_runs(1.0, paired=True)
    (17, 22, 10)
    """
    _check(alpha, power)
    return first_enough(lambda n: planned_power(abs(effect), n, alpha, paired=paired, freedom=freedom) >= power)


@lru_cache(maxsize=256)
def planned_difference(
    n: int,
    alpha: float = DEFAULT_ALPHA,
    power: float = DEFAULT_POWER,
    *,
    m: int | None = None,
    paired: bool = False,
    freedom: int | None = None,
) -> float:
    """Give the smallest difference, in SDs, that `n` runs per side show with a power, see `planned_power`.

    Examples
    --------
    >>> [round(planned_difference(n), 2) for n in (5, 16, 30)]
    [2.08, 1.03, 0.74]
    """
    _check(alpha, power)

    @cache
    def lacking(effect: float) -> float:
        return planned_power(effect, n, alpha, m=m, paired=paired, freedom=freedom) - power

    # Far beyond what is looked for, SciPy's noncentral t takes long.
    largest = next((size for size in _SIZES if lacking(size) > 0), math.inf)
    return largest if math.isinf(largest) else _crossing(lacking, largest)


def _crossing(rising: Callable[[float], float], high: float, within: float = 0.0) -> float:
    """Return where a function is 0 between 0 and `high`, by the Illinois rule.

    Importing SciPy's takes longer than a whole report. A simulated function may jump over 0: `within` is how far
    that is from the place.
    """
    ends, values, value = [0.0, high], [rising(0.0), rising(high)], 1.0
    place, before = 0.0, -1
    while abs(value) > 1e-9 and ends[1] - ends[0] > within:
        place = ends[0] - values[0] * (ends[1] - ends[0]) / (values[1] - values[0])
        value = rising(place)
        side = int(value > 0)
        ends[side], values[side] = place, value
        # An end that stays counts half, so that it moves too.
        values[1 - side] /= 2 if side == before else 1
        before = side
    return place


def runs_to_make(runs: int, lost: float, *, paired: bool = False) -> int:
    """Give the runs to be made so that `runs` of them are left on average, where a share is lost.

    A pair is left where both of its runs are.

    Examples
    --------
    >>> runs_to_make(20, 0.0), runs_to_make(20, 0.1), runs_to_make(20, 0.1, paired=True)
    (20, 23, 25)
    """
    if not 0 <= lost < 1:
        raise ValueError(f"a share of runs that are lost is 0 or above and below 1; got {lost}")
    return math.ceil(runs / (1 - lost) ** (2 if paired else 1) - 1e-9)


@lru_cache(maxsize=64)
def _true_sds(freedom: int) -> Floats:
    """Return the measured SD as multiples of the true ones that it leaves open, all equally probable."""
    at = (np.arange(_SDS) + 0.5) / _SDS
    return np.sqrt(2 * special.gammaincinv(freedom / 2, at) / freedom)


# How wrong a difference is expected to be that is shown: its sign, and its size.

#: Degrees of freedom below which the density of the estimated SD is as wide as what it is integrated with.
FEW = 10


class ShownErrors(msgspec.Struct, frozen=True, kw_only=True):
    """What comes of the samples in which a test shows a difference, if the true one is as assumed."""

    #: The true difference that is assumed, in SDs (of the differences, where runs are paired), above 0.
    assumed: float
    #: Probability that the test shows a difference, in [alpha, 1].
    power: float
    #: Type S error: share of the samples that show one in which it has the wrong sign, in [0, 0.5].
    wrong_sign: float
    #: Type M error: mean size of the differences that are shown, as a multiple of the true one, above 1.
    exaggeration: float


def shown_errors(effect: float, n: int, m: int, alpha: float = DEFAULT_ALPHA, *, paired: bool = False) -> ShownErrors:
    """Give the type S and type M errors of the two-sided Welch or paired t test, for normal values with equal SDs.

    With ``z`` the difference in its standard errors, ``z ~ N(effect / se, 1)``, and ``u`` the estimated SD over the
    true one, ``u ~ chi(df) / sqrt(df)``, a difference is shown where ``|z| > t u``. The type S error is
    ``P(z < -t u) / P(|z| > t u)``, the type M error ``E[|z|; |z| > t u] / (P(|z| > t u) effect / se)`` [1]_. For
    Welch's test ``t`` depends on how the variance divides between the sides, see `welch_edges`. How large the true
    difference is has to be assumed: the one that was seen is itself too large where it is shown by luck.

    Parameters
    ----------
    effect : float
        The true difference of the means in SDs, above 0; in SDs of the differences, where `paired`.
    n, m : int
        Runs of each side, 2 or more; pairs, where `paired`.

    References
    ----------
    .. [1] A. Gelman and J. Carlin, "Beyond power calculations: assessing type S (sign) and type M (magnitude) errors",
       Perspectives on Psychological Science 9, 2014.

    Examples
    --------
    >>> errors = shown_errors(0.75, 5, 5)
    >>> round(errors.power, 2), round(errors.wrong_sign, 3), round(errors.exaggeration, 1)
    (0.17, 0.007, 2.1)
    """
    freedom = n - 1 if paired else n + m - 2
    error = math.sqrt(1 / n) if paired else math.sqrt(1 / n + 1 / m)
    center = effect / error
    edges, shares = (
        (-special.stdtrit(np.array([freedom]), alpha / 2), np.ones(1)) if paired else welch_edges(n, m, alpha)
    )
    # 12 standard errors of the SD above 1: beyond, nothing lies that counts.
    end = 1 + 12 / math.sqrt(2 * freedom)
    # With few runs the limits pass the true difference on a short way, which the integral has to be led to.
    passed = sorted({center / float(edge) for edge in (np.max(edges), np.min(edges))}) if freedom < FEW else []
    right, wrong, size = (
        scipy.integrate.quad(
            lambda u, f=f: float(f(edges * u, center) @ shares) * _chi(u, freedom),
            0.0,
            end,
            limit=200,
            points=[place for place in passed if place < end] or None,
        )[0]
        for f in (_above, _below, _size)
    )
    power = right + wrong
    return ShownErrors(assumed=effect, power=power, wrong_sign=wrong / power, exaggeration=size / (power * center))


def _above(threshold: Floats, center: float) -> Floats:
    return special.ndtr(center - threshold)


def _below(threshold: Floats, center: float) -> Floats:
    return special.ndtr(-center - threshold)


def _size(threshold: Floats, center: float) -> Floats:
    """Return ``E[|z|; |z| > threshold]``."""
    densities = np.exp(-((threshold - center) ** 2) / 2) + np.exp(-((threshold + center) ** 2) / 2)
    means = center * (_above(threshold, center) - _below(threshold, center))
    return densities / math.sqrt(2 * math.pi) + means


def _chi(u: float, freedom: int) -> float:
    """Return the density of the estimated SD over the true one."""
    if u <= 0:
        return 0.0
    half = freedom / 2
    log = math.log(2) + half * math.log(half) - math.lgamma(half) + (freedom - 1) * math.log(u) - half * u * u
    return math.exp(log)


# How large a spread is beside a difference that someone claims, and how often it would hide that difference.


class Misranking(msgspec.Struct, frozen=True, kw_only=True):
    """The SD between runs beside a difference between two recipes."""

    #: The difference, above 0, in the unit of the metric.
    difference: float
    #: The SD as a multiple of the difference.
    sd_in_differences: float
    #: Probability in [0, 0.5) that one run of each of two recipes, that far apart, ranks them wrongly.
    wrong: float
    #: The same at the ends of the interval of the SD; None where that is unknown.
    low: float | None = None
    high: float | None = None


def misranking(difference: float, sd: float, interval: Interval) -> Misranking:
    """Set an SD beside a difference, and tell how often single runs rank two recipes wrongly.

    ``wrong = Phi(-difference / (sqrt(2) sd))``: two normal values of that SD, with means `difference` apart, are in the
    wrong order. This is 1 less the probability of superiority [1]_. It grows with the SD, so the ends of the interval
    of the SD give those of its own.

    Parameters
    ----------
    difference : float
        Between the means of the recipes, above 0.
    sd : float
        Between the runs of one recipe, 0 or more; both recipes are taken to have it.
    interval : Interval
        Of the SD.

    Raises
    ------
    ValueError
        If the difference is not above 0.

    References
    ----------
    .. [1] K. O. McGraw and S. P. Wong, "A common language effect size statistic", Psychological Bulletin 111(2), 1992.

    Examples
    --------
    >>> beside = misranking(0.5, 0.5, Interval(level=0.95, method="chi-square", low=0.25, high=1.0))
    >>> [round(share, 3) for share in (beside.sd_in_differences, beside.wrong, beside.low, beside.high)]
    [1.0, 0.24, 0.079, 0.362]
    """
    if not difference > 0:
        raise ValueError(f"a difference is above 0, not {difference:g}")
    return Misranking(
        difference=difference,
        sd_in_differences=sd / difference,
        wrong=_wrong(difference, sd),
        low=None if interval.low is None else _wrong(difference, interval.low),
        high=None if interval.high is None else _wrong(difference, interval.high),
    )


def _wrong(difference: float, sd: float) -> float:
    return float(special.ndtr(-difference / (math.sqrt(2) * sd))) if sd else 0.0
