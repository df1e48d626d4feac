"""How much the runs of one sample differ, or repeated measurements of one run; what a finite test set tells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

# Samples: one aggregated number per run.

Floats = NDArray[np.float64]


def finite_sample(sample: ArrayLike) -> Floats:
    """Return `sample` as an array of finite float64.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One value per run; ``n`` may be 0.

    Raises
    ------
    ValueError
        If a value is NaN or infinite, or if `sample` is not one-dimensional.
    """
    values = _one_dimensional(sample)
    if not np.isfinite(values).all():
        raise ValueError("the sample holds NaN or infinite values; exclude and count them first")
    return values


def without_offset(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Take from both a value near all of theirs, where that is exact (Sterbenz, 1974) and sums are not: beyond 2^50."""
    offset = float(a[0]) if a.size and b.size else 0.0
    is_exact = 2.0**50 < abs(offset) < 2.0**64 and all(np.abs(v - offset).max() <= abs(offset) / 2 for v in (a, b))
    return (a - offset, b - offset) if is_exact else (a, b)


def is_identical(values: Floats) -> bool:
    """Tell whether all values are exactly equal (false for fewer than two).

    Examples
    --------
    >>> is_identical(np.array([0.1, 0.1, 0.1])), is_identical(np.array([0.1]))
    (True, False)
    """
    return bool(values.size > 1 and values.min() == values.max())


def unit_scale(values: Floats) -> tuple[Floats, int]:
    """Scale values by a power of two to magnitudes up to 1, so that no square of them overflows or vanishes.

    Returns
    -------
    scaled : ndarray of float64, shape (n,)
        ``values / 2**exponent``, exact for normal floats.
    exponent : int
        0 for a sample of zeros.
    """
    _, exponents = np.frexp(np.abs(values).max(initial=0.0))
    exponent = int(exponents)
    return np.ldexp(values, -exponent), exponent


def common_scale(samples: Sequence[Floats]) -> tuple[list[Floats], int]:
    """Scale several samples by one power of two, see `unit_scale`."""
    scaled, exponent = unit_scale(np.concatenate(samples))
    return np.split(scaled, np.cumsum([sample.size for sample in samples])[:-1]), exponent


def trimmed_mean(values: Floats, share: float) -> float:
    """Give the mean of values without a share of them, rounded down to whole values, at each end."""
    left_out = int(share * values.size)
    return float(np.sort(values)[left_out : values.size - left_out].mean())


def _one_dimensional(sample: ArrayLike) -> Floats:
    values = np.asarray(sample, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"a sample has shape (n_runs,); this one has shape {values.shape}")
    return values


#: A mean nearer to zero than this many standard deviations makes CV = sd / mean a ratio of noise to noise: the CV of
#: repeated draws is then itself unbounded, because the sampled mean may come arbitrarily near zero [1]_.
#:
#: .. [1] G. Marsaglia, "Ratios of normal variables", Journal of Statistical Software 16(4), 2006.
SDS_FROM_ZERO = 1.0

