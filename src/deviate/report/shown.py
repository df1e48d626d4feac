"""How numbers are written for people: one place for all writers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from deviate.collect.measured import TIME_PER_RUN
from deviate.measure.intervals import Interval
from deviate.report.parts import MetricReport, VariantSpread

#: Digits of a standard deviation that are shown. The SD of n runs has a relative error near ``1 / sqrt(2 (n - 1))``
#: (27 % for 8 runs), so a third digit would be noise [1]_.
#:
#: .. [1] JCGM 100:2008, "Guide to the expression of uncertainty in measurement", sections 7.2.6 and E.4.
SD_DIGITS = 2

#: Digits of a number that has no SD to say how many are worth showing.
PLAIN_DIGITS = 6

#: The same in a table for print, where no other row says it.
PRINT_DIGITS = 4

#: Power of ten of the last digit worth showing, by name and aggregate of a metric; None: nothing says.
Places = Mapping[tuple[str, str], int | None]

#: Outside these magnitudes numbers are written with an exponent.
FIXED_FROM, FIXED_BELOW = 1e-4, 1e7

#: A float64 has 15 to 17 significant digits.
MOST_DIGITS = 15

UNKNOWN = "–"


def last_place(sd: float | None) -> int | None:
    """Give the power of ten of the last digit worth showing beside `sd`; None where nothing says.

    Examples
    --------
    >>> last_place(0.534), last_place(0.0996), last_place(0.0)
    (-2, -2, None)
    """
    if not sd:
        return None
    return _exponent(sd, SD_DIGITS) - SD_DIGITS + 1


def show(value: float | None, place: int | None = None, digits: int = PLAIN_DIGITS) -> str:
    """Write a number down to the digit of weight ``10**place``; without a place, of at most `digits` digits.

    Examples
    --------
    >>> show(96.9371, -2), show(96.9371), show(None), show(1.23456e-12, -14), show(3e-9, -2)
    ('96.94', '96.9371', '–', '1.23e-12', '0.00')
    >>> show(96.9371, digits=4), show(0.5, digits=4), show(60000.0, digits=4)
    ('96.94', '0.5', '60000')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if place is None:
        # No digit before the point is lost in a number that is written without exponent.
        whole = min(len(f"{abs(value):.0f}"), PLAIN_DIGITS) if abs(value) < 10.0**PLAIN_DIGITS else 0
        return _tidy(f"{value:.{max(digits, whole)}g}")
    if FIXED_FROM <= abs(value) < FIXED_BELOW or abs(value) < 10.0**place:
        return _unsigned_zero(f"{value:.{max(-place, 0)}f}")
    # Rounding may add a digit in front: 9.96 to one decimal is 10.0.
    rough = max(_exponent(value, MOST_DIGITS) - place, 0)
    digits = min(max(_exponent(value, rough + 1) - place, 0), MOST_DIGITS)
    return _tidy(f"{value:.{digits}e}")


def show_percent(share: float | None) -> str:
    """Write a share as a percentage of two significant digits.

    Examples
    --------
    >>> show_percent(0.1312), show_percent(0.0055), show_percent(1.0), show_percent(0.0), show_percent(2e-9)
    ('13%', '0.55%', '100%', '0%', '2e-7%')
    """
    if share is None:
        return UNKNOWN
    percent = 100 * share
    return f"{percent:.0f}%" if percent >= 99.5 else f"{_tidy(f'{percent:.2g}')}%"


def show_interval(interval: Interval, place: int | None) -> str:
    """Write an interval as ``low–high``, with ``to`` between signed numbers."""
    if not interval.known:
        return UNKNOWN
    low, high = show(interval.low, place), show(interval.high, place)
    return f"{low} to {high}" if "-" in f"{low}{high}" else f"{low}–{high}"


def show_level(level: float) -> str:
    """Write a confidence level.

    Examples
    --------
    >>> show_level(0.95), show_level(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:.10g}%"


def show_seconds(seconds: float | None) -> str:
    """Write a duration of a run.

    Examples
    --------
    >>> show_seconds(3.14159), show_seconds(754.2), show_seconds(9000)
    ('3.1 s', '12 min 34 s', '2 h 30 min')
    """
    if seconds is None:
        return UNKNOWN
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


class Shown:
    """The numbers of one metric as text, all to the digit its SD allows.

    Parameters
    ----------
    metric : MetricReport
        What was measured.
    alike : Places, optional
        For print: to which digit the same metric is written elsewhere, where its own SD says nothing.
    """

    def __init__(self, metric: MetricReport, alike: Places | None = None) -> None:
        found = metric.spread
        place, digits = _precision(found.sd, metric.name, metric.aggregate, alike)

        def shown(value: float | None) -> str:
            return show(value, place, digits)

        self.name = f"{metric.name} ({metric.unit})" if metric.unit else metric.name
        # The time of a run is one number already.
        self.aggregate = "" if metric.name == TIME_PER_RUN else metric.aggregate
        self.unit = f" {metric.unit}" if metric.unit else ""
        self.n = str(found.n)
        self.mean, self.sd, self.cv = shown(found.mean), shown(found.sd), show_percent(found.cv)
        self.min, self.max, self.range = shown(found.min), shown(found.max), shown(found.range)
        self.median, self.iqr = shown(found.median), shown(found.iqr)
        self.ci_mean = show_interval(metric.ci_mean, place)
        self.ci_sd = show_interval(metric.ci_sd, place)


class ShownSpread:
    """How much the runs of one variant differ in a metric, as text.

    Parameters
    ----------
    row : VariantSpread
        What was measured.
    others : sequence of VariantSpread, optional
        For print: the variants beside it, whose digits it takes where its own SD says nothing.
    """

    def __init__(self, row: VariantSpread, others: Sequence[VariantSpread] | None = None) -> None:
        place, digits = last_place(row.sd), PLAIN_DIGITS
        if others is not None and place is None:
            place, digits = finest(other.sd for other in others), PRINT_DIGITS
        self.n = str(row.n)
        self.mean, self.sd = show(row.mean, place, digits), show(row.sd, place, digits)
        self.ci_sd = show_interval(row.ci_sd, place)
        self.relative = show_percent(row.relative)


def finest(sds: Iterable[float | None]) -> int | None:
    """Give the last place worth showing beside the smallest SD above zero; None where there is none.

    Examples
    --------
    >>> finest([2.3, 0.89, 0.0, None]), finest([0.0])
    (-2, None)
    """
    return last_place(min((sd for sd in sds if sd), default=None))


def places(metrics: Iterable[MetricReport]) -> Places:
    """Return the last place worth showing of each metric by the variants in which its runs differ."""
    found: dict[tuple[str, str], list[float | None]] = {}
    for metric in metrics:
        found.setdefault((metric.name, metric.aggregate), []).append(metric.spread.sd)
    return {key: finest(sds) for key, sds in found.items()}


def _precision(sd: float | None, name: str, aggregate: str, alike: Places | None) -> tuple[int | None, int]:
    """Return the place of the last digit; where there is none, how many digits are written."""
    if alike is None or sd:
        return last_place(sd), PLAIN_DIGITS
    return alike.get((name, aggregate)), PRINT_DIGITS


def _exponent(value: float, digits: int) -> int:
    """Give the power of ten of the first digit, after rounding to `digits` digits."""
    return int(f"{abs(value):.{digits - 1}e}".partition("e")[2])


def _tidy(text: str) -> str:
    """Write ``1e-07`` as ``1e-7`` and ``1e+12`` as ``1e12``."""
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else text


def _unsigned_zero(text: str) -> str:
    return text.removeprefix("-") if not text.strip("-0.") else text
