"""How large a spread is beside a difference that someone claims, and how often it would hide that difference."""

from __future__ import annotations

import math

import msgspec
from scipy import special

from deviate.measure.intervals import Interval


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
