"""How well a sample of runs determines the mean and the SD of all runs like them."""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from deviate.measure.sample import Floats, finite_sample, is_identical, unit_scale

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
