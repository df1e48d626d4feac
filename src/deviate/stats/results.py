"""The results of tests and effects, a pair of samples on one scale, and the fewest runs that allow a verdict."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import comb
from typing import SupportsFloat

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from deviate.stats.intervals import MOST_RUNS, Interval
from deviate.stats.spread import Floats, common_scale, finite_sample, is_identical


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a test, or the reason why there is none."""

    statistic: float | None = None
    #: Two-sided, in [0, 1].
    p: float | None = None
    #: How p was computed, where there is more than one way.
    method: str = ""
    #: Empty where p is known.
    reason: str = ""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a difference with its confidence interval; None where unknown."""

    value: float | None = None
    interval: Interval
    #: Why the value is unknown; the interval has a reason of its own.
    reason: str = ""

    @property
    def negated(self) -> Effect:
        """The same of the second side less the first."""
        value = None if self.value is None else -self.value
        return msgspec.structs.replace(self, value=value, interval=self.interval.negated)

    @property
    def inverted(self) -> Effect:
        """The same of the second side over the first, of a ratio above 0."""
        value = 1 / self.value if self.value else None
        return msgspec.structs.replace(self, value=value, interval=self.interval.inverted)

    @property
    def complement(self) -> Effect:
        """The same of the second side, of a probability that one of both has."""
        interval = self.interval.negated
        if interval.low is not None and interval.high is not None:
            interval = msgspec.structs.replace(interval, low=1 + interval.low, high=1 + interval.high)
        return msgspec.structs.replace(self, value=None if self.value is None else 1 - self.value, interval=interval)


def unknown_effect(reason: str, level: float, method: str) -> Effect:
    """Return an effect whose value and interval are unknown for one reason."""
    return Effect(interval=Interval(level=level, method=method, reason=reason), reason=reason)


class TwoSamples(msgspec.Struct, frozen=True, kw_only=True):
    """Two samples on one scale, on which no square overflows or vanishes."""

    #: Values of each side divided by ``2**exponent``, shapes ``(n_a,)`` and ``(n_b,)``.
    a: Floats
    b: Floats
    exponent: int
    #: Why no test can be made; empty where one can.
    reason: str = ""

    def back(self, value: float) -> float:
        """Return a number of the common scale in the unit of the values; infinite where it is too large."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, self.exponent))


def two_samples(a: ArrayLike, b: ArrayLike) -> TwoSamples:
    """Bring two samples to one scale and say whether they can be tested against each other.

    Raises
    ------
    ValueError
        If a value is not finite.
    """
    (first, second), exponent = common_scale([finite_sample(a), finite_sample(b)])
    return TwoSamples(a=first, b=second, exponent=exponent, reason=_why_untestable(first, second))


def _why_untestable(a: Floats, b: Floats) -> str:
    if min(a.size, b.size) < 2:
        return "a test needs two runs or more of each"
    if is_identical(a) and is_identical(b):
        return "the runs of each gave exactly the same value, so nothing shows how much runs vary"
    return ""


def outcome(statistic: SupportsFloat, p: SupportsFloat, method: str = "", *, why_not: str = "") -> Tested:
    """Return a test whose statistic and p are known, or else the reason `why_not`."""
    value, probability = float(statistic), float(p)
    if not (math.isfinite(value) and math.isfinite(probability)):
        return Tested(reason=why_not or "the statistic is not finite for these values")
    return Tested(statistic=value, p=min(max(probability, 0.0), 1.0), method=method)


class StudentT(msgspec.Struct, frozen=True, kw_only=True):
    """A mean or a difference of means with its standard error, which has a t distribution."""

    value: float
    error: float
    freedom: float

    @property
    def tested(self) -> Tested:
        """The two-sided test against zero."""
        with np.errstate(all="ignore"):
            t = np.divide(self.value, self.error)
        return outcome(t, 2 * special.stdtr(self.freedom, -abs(t)))

    def ends(self, level: float) -> tuple[float, float]:
        """Return the ends of the confidence interval."""
        half = float(special.stdtrit(self.freedom, (1 + level) / 2)) * self.error
        return self.value - half, self.value + half

    def interval(self, level: float, method: str) -> Interval:
        """Return the confidence interval."""
        low, high = self.ends(level)
        return Interval(low=low, high=high, level=level, method=method)


def student_of_one(values: Floats) -> StudentT:
    """Return the mean of values, or of differences within pairs, with its error; two values at least."""
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    return StudentT(value=float(values.mean()), error=error, freedom=values.size - 1)


def student_of_two(a: Floats, b: Floats, *, equal_var: bool = False) -> StudentT:
    """Return the difference of two means with Welch's error, or with that of the pooled SD; two values at least."""
    value, freedom = float(a.mean() - b.mean()), a.size + b.size - 2
    first, second = float(a.var(ddof=1)), float(b.var(ddof=1))
    if equal_var:
        pooled = ((a.size - 1) * first + (b.size - 1) * second) / freedom
        return StudentT(value=value, error=math.sqrt(pooled * (1 / a.size + 1 / b.size)), freedom=freedom)
    return welch(value, (first / a.size, a.size), (second / b.size, b.size))


def welch(value: float, *sides: tuple[float, int]) -> StudentT:
    """Return a difference whose sides each have a squared error and a number of runs [1]_.

    References
    ----------
    .. [1] B. L. Welch, "The generalization of 'Student's' problem when several different population variances are
       involved", Biometrika 34, 1947.
    """
    errors, runs = np.array(sides).T
    squared = errors.sum()
    with np.errstate(all="ignore"):
        freedom = float(squared**2 / (errors**2 / (runs - 1)).sum())
    return StudentT(value=value, error=math.sqrt(squared), freedom=freedom)


def one_sided(tested: Tested) -> tuple[float | None, float | None]:
    """Return p against the difference being at most zero, and at least zero."""
    if tested.p is None or tested.statistic is None:
        return None, None
    half = tested.p / 2
    return (half, 1 - half) if tested.statistic > 0 else (1 - half, half)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings of libraries where the result itself says it: constant sides, cancellation, division by zero."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


# Limits of small numbers of runs: smallest p, fewest runs.

#: Below this many runs per side no verdict is given. With 3 no rank test can reach 0.05 at all, with 4 only if the
#: sides do not overlap; and with fewer than 5 a test easily shows that an algorithm differs from itself [1]_.
#:
#: .. [1] P. Henderson et al., "Deep reinforcement learning that matters", AAAI 2018.
VERDICT_RUNS = 5


def smallest_p(n: int, m: int, *, paired: bool = False) -> float:
    """Give the smallest two-sided p that a rank or permutation test can reach.

    ``2 / comb(n + m, n)``: the most extreme arrangement and its mirror image among all that are equally likely where
    nothing differs; ``2 / 2**n`` for pairs. In (0, 1].

    Examples
    --------
    >>> smallest_p(3, 3), round(smallest_p(4, 4), 3), round(smallest_p(5, 5), 4), smallest_p(5, 5, paired=True)
    (0.1, 0.029, 0.0079, 0.0625)
    """
    return min(1.0, 2 / 2**n if paired else 2 / comb(n + m, n))


def fewest_runs(alpha: float) -> int:
    """Give the number of runs per side below which no verdict is given.

    That is `VERDICT_RUNS`, or more where even sides that do not overlap cannot reach `alpha` in a rank test.

    Examples
    --------
    >>> fewest_runs(0.05), fewest_runs(0.001)
    (5, 7)
    """
    return next(n for n in range(VERDICT_RUNS, MOST_RUNS) if smallest_p(n, n) <= alpha)
