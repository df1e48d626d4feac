"""An interval of the SD that allows for heavy tails, and the number of runs that know an SD to a width."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from deviate.measure.intervals import DEFAULT_LEVEL, Interval, sd_factors, sd_interval
from deviate.measure.sample import Floats, finite_sample, trimmed_mean, unit_scale

#: Bonett's trimmed mean leaves out ``1 / (2 * sqrt(n - 4))`` on each end: half at 5 runs, undefined below.
FEWEST_RUNS = 5

#: Numbers of runs that are tried for an answer; who needs more has another problem than the number of runs.
MOST_RUNS = 100_000

METHOD = "wider of chi-square and Bonett"


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
    values = finite_sample(sample)
    reason = sd_interval(values, level).reason
    z = float(special.ndtri((1 + level) / 2))
    if not reason and values.size < max(FEWEST_RUNS, math.floor(z) + 1):
        reason = "too few runs to allow for heavy tails"
    if reason:
        return Interval(level=level, method="Bonett", reason=reason)
    scaled, exponent = unit_scale(values)
    c = values.size / (values.size - z)
    half = z * c * math.sqrt(max(_kurtosis(scaled) - (values.size - 3) / values.size, 0.0) / (values.size - 1))
    sd = float(np.ldexp(scaled.std(ddof=1), exponent))
    low, high = (sd * math.exp((math.log(c) + sign * half) / 2) for sign in (-1, 1))
    return Interval(low=low, high=high, level=level, method="Bonett")


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
    normal, robust = sd_interval(sample, level), robust_sd_interval(sample, level)
    if normal.low is None or normal.high is None or robust.low is None or robust.high is None:
        return normal
    return Interval(low=min(normal.low, robust.low), high=max(normal.high, robust.high), level=level, method=METHOD)


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