#: Share of the values that a trimmed mean leaves out at each end.
TRIMMED = 0.2


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Location and spread of one sample, in the unit of its values; None where a number is unknown."""

    n: int
    mean: float | None = None
    #: Standard deviation with divisor ``n - 1``.
    sd: float | None = None
    #: ``sd / mean``, a share (0.05 is 5 %).
    cv: float | None = None
    min: float | None = None
    max: float | None = None
    #: ``max - min``; grows with n, so never compare it between samples of unequal n.
    range: float | None = None
    median: float | None = None
    #: Mean without the lowest and the highest `TRIMMED` of the values: runs far from the others do not move it.
    trimmed_mean: float | None = None
    #: 75 % quantile minus 25 % quantile, linear interpolation.
    iqr: float | None = None
    #: Why a statistic is None, by the statistic's name.
    withheld: dict[str, str] = {}
    #: All values (two or more) are exactly equal.
    identical: bool = False


def spread(sample: ArrayLike, *, ratio_scale: bool = False) -> Spread:
    """Measure location and spread of one sample.

    What one run cannot tell (SD, CV, IQR) is None for ``n < 2``, everything for ``n = 0``, each with its reason.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One finite value per run; the caller excludes and counts runs that diverged.
    ratio_scale : bool, optional
        The metric is known to have a true zero, as times and amounts have: then a CV means something however large
        it is. Otherwise it is withheld where the mean is within one SD of zero.

    Raises
    ------
    ValueError
        If a value is not finite.

    Notes
    -----
    The SD estimates that of the population of identical runs. It is biased low by the factor ``c4(n)`` for normal
    values (0.886 for n = 3), and not corrected, as is the custom of the field.

    Examples
    --------
    >>> measured = spread([96.0, 97.0, 98.0])
    >>> measured.mean, measured.sd, round(measured.cv, 4), measured.range
    (97.0, 1.0, 0.0103, 2.0)
    >>> spread([96.0]).withheld["sd"]
    'one run has no spread'
    >>> spread([-1.0, 2.0]).cv is None
    True
    """
    values = finite_sample(sample)
    if values.size == 0:
        return Spread(n=0, withheld=dict.fromkeys(_ALL, "no run gave a finite value"))
    if values.size == 1:
        return _single(float(values[0]))
    return _several(values, ratio_scale)


_ALL = ("mean", "sd", "cv", "min", "max", "range", "median", "iqr", "trimmed_mean")
_NEEDS_TWO = ("sd", "cv", "range", "iqr")


def _single(value: float) -> Spread:
    reasons = dict.fromkeys(_NEEDS_TWO, "one run has no spread")
    return Spread(n=1, mean=value, min=value, max=value, median=value, trimmed_mean=value, withheld=reasons)


def _several(values: Floats, ratio_scale: bool) -> Spread:
    scaled, exponent = unit_scale(values)
    low, high = scaled.min(), scaled.max()
    same = is_identical(values)
    # Rounding can put the mean of equal values beside them, and give them a spread of 1e-17.
    mean = low if same else np.clip(scaled.mean(), low, high)
    sd = 0.0 if same else scaled.std(ddof=1)
    cv, reason = _coefficient_of_variation(float(mean), float(sd), float(low), ratio_scale)
    numbers = {
        "mean": mean,
        "sd": sd,
        "min": low,
        "max": high,
        "range": high - low,
        "median": np.median(scaled),
        "iqr": np.subtract(*np.percentile(scaled, [75, 25])),
        "trimmed_mean": low if same else np.clip(trimmed_mean(scaled, TRIMMED), low, high),
    }
    known, too_large = _rescaled(numbers, exponent)
    withheld = {**({"cv": reason} if reason else {}), **too_large}
    return Spread(n=values.size, cv=cv, withheld=withheld, identical=same, **known)


def _rescaled(numbers: dict[str, float], exponent: int) -> tuple[dict[str, float | None], dict[str, str]]:
    with np.errstate(over="ignore", under="ignore"):
        back = {name: float(np.ldexp(number, exponent)) for name, number in numbers.items()}
    finite = {name: number if np.isfinite(number) else None for name, number in back.items()}
    reasons = {name: "larger than a 64-bit float can hold" for name, number in finite.items() if number is None}
    return finite, reasons


def _coefficient_of_variation(mean: float, sd: float, lowest: float, ratio_scale: bool) -> tuple[float | None, str]:
    if lowest < 0:
        return None, "values below zero, so the metric is not a ratio scale"
    if mean == 0:
        return None, "the mean is zero"
    if mean < SDS_FROM_ZERO * sd and not ratio_scale:
        return None, "the mean is within one SD of zero"
    return sd / mean, ""


#: Percent is 100 times a fraction; the recipes may differ too, so ratios of means within a factor of two are taken
#: for it.
FEWEST_TIMES, MOST_TIMES = 50, 200


def is_hundredfold(fractions: Sequence[float], percents: Sequence[float]) -> bool:
    """Tell whether values look like fractions (in 0 to 1) and others like percent of the same (in 1 to 100).

    Examples
    --------
    >>> is_hundredfold([0.97, 0.96], [97.5]), is_hundredfold([0.97, 0.96], [1.0])
    (True, False)
    """
    if not (len(fractions) and len(percents)) or min(fractions) < 0 or max(fractions) > 1:
        return False
    if min(percents) < 1 or max(percents) > 100:
        return False
    small, large = float(np.mean(fractions)), float(np.mean(percents))
    return FEWEST_TIMES * small <= large <= MOST_TIMES * small


# How much repeated measurements of one run differ, pooled over runs.


def within_sd(groups: Iterable[Sequence[float]]) -> float | None:
    """Return the pooled SD of measurements within groups: the square root of the mean square within.

    Parameters
    ----------
    groups : iterable of sequence of float
        The measurements of each run; groups of one tell nothing and are passed over.

    Returns
    -------
    float or None
        At least 0, in the unit of the measurements; None where no group has two. NaN where a measurement is.

    References
    ----------
    .. [1] R. A. Fisher, *Statistical Methods for Research Workers*, 1925: the mean square within groups of an analysis
       of variance.

    Examples
    --------
    >>> within_sd([[1.0, 3.0], [5.0, 5.0], [7.0]])
    1.0
    """
    several = [np.asarray(group, dtype=float) for group in groups if len(group) > 1]
    if not several:
        return None
    # The mean of equal measurements may be off by a rounding.
    differing = [group for group in several if (group != group[0]).any()]
    squares = math.fsum(float(((group - group.mean()) ** 2).sum()) for group in differing)
    return math.sqrt(squares / sum(len(group) - 1 for group in several))


# What a finite test set alone lets a metric tell.


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """How finely a share of correct answers can be measured on `examples` test examples."""

    examples: int
    #: What one example is worth: ``full / examples``, in the unit of the metric.
    step: float
    #: Binomial standard error of one run's value, in the unit of the metric.
    standard_error: float


def resolution(accuracy: float, examples: int, full: float = 1.0) -> Resolution:
    """Give the binomial standard error of an accuracy and what one test example is worth.

    ``full / examples`` and ``full * sqrt(p * (1 - p) / examples)`` with ``p = accuracy / full``.

    Parameters
    ----------
    accuracy : float
        In ``[0, full]``.
    examples : int
        Size of the test set, 1 or more.
    full : float, optional
        The accuracy of a perfect model: 1, or 100 where accuracy is a percentage.

    Notes
    -----
    The standard error answers how far this accuracy may lie from that on all data of the kind. Most of the spread
    between identical runs is of this size, as their errors are nearly independent across examples [1]_.

    References
    ----------
    .. [1] K. Jordan, "On the variance of neural network training with respect to test sets and distributions",
       arXiv:2304.01910.

    Examples
    --------
    >>> measured = resolution(90.0, examples=400, full=100.0)
    >>> measured.step, round(measured.standard_error, 6)
    (0.25, 1.5)
    """
    if examples < 1:
        raise ValueError(f"a test set has 1 example or more, not {examples}")
    share = accuracy / full
    if not 0 <= share <= 1:
        raise ValueError(f"an accuracy lies between 0 and {full:g}; got {accuracy:g}")
    standard_error = full * math.sqrt(share * (1 - share) / examples)
    return Resolution(examples=examples, step=full / examples, standard_error=standard_error)


class FiniteTest(msgspec.Struct, frozen=True, kw_only=True):
    """How a spread between runs compares with what the finite test set does by itself."""

    #: Binomial standard error of one run's value, in the unit of the metric.
    standard_error: float
    #: The SD between runs in units of that error, 0 or more.
    sd_in_errors: float | None
    #: Largest share of the variance between runs that the finite test set can account for, in [0, 1].
    share_at_most: float | None


def finite_test(sd: float, resolved: Resolution) -> FiniteTest:
    """Compare the SD between runs with the binomial standard error of the test set.

    ``sd / SE`` and ``min(1, (SE / sd)**2)``; both None where they are not defined (an SE or an SD of zero).

    Parameters
    ----------
    sd : float
        Standard deviation between runs, in the unit of the metric.
    resolved : Resolution
        Of their mean accuracy.

    Notes
    -----
    Let run after run be right on example i with probability q_i, independently across examples. The variance between
    runs on *this* test set is ``sum(q_i (1 - q_i)) / n**2``, which is at most ``p (1 - p) / n``, the squared binomial
    SE of the mean accuracy p, because q (1 - q) is concave. So the share is an upper bound: examples that every run
    gets right or wrong take no part. An SD above the SE shows that errors of a run go together across examples: the
    models differ as wholes, and no larger test set will take that away [1]_.

    References
    ----------
    .. [1] K. Jordan, "On the variance of neural network training with respect to test sets and distributions",
       arXiv:2304.01910.

    Examples
    --------
    >>> finite_test(3.0, resolution(90.0, examples=400, full=100.0))
    FiniteTest(standard_error=1.5, sd_in_errors=2.0, share_at_most=0.25)
    """
    error = resolved.standard_error
    return FiniteTest(
        standard_error=error,
        sd_in_errors=sd / error if error > 0 else None,
        share_at_most=min(1.0, (error / sd) ** 2) if sd > 0 else None,
    )
