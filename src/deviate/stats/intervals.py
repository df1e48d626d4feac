"""How well a sample of runs determines the mean and the SD of all runs like them; t, chi-square, bootstrap."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from deviate.stats.spread import Floats, finite_sample, is_identical, trimmed_mean, unit_scale

#: Confidence level where the user names none.
DEFAULT_LEVEL = 0.95

#: The method of an interval of an SD that is right for normal values only.
CHI_SQUARE = "chi-square"


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A confidence interval, or the reason why there is none."""

    low: float | None = None
    high: float | None = None
    #: Share of samples whose interval covers the true value, in (0, 1).
    level: float
    method: str
    #: Empty where the interval is known.
    reason: str = ""

    @property
    def known(self) -> bool:
        """Whether both ends are known."""
        return self.low is not None and self.high is not None

    @property
    def negated(self) -> Interval:
        """The interval of the number with the other sign."""
        if self.low is None or self.high is None:
            return self
        return msgspec.structs.replace(self, low=-self.high, high=-self.low)

    @property
    def inverted(self) -> Interval:
        """The interval of one over the number, which is above 0."""
        if self.low is None or self.high is None:
            return self
        ends = (1 / end if end > 0 else math.inf for end in (self.high, self.low))
        return msgspec.structs.replace(self, **dict(zip(("low", "high"), ends, strict=True)))


def mean_interval(sample: ArrayLike, level: float = DEFAULT_LEVEL) -> Interval:
    """Give the Student t confidence interval of the mean.

    ``mean ± t(n-1, (1+level)/2) * sd / sqrt(n)``, in the unit of the values. Exact for normal values, close for others
    unless they are skewed and n is small (``benchmarks/statistics`` measures by how much). Unknown for ``n < 2``.
    Unknown too where all values are exactly equal: an interval of width zero would claim a certainty that a few runs
    cannot give.

    References
    ----------
    .. [1] Student, "The probable error of a mean", Biometrika 6(1), 1908.

    Examples
    --------
    >>> interval = mean_interval([1.0, 2.0, 3.0])
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.484, 4.484)
    >>> mean_interval([1.0]).reason
    'an interval needs two runs or more'
    """
    values, reason = _checked(sample, level)
    if reason:
        return Interval(level=level, method="t", reason=reason)
    scaled, exponent = unit_scale(values)
    mean = scaled.mean()
    half = special.stdtrit(values.size - 1, (1 + level) / 2) * scaled.std(ddof=1) / math.sqrt(values.size)
    return _scaled_back(mean - half, mean + half, exponent, level, "t")


def sd_interval(sample: ArrayLike, level: float = DEFAULT_LEVEL) -> Interval:
    """Give the chi-square confidence interval of the standard deviation.

    The SD times `sd_factors`, in the unit of the values. Exact for normal values only. Heavy tails make it too narrow,
    and more runs do not mend that: of values with Student's t distribution of 3 degrees of freedom it covers the true
    SD in 91 % of samples at n = 3 and in 62 % at n = 30, at a level of 95 % (``benchmarks/statistics``). Unknown for
    ``n < 2`` and for values that are all exactly equal.

    References
    ----------
    .. [1] R. V. Hogg, J. W. McKean and A. T. Craig, "Introduction to mathematical statistics", section 4.2.

    Examples
    --------
    >>> interval = sd_interval([1.0, 2.0, 3.0])
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.52, 6.28)
    """
    values, reason = _checked(sample, level)
    if reason:
        return Interval(level=level, method=CHI_SQUARE, reason=reason)
    scaled, exponent = unit_scale(values)
    low, high = (factor * float(scaled.std(ddof=1)) for factor in sd_factors(values.size, level))
    return _scaled_back(low, high, exponent, level, CHI_SQUARE)


