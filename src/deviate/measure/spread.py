"""How much the runs of one sample differ."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.sample import Floats, finite_sample, is_identical, trimmed_mean, unit_scale

#: A mean nearer to zero than this many standard deviations makes CV = sd / mean a ratio of noise to noise: the CV of
#: repeated draws is then itself unbounded, because the sampled mean may come arbitrarily near zero [1]_.
#:
#: .. [1] G. Marsaglia, "Ratios of normal variables", Journal of Statistical Software 16(4), 2006.
SDS_FROM_ZERO = 1.0

#: Two normal values of one SD differ by less than so many SDs in 95 % of cases: 1.96 times the root of 2, the
#: repeatability limit of ISO 5725-6:1994.
REPEATABILITY = 1.96 * 2**0.5

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

    @property
    def repeatability(self) -> float | None:
        """Difference below which two runs lie in 95 % of cases, if values are normal; None where the SD is unknown."""
        return None if self.sd is None else REPEATABILITY * self.sd


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
