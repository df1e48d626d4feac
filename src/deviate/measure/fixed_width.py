"""A mean known to a width that was fixed beforehand: when to stop making runs, and the interval that is then true."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.intervals import DEFAULT_LEVEL, Interval, mean_interval, why_no_interval
from deviate.measure.sample import Floats, finite_sample, is_identical

#: Runs made after the first look at which the t interval is narrow enough. Looking after each run stops early where the
#: SD happens to look small, and the interval then covers up to 2 points less than it says; Simons [1]_ proved that a
#: fixed number of further values mends it for normal ones, and in ``benchmarks/statistics/until.py`` two are enough.
#:
#: .. [1] G. Simons, "On the cost of not knowing the variance when making a fixed-width confidence interval for the
#:    mean", Annals of Mathematical Statistics 39(6), 1968.
EXTRA_RUNS = 2

#: Fewest runs before the first look: with fewer the SD is too often far too small by chance.
FEWEST_PILOT = 5

METHOD = "fixed width, sequential"


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
        interval=_interval(values, wanted if met else max(wanted, half_width or math.inf), level),
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


def _interval(values: Floats, half_width: float, level: float) -> Interval:
    if not math.isfinite(half_width):
        reason = why_no_interval(values) or "an end is larger than a 64-bit float can hold"
        return Interval(level=level, method=METHOD, reason=reason)
    mean = float(values[0]) if is_identical(values) else float(np.mean(values))
    return Interval(low=mean - half_width, high=mean + half_width, level=level, method=METHOD)