def sd_factors(n: int, level: float = DEFAULT_LEVEL) -> tuple[float, float]:
    """Give the ends of the confidence interval of the SD as multiples of the measured SD.

    ``sqrt((n-1) / chi2(n-1, (1+level)/2))`` and ``sqrt((n-1) / chi2(n-1, (1-level)/2))``.

    Examples
    --------
    >>> [round(factor, 2) for factor in sd_factors(8)]
    [0.66, 2.04]
    """
    if n < 2:
        raise ValueError(f"the SD of {n} runs is unknown, and so is its interval; expected 2 runs or more")
    check_level(level)
    return _sd_factors(n, level)


@lru_cache
def _sd_factors(n: int, level: float) -> tuple[float, float]:
    low, high = (2 * float(special.gammaincinv((n - 1) / 2, share)) for share in ((1 - level) / 2, (1 + level) / 2))
    return math.sqrt((n - 1) / high), math.sqrt((n - 1) / low)


def why_no_interval(values: Floats) -> str:
    """Say why no interval can be given for `values`; empty where one can."""
    if values.size < 2:
        return "an interval needs two runs or more"
    if is_identical(values):
        return f"all {values.size} runs gave exactly the same value"
    return ""


def _checked(sample: ArrayLike, level: float) -> tuple[Floats, str]:
    check_level(level)
    values = finite_sample(sample)
    return values, why_no_interval(values)


