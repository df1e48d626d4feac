"""How often a run of one side beats a run of the other."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from deviate.contrast.results import Effect, unknown_effect
from deviate.measure.intervals import DEFAULT_LEVEL, Interval
from deviate.measure.sample import finite_sample

METHOD = "Newcombe 5"

#: A difference that is shown matters if the interval of the probability that a run of the better side wins reaches
#: beyond this: the rule of [1]_, who call it meaningful.
#:
#: .. [1] X. Bouthillier et al., "Accounting for variance in machine learning benchmarks", MLSys 2021.
MEANINGFUL = 0.75


def p_superiority(a: ArrayLike, b: ArrayLike, level: float = DEFAULT_LEVEL) -> Effect:
    """Give the probability that a run of `a` has a higher value than one of `b`, ties counted half.

    ``U / (n_a n_b)``, in [0, 1]. The interval holds the theta with ``(theta - estimate)**2 <= z**2 V(theta)``, where
    ``V(theta) = theta (1-theta) (1 + N ((1-theta)/(2-theta) + theta/(1+theta))) / (n_a n_b)`` and
    ``N = (n_a + n_b) / 2 - 1`` [1]_. At 95 % it covers 93 to 97 % for equal numbers of runs
    (``benchmarks/statistics``), also where the sides do not overlap, where the intervals of Brunner and Munzel and of
    the bootstrap have no width; less where both numbers and SDs are unequal.

    References
    ----------
    .. [1] R. G. Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2:
       asymptotic methods and evaluation", Statistics in Medicine 25, 2006.

    Examples
    --------
    >>> effect = p_superiority([4.0, 5.0, 6.0], [1.0, 2.0, 4.0])
    >>> round(effect.value, 3), round(effect.interval.low, 2)
    (0.944, 0.45)
    """
    first, second = finite_sample(a), finite_sample(b)
    if min(first.size, second.size) < 2:
        return unknown_effect("it needs two runs or more of each", level, METHOD)
    # Compared, not subtracted: the difference of two numbers of 64 bits may be larger than any.
    above, below = np.greater.outer(first, second).mean(), np.less.outer(first, second).mean()
    value = float((1 + above - below) / 2)
    low, high = newcombe_ends(value, first.size, second.size, level)
    return Effect(value=value, interval=Interval(low=low, high=high, level=level, method=METHOD))


def cliff_delta(a: ArrayLike, b: ArrayLike, level: float = DEFAULT_LEVEL) -> Effect:
    """Give ``P(a > b) - P(a < b)``, in [-1, 1]: twice `p_superiority` less one, and so its interval.

    References
    ----------
    .. [1] N. Cliff, "Dominance statistics: ordinal analyses to answer ordinal questions", Psychological Bulletin 114,
       1993.

    Examples
    --------
    >>> round(cliff_delta([4.0, 5.0, 6.0], [1.0, 2.0, 4.0]).value, 3)
    0.889
    """
    effect = p_superiority(a, b, level)
    low, high = effect.interval.low, effect.interval.high
    if effect.value is None or low is None or high is None:
        return effect
    interval = Interval(low=2 * low - 1, high=2 * high - 1, level=level, method=METHOD)
    return Effect(value=2 * effect.value - 1, interval=interval)


def newcombe_ends(estimate: float, n: int, m: int, level: float) -> tuple[float, float]:
    """Solve for the ends of the interval; an end beside an estimate of 0 or 1 is 0 or 1."""
    z = float(special.ndtri((1 + level) / 2))

    def excess(theta: float) -> float:
        half = (n + m) / 2 - 1
        bracket = 1 + half * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return (theta - estimate) ** 2 - z**2 * theta * (1 - theta) * bracket / (n * m)

    low = float(scipy.optimize.brentq(excess, 0.0, estimate, xtol=1e-14)) if 0 < estimate < 1 else estimate
    high = float(scipy.optimize.brentq(excess, estimate, 1.0, xtol=1e-14)) if 0 < estimate < 1 else estimate
    if estimate == 1:
        low = float(scipy.optimize.brentq(lambda theta: excess(theta) / (1 - theta), 0.0, 1 - 1e-12, xtol=1e-14))
    if estimate == 0:
        high = float(scipy.optimize.brentq(lambda theta: excess(theta) / theta, 1e-12, 1.0, xtol=1e-14))
    return low, high
