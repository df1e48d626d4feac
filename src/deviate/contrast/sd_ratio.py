"""By what factor is one side noisier? The ratio of two SDs with its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Callable

import scipy
from numpy.typing import ArrayLike
from scipy import special

from deviate.contrast.results import Effect, two_samples, unknown_effect
from deviate.measure.intervals import DEFAULT_LEVEL, Interval
from deviate.measure.robust_sd import FEWEST_RUNS, bonett_centre
from deviate.measure.sample import Floats, is_identical

METHOD = "Bonett, inverted"

#: Ends are looked for between the measured ratio and this factor above and below it.
_FARTHEST = 1e6


def sd_ratio(a: ArrayLike, b: ArrayLike, level: float = DEFAULT_LEVEL) -> Effect:
    """Give ``sd(a) / sd(b)`` with a confidence interval that does not assume normal values.

    The interval holds the ratios ``r`` that Bonett's test [1]_ of ``a`` against ``r * b`` does not reject: those with
    ``abs(log(c * var(a) / (r**2 * var(b)))) <= z * se(r)``. Here
    ``se(r)**2 = (k(r) - (n_a - 3) / n_a) / (n_a - 1) + (k(r) - (n_b - 3) / n_b) / (n_b - 1)``, ``k(r)`` is the kurtosis
    pooled about trimmed means after the scaling, and ``c`` a correction for unequal n. It covers as it promises where
    both sides have one shape, whatever the shape (93 to 99 % at 95 %, ``benchmarks/statistics``), and less where only
    one side has heavy tails. No interval below `FEWEST_RUNS` per side.

    References
    ----------
    .. [1] D. G. Bonett, "Robust confidence interval for a ratio of standard deviations", Applied Psychological
       Measurement 30(5), 2006.

    Examples
    --------
    >>> effect = sd_ratio([1.0, 2.0, 4.0, 5.0, 7.0, 8.0], [1.0, 2.0, 2.5, 3.0, 4.0, 4.5])
    >>> round(effect.value, 2), effect.interval.low < 1 < effect.interval.high
    (2.12, True)
    """
    both = two_samples(a, b)
    reason = both.reason or _constant(both.a, both.b)
    if reason:
        return unknown_effect(reason, level, METHOD)
    ratio = math.sqrt(float(both.a.var(ddof=1) / both.b.var(ddof=1)))
    if min(both.a.size, both.b.size) < FEWEST_RUNS:
        few = f"an interval of the SD ratio needs {FEWEST_RUNS} runs or more of each"
        return Effect(value=ratio, interval=Interval(level=level, method=METHOD, reason=few))
    return Effect(value=ratio, interval=_inverted(both.a, both.b, level))


def _constant(a: Floats, b: Floats) -> str:
    same = is_identical(a) or is_identical(b)
    return "the runs of one of the two gave exactly the same value, so the ratio is zero or infinite" if same else ""


def _inverted(a: Floats, b: Floats, level: float) -> Interval:
    z = float(special.ndtri((1 + level) / 2))
    statistic = bonett_statistic(a, b, z)
    c = a.size / (a.size - z) * (b.size - z) / b.size
    if c <= 0:
        few = "too few runs for an interval of the SD ratio at this level"
        return Interval(level=level, method=METHOD, reason=few)
    centre = math.sqrt(c * float(a.var(ddof=1) / b.var(ddof=1)))
    low = _root(lambda log_ratio: statistic(math.exp(log_ratio)) - z, math.log(centre), -1)
    high = _root(lambda log_ratio: statistic(math.exp(log_ratio)) + z, math.log(centre), 1)
    if low is None or high is None:
        return Interval(level=level, method=METHOD, reason="every ratio agrees with these few values")
    return Interval(low=math.exp(low), high=math.exp(high), level=level, method=METHOD)


def bonett_statistic(a: Floats, b: Floats, z: float) -> Callable[[float], float]:
    """Return the function of a ratio that is normal, about, where the ratio is the true one."""
    n, m = a.size, b.size
    var_a, var_b = float(a.var(ddof=1)), float(b.var(ddof=1))
    fourth_a, fourth_b = float(((a - bonett_centre(a)) ** 4).sum()), float(((b - bonett_centre(b)) ** 4).sum())
    c = n / (n - z) * (m - z) / m

    def statistic(ratio: float) -> float:
        squares = (n - 1) * var_a + ratio**2 * (m - 1) * var_b
        kurtosis = (n + m) * (fourth_a + ratio**4 * fourth_b) / squares**2
        variance = (kurtosis - (n - 3) / n) / (n - 1) + (kurtosis - (m - 3) / m) / (m - 1)
        return math.log(c * var_a / (ratio**2 * var_b)) / math.sqrt(variance)

    return statistic


def _root(function: Callable[[float], float], start: float, sign: int) -> float | None:
    """Find where the function first crosses zero, going from `start` up or down in steps."""
    step, before = 0.1, start
    while abs(before - start) < math.log(_FARTHEST):
        after = before + sign * step
        if function(before) * function(after) <= 0:
            return float(scipy.optimize.brentq(function, min(before, after), max(before, after), xtol=1e-13))
        before = after
    return None