def check_level(level: float) -> None:
    """Raise ValueError unless `level` lies in (0, 1)."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, both excluded; got {level}")


def _scaled_back(low: float, high: float, exponent: int, level: float, method: str) -> Interval:
    with np.errstate(over="ignore", under="ignore"):
        low, high = float(np.ldexp(low, exponent)), float(np.ldexp(high, exponent))
    if not (math.isfinite(low) and math.isfinite(high)):
        return Interval(level=level, method=method, reason="an end is larger than a 64-bit float can hold")
    return Interval(low=low, high=high, level=level, method=method)


# Bootstrap confidence intervals, which assume no distribution.

#: Resamples that make the 2.5 % quantile of the bootstrap distribution stable to about 1 % of its SD [1]_.
#:
#: .. [1] B. Efron and R. J. Tibshirani, "An introduction to the bootstrap", chapter 19, 1993.
RESAMPLES = 9999

#: Below this many runs too few different resamples exist (10 for n = 3, 35 for n = 4) to place a 2.5 % quantile.
FEWEST_FOR_BOOTSTRAP = 5

#: Values resampled at once: what fits a processor's cache is fastest, and it bounds the memory to some MiB.
VALUES_AT_ONCE = 300_000

BOOTSTRAP = "bootstrap BCa"


def bootstrap_mean_intervals(
    samples: Sequence[ArrayLike], rng: np.random.Generator, level: float = DEFAULT_LEVEL, resamples: int = RESAMPLES
) -> list[Interval]:
    """Give the bias-corrected and accelerated bootstrap interval [1]_ of the mean of each sample.

    In the unit of the values. Unknown for ``n < 5`` and for values that are all exactly equal. At small n it covers
    less often than it promises: at a level of 95 % and n = 8 in 80 to 89 % of samples, where the t interval covers 83
    to 96 % (``benchmarks/statistics``).

    Parameters
    ----------
    samples : sequence of array_like of float, each of shape (n_sample,)
        Such as the metrics of the same runs. Samples of one length share their resamples: the same runs are drawn for
        all of them, and the work of drawing is done once.

    References
    ----------
    .. [1] B. Efron, "Better bootstrap confidence intervals", JASA 82(397), 1987.

    Examples
    --------
    >>> values = [96.1, 97.0, 96.4, 97.8, 96.6, 96.9, 97.2, 95.9]
    >>> (interval,) = bootstrap_mean_intervals([values], np.random.default_rng(7))
    >>> 96.0 < interval.low < 96.74 < interval.high < 97.5
    True
    """
    return _bootstrap_all(samples, np.mean, rng, level, resamples)


def bootstrap_sd_intervals(
    samples: Sequence[ArrayLike], rng: np.random.Generator, level: float = DEFAULT_LEVEL, resamples: int = RESAMPLES
) -> list[Interval]:
    """Give the same interval of the SD of each sample.

    Not for few runs: at a level of 95 % it covers the true SD of normal values in 66 % of samples at n = 5, 78 % at
    n = 8 and 91 % at n = 30 (``benchmarks/statistics``). `intervals.sd_interval` does better at these n unless the
    values are skewed or heavy-tailed and n is near 30.

    Examples
    --------
    >>> bootstrap_sd_intervals([[1.0, 2.0, 3.0]], np.random.default_rng(7))[0].reason
    'a bootstrap interval needs 5 runs or more'
    """
    return _bootstrap_all(samples, _sd, rng, level, resamples)


def _sd(values: Floats, axis: int = -1) -> Any:
    return np.std(values, axis=axis, ddof=1)


def _bootstrap_all(
    samples: Sequence[ArrayLike], statistic: Callable[..., Any], rng: np.random.Generator, level: float, resamples: int
) -> list[Interval]:
    every = [finite_sample(sample) for sample in samples]
    intervals_of = [Interval(level=level, method=BOOTSTRAP, reason=_why_none(values)) for values in every]
    for size in sorted({values.size for values, none in zip(every, intervals_of, strict=True) if not none.reason}):
        indices = [
            index for index, values in enumerate(every) if values.size == size and not intervals_of[index].reason
        ]
        intervals = _bootstrap([every[index] for index in indices], statistic, rng, level, resamples)
        for index, interval in zip(indices, intervals, strict=True):
            intervals_of[index] = interval
    return intervals_of


def _why_none(values: Floats) -> str:
    return why_no_interval(values) if values.size < 2 or values.size >= FEWEST_FOR_BOOTSTRAP else _TOO_FEW


def _bootstrap(
    samples: list[Floats], statistic: Callable[..., Any], rng: np.random.Generator, level: float, resamples: int
) -> list[Interval]:
    """Bootstrap samples of one length together; each of them has two different values or more."""
    scaled = [unit_scale(values) for values in samples]
    table = np.stack([values for values, _ in scaled])
    resampled = _resampled(table, statistic, rng, resamples)
    # Where an end is no number, its interval says why, see `_bootstrap_interval`.
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = _ends(table, statistic, resampled, level)
    return [
        _bootstrap_interval(float(np.ldexp(low, exponent)), float(np.ldexp(high, exponent)), level)
        for (low, high), (_, exponent) in zip(ends, scaled, strict=True)
    ]


def _resampled(table: Floats, statistic: Callable[..., Any], rng: np.random.Generator, resamples: int) -> Floats:
    """Return the statistic of each resample of each row, the same places for all; shape (rows, resamples)."""
    rows, n = table.shape
    at_once = max(1, VALUES_AT_ONCE // table.size)
    parts = [
        statistic(table[:, rng.integers(0, n, (min(at_once, resamples - start), n))], axis=-1)
        for start in range(0, resamples, at_once)
    ]
    return np.concatenate(parts, axis=-1).reshape(rows, resamples)


def _ends(table: Floats, statistic: Callable[..., Any], resampled: Floats, level: float) -> Floats:
    """Return the ends of the BCa interval of each row, shape (rows, 2).

    Efron, 1987, equations 4.4 and 6.6, by the jackknife. NaN where an end is not known.
    """
    measured = statistic(table, axis=-1)[:, None]
    bias = special.ndtri(((resampled < measured).mean(axis=-1) + (resampled <= measured).mean(axis=-1)) / 2)
    n = table.shape[-1]
    left_out = np.stack([statistic(np.delete(table, place, axis=-1), axis=-1) for place in range(n)], axis=-1)
    influence = left_out.mean(axis=-1, keepdims=True) - left_out
    acceleration = (influence**3).sum(axis=-1) / (6 * (influence**2).sum(axis=-1) ** 1.5)
    shifted = bias[:, None] + special.ndtri([(1 - level) / 2, (1 + level) / 2])
    shares = special.ndtr(bias[:, None] + shifted / (1 - acceleration[:, None] * shifted))
    return np.array([[_quantile(row, at) for at in pair] for row, pair in zip(resampled, shares, strict=True)])


def _quantile(values: Floats, share: float) -> float:
    return float(np.quantile(values, share)) if np.isfinite(share) else np.nan


def _bootstrap_interval(low: float, high: float, level: float) -> Interval:
    if not (np.isfinite(low) and np.isfinite(high)):
        return Interval(level=level, method=BOOTSTRAP, reason="too few different values among the runs")
    return Interval(low=low, high=high, level=level, method=BOOTSTRAP)


_TOO_FEW = f"a bootstrap interval needs {FEWEST_FOR_BOOTSTRAP} runs or more"


# An interval of the SD that allows for heavy tails, and the number of runs that know an SD to a width.

#: Bonett's trimmed mean leaves out ``1 / (2 * sqrt(n - 4))`` on each end: half at 5 runs, undefined below.
FEWEST_RUNS = 5

#: Numbers of runs that are tried for an answer; who needs more has another problem than the number of runs.
MOST_RUNS = 100_000

ROBUST = "wider of chi-square and Bonett"


def robust_sd_interval(sample: ArrayLike, level: float = DEFAULT_LEVEL) -> Interval:
    """Give Bonett's confidence interval of the standard deviation.

    ``sd * exp((log(c) ± z * se) / 2)`` with ``c = n / (n - z)``, ``se = c * sqrt((k - (n - 3) / n) / (n - 1))`` and
    ``k`` the kurtosis about a trimmed mean [1]_. Allows for the tails that the values show; those that few values do
    not show it cannot know (``benchmarks/statistics``). Unknown below `FEWEST_RUNS` and where all values are equal.

    References
    ----------
    .. [1] D. G. Bonett, "Approximate confidence interval for standard deviation of nonnormal distributions",
       Computational Statistics & Data Analysis 50(3), 2006.

    Examples
    --------
    >>> interval = robust_sd_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    >>> round(interval.low, 2), round(interval.high, 2)
    (1.67, 4.76)
    """
    values, reason = _checked(sample, level)
    if not reason and not _shows_tails(values.size, level):
        reason = "too few runs to allow for heavy tails"
    if reason:
        return Interval(level=level, method="Bonett", reason=reason)
    scaled, exponent = unit_scale(values)
    factors = _bonett_factors(_kurtosis(scaled), values.size, level)
    low, high = (factor * float(scaled.std(ddof=1)) for factor in factors)
    return _scaled_back(low, high, exponent, level, "Bonett")


def _shows_tails(n: int, level: float) -> bool:
    return n >= max(FEWEST_RUNS, math.floor(special.ndtri((1 + level) / 2)) + 1)


def _bonett_factors(kurtosis: float, n: int, level: float) -> tuple[float, float]:
    z = float(special.ndtri((1 + level) / 2))
    c = n / (n - z)
    half = z * c * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
    return math.exp((math.log(c) - half) / 2), math.exp((math.log(c) + half) / 2)


def cautious_sd_interval(sample: ArrayLike, level: float = DEFAULT_LEVEL) -> Interval:
    """Give the interval from the lower of the ends of the chi-square and Bonett's interval to the higher one.

    In the unit of the values; covers normal values slightly more often than `level`. Below `FEWEST_RUNS`, where nothing
    shows tails, it is the chi-square interval, which `Interval.method` says.

    Examples
    --------
    >>> interval = cautious_sd_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    >>> round(interval.low, 2), round(interval.high, 2)
    (1.62, 4.99)
    """
    values = finite_sample(sample)
    normal = sd_interval(values, level)
    robust = robust_sd_interval(values, level)
    if normal.low is None or normal.high is None or robust.low is None or robust.high is None:
        return normal
    return Interval(low=min(normal.low, robust.low), high=max(normal.high, robust.high), level=level, method=ROBUST)


def cautious_sd_factors(sample: ArrayLike, n: int, level: float = DEFAULT_LEVEL) -> tuple[float, float]:
    """Give the ends of the same interval as multiples of the SD, for `n` runs with the tails that a sample shows.

    Examples
    --------
    >>> [round(factor, 2) for factor in cautious_sd_factors([1.0, 2.0, 2.0, 2.0, 3.0, 9.0], 6)]
    [0.21, 7.12]
    """
    values = finite_sample(sample)
    factors = [sd_factors(n, level)]
    if not why_no_interval(values) and _shows_tails(min(n, values.size), level):
        factors.append(_bonett_factors(_kurtosis(unit_scale(values)[0]), n, level))
    return min(low for low, _ in factors), max(high for _, high in factors)


def runs_for_sd(width: float, level: float = DEFAULT_LEVEL) -> int | None:
    """Give the runs after which the SD of normal values is known to ``± width`` of itself.

    That is the first n at which neither end of the chi-square interval is farther from the SD than `width`. The upper
    end always is the farther one, so it decides. It depends on n only, and is known before any run is made. None where
    `MOST_RUNS` are not enough.

    Parameters
    ----------
    width : float
        A share of the SD, above 0: 0.25 is 25 %.

    Examples
    --------
    >>> [runs_for_sd(width) for width in (0.5, 0.35, 0.25)]
    [18, 30, 49]
    """
    if not width > 0:
        raise ValueError(f"a width is a number above 0; got {width}")
    return first_enough(lambda n: sd_factors(n, level)[1] - 1 <= width, start=FEWEST_RUNS)


def first_enough(enough: Callable[[int], bool], start: int = 2, most: int = MOST_RUNS) -> int | None:
    """Find the first number of runs that is enough, where more never are less."""
    high = start
    while not enough(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = start - 1 if high == start else high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def root(function: Callable[[float], float], low: float, high: float, error: float) -> float:
    """Return where a function crosses zero, to `error`, by bisection; its signs at both ends differ.

    SciPy's ``brentq`` finds the same in fewer steps, but loading it takes longer than all steps of a report.

    Examples
    --------
    >>> round(root(lambda x: x**2 - 2, 0.0, 2.0, 1e-13), 12)
    1.414213562373
    """
    below = function(low)
    if below == 0:
        return low
    while high - low > error and low < (middle := (low + high) / 2) < high:
        if (function(middle) > 0) == (below > 0):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def farthest_end(interval: Interval, sd: float) -> float | None:
    """Give how far the farther end of an interval is from the SD, as a share of it; None where there is none."""
    if interval.low is None or interval.high is None or not sd > 0:
        return None
    return max(interval.high / sd - 1, 1 - interval.low / sd)


def bonett_centre(values: Floats) -> float:
    """Give Bonett's trimmed mean of `FEWEST_RUNS` values or more."""
    return trimmed_mean(values, 1 / (2 * math.sqrt(values.size - 4)))


def _kurtosis(values: Floats) -> float:
    squares = float(((values - values.mean()) ** 2).sum())
    return float(values.size * ((values - bonett_centre(values)) ** 4).sum() / squares**2)


# A mean known to a width that was fixed beforehand: when to stop making runs, and the interval that is then true.

#: Runs made after the first look at which the t interval is narrow enough. Looking after each run stops early where the
#: SD happens to look small, and the interval then covers up to 2 points less than it says; Simons [1]_ proved that a
#: fixed number of further values mends it for normal ones, and in ``benchmarks/statistics/until.py`` two are enough.
#:
#: .. [1] G. Simons, "On the cost of not knowing the variance when making a fixed-width confidence interval for the
#:    mean", Annals of Mathematical Statistics 39(6), 1968.
EXTRA_RUNS = 2

#: Fewest runs before the first look: with fewer the SD is too often far too small by chance.
FEWEST_PILOT = 5

FIXED_WIDTH = "fixed width, sequential"


class FixedWidth(msgspec.Struct, frozen=True, kw_only=True):
    """How far the runs are from a mean known to the width wanted."""

    n: int
    #: Half-width of the t interval of these runs; None where there is none. In the unit of the values, as `wanted`.
    half_width: float | None
    wanted: float
    #: Number of runs with which it is enough; None where the t interval was never narrow enough.
    enough_at: int | None
    interval: Interval

    @property
    def met(self) -> bool:
        """Whether there are enough runs."""
        return self.enough_at is not None and self.n >= self.enough_at


def fixed_width(
    sample: ArrayLike, width: float, *, relative: bool = False, least: int, level: float = DEFAULT_LEVEL
) -> FixedWidth:
    """Say whether runs, looked at one after the other, were enough to know their mean to ``± width``.

    Enough are `EXTRA_RUNS` more runs than at the first look at which ``t(n-1, (1+level)/2) * sd / sqrt(n)`` is no
    larger than the width [1]_ [2]_. The interval is then ``mean ± width``; before, it is the t interval, made as wide
    as the width at least. Looks at which all values are equal say nothing and are passed over.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One finite value per run, in the order in which runs were requested. The order matters: the rule looks at the
        first `least` runs, then after each further one.
    width : float
        Above 0: half-width wanted, in the unit of the values; a share of the mean (0.02 is 2 %) where `relative`.
    relative : bool, optional
        `width` is a share of the absolute mean [3]_.
    least : int
        Runs before the first look, `FEWEST_PILOT` or more.

    Notes
    -----
    The t interval of the runs one has after stopping is *not* one of the level that it says: runs were stopped
    because it was narrow. ``benchmarks/statistics/until.py`` has the coverage of both.

    References
    ----------
    .. [1] Y. S. Chow and H. Robbins, "On the asymptotic theory of fixed-width sequential confidence intervals for the
       mean", Annals of Mathematical Statistics 36(2), 1965.
    .. [2] N. Starr, "The performance of a sequential procedure for the fixed-width interval estimation of the mean",
       Annals of Mathematical Statistics 37(1), 1966.
    .. [3] A. Nádas, "An extension of a theorem of Chow and Robbins on sequential confidence intervals for the mean",
       Annals of Mathematical Statistics 40(2), 1969.

    Examples
    --------
    >>> values = [90.0, 91.0, 90.5, 89.5, 90.2, 90.8, 90.1, 90.4]
    >>> found = fixed_width(values, 0.6, least=5)
    >>> found.enough_at, found.met, round(found.interval.low, 2), round(found.interval.high, 2)
    (8, True, 89.71, 90.91)
    """
    values = finite_sample(sample)
    if not (width > 0 and math.isfinite(width)):
        raise ValueError(f"a width is a number above 0; got {width}")
    if least < FEWEST_PILOT:
        raise ValueError(f"the first look is at {FEWEST_PILOT} runs or more; got {least}")
    first = next((n for n in range(least, values.size + 1) if _is_narrow(values[:n], width, relative, level)), None)
    enough_at = None if first is None else first + EXTRA_RUNS
    wanted = _wanted(values, width, relative)
    half_width = _half_width(values, level)
    met = enough_at is not None and values.size >= enough_at
    return FixedWidth(
        n=values.size,
        half_width=half_width,
        wanted=wanted,
        enough_at=enough_at,
        interval=_fixed_interval(values, wanted if met else max(wanted, half_width or math.inf), level),
    )


def _is_narrow(values: Floats, width: float, relative: bool, level: float) -> bool:
    half_width = _half_width(values, level)
    return half_width is not None and half_width <= _wanted(values, width, relative)


def _wanted(values: Floats, width: float, relative: bool) -> float:
    if not relative:
        return width
    return width * abs(float(values.mean())) if values.size else 0.0


def _half_width(values: Floats, level: float) -> float | None:
    interval = mean_interval(values, level)
    return None if interval.low is None or interval.high is None else interval.high / 2 - interval.low / 2


def _fixed_interval(values: Floats, half_width: float, level: float) -> Interval:
    if not math.isfinite(half_width):
        reason = why_no_interval(values) or "an end is larger than a 64-bit float can hold"
        return Interval(level=level, method=FIXED_WIDTH, reason=reason)
    mean = float(values[0]) if is_identical(values) else float(np.mean(values))
    return Interval(low=mean - half_width, high=mean + half_width, level=level, method=FIXED_WIDTH)
