"""How numbers are written for people: one place for all sentences, tables and figures.

What depends on alpha is written by a `Numbers` that knows it, so that no p-value is rounded to what it is not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from deviate.stats.intervals import Interval
    from deviate.stats.results import Effect


#: Digits of a standard deviation that are shown. The SD of n runs has a relative error near ``1 / sqrt(2 (n - 1))``
#: (27 % for 8 runs), so a third digit would be noise [1]_.
#:
#: .. [1] JCGM 100:2008, "Guide to the expression of uncertainty in measurement", sections 7.2.6 and E.4.
SD_DIGITS = 2

#: Digits of a number that has no SD to say how many are worth showing.
PLAIN_DIGITS = 6

#: Outside these magnitudes numbers are written with an exponent.
FIXED_FROM, FIXED_BELOW = 1e-4, 1e7

#: Numbers whose last digit has this power of ten or a larger one have no exponent for being small: an SD stands beside
#: its mean.
FIXED_PLACE = -6

#: A float64 has 15 to 17 significant digits.
MOST_DIGITS = 15

UNKNOWN = "–"

#: Seconds below which a duration needs two digits to be more than zero.
SHORT = 0.095

#: A p below this is written as being below it.
SMALLEST_SHOWN_P = 1e-3

#: Digits of an SD behind its point, leading zeros aside, up to which a metric keeps the decimals of the program.
MOST_SD_DIGITS = 3

#: Digits of a p that is all but alpha.
MOST_P_DIGITS = 6

#: Ratios and statistics of more figures than this before the point are written with an exponent.
MOST_FIGURES = 4

#: Of ratios and effects.
_EFFECT_DIGITS = 2

#: Ratios and effects from one of these to below the other have two decimals.
_TWO_DECIMALS = 0.05, 100.0

#: Shares of examples below half of this, the last digit that is written, are written as being below it.
LEAST_SHARE = 1e-3
SMALLEST_SHARE = LEAST_SHARE / 2

_SIGN = re.compile(r"(?<![\w.)\]])-(?=\d)")


class Numbers(msgspec.Struct, frozen=True):
    """What is written with regard to alpha, the share of wrong claims.

    >>> numbers = Numbers(0.01)
    >>> numbers.p(0.00999), numbers.p(0.01), numbers.p(0.0504), numbers.level()
    ('0.00999', '0.010', '0.050', '99%')
    """

    alpha: float

    def p(self, p: float | None) -> str:
        """Write a p-value with two significant digits, and with more where two would make it look like alpha.

        >>> numbers = Numbers(0.05)
        >>> [numbers.p(p) for p in (0.01234, 1e-7, 1.0, 0.05, 0.0504, None)]
        ['0.012', '<0.001', '1.0', '0.050', '0.0504', '–']
        """
        if p is None:
            return UNKNOWN
        if p < (smallest := min(SMALLEST_SHOWN_P, self.alpha)):
            return f"<{smallest:g}"
        texts = [significant(p, digits) for digits in range(2, MOST_P_DIGITS + 1)]
        return next((text for text in texts if p == self.alpha or float(text) != self.alpha), texts[0])

    def compared_p(self, p: float | None) -> str:
        """Write a p-value with the sign before it.

        >>> [Numbers(0.05).compared_p(p) for p in (0.0213, 1e-9, 0.0504, None)]
        ['= 0.021', '< 0.001', '= 0.0504', '–']
        """
        text = self.p(p)
        return f"< {text[1:]}" if text.startswith("<") else text if text == UNKNOWN else f"= {text}"

    def equal_p(self, p: float | None, correction: str, family: int) -> str:
        """Write ``p = 0.003``, and where it was adjusted after what.

        >>> numbers = Numbers(0.05)
        >>> numbers.equal_p(0.003, "holm", 12), numbers.equal_p(1e-7, "holm", 1), numbers.equal_p(0.2, "none", 6)
        ('p = 0.0030 after Holm', 'p < 0.001', 'p = 0.20')
        """
        from deviate.stats.multiplicity import CORRECTION_NAMES

        after = "" if correction == "none" or family < 2 else f" after {CORRECTION_NAMES[correction]}"
        return f"p {self.compared_p(p) if p is not None else f'= {UNKNOWN}'}{after}"

    def level(self) -> str:
        """Write the confidence level that goes with alpha."""
        return show_level(1 - self.alpha)


def last_place(sd: float | None) -> int | None:
    """Give the power of ten of the last digit worth showing beside `sd`; None where nothing says.

    >>> last_place(0.534), last_place(0.0996), last_place(0.0)
    (-2, -2, None)
    """
    if not sd or not math.isfinite(sd):
        return None
    return _exponent(sd, SD_DIGITS) - SD_DIGITS + 1


def metric_place(decimals: int | None, *sds: float | None) -> int | None:
    """Give the power of ten of the last digit of a metric beside its SDs: that which the program writes.

    Another one where the smallest SD would have no digit there or more than `MOST_SD_DIGITS` behind the point; None
    where nothing says.

    >>> metric_place(2, 0.76, 0.41), metric_place(4, 0.0136), metric_place(2, 30.34), metric_place(2, 0.0)
    (-2, -4, -2, -2)
    >>> metric_place(1, 0.012), metric_place(6, 0.0136), metric_place(None, 0.534), metric_place(None, None)
    (-3, -3, -2, None)
    """
    smallest = min((sd for sd in sds if sd and math.isfinite(sd)), default=None)
    if decimals is None or smallest is None:
        return last_place(smallest) if decimals is None else -decimals
    digits = _exponent(smallest, 1) + decimals + 1
    return -decimals if digits >= 1 and min(digits, decimals) <= MOST_SD_DIGITS else last_place(smallest)


def unit_text(unit: str) -> str:
    """Write the unit behind a value; percent goes without, as the values stand below each other.

    >>> unit_text("s"), unit_text("%"), unit_text("")
    (' s', '', '')
    """
    return f" {unit}" if unit and unit != "%" else ""


def unit_in_name(unit: str) -> str:
    """Write the unit behind the name of a metric.

    >>> unit_in_name("s"), unit_in_name("%")
    (' (s)', '')
    """
    return f" ({unit})" if unit and unit != "%" else ""


def difference_unit(unit: str) -> str:
    """Write the unit behind a difference of two values.

    >>> difference_unit("s"), difference_unit("%")
    (' s', ' points')
    """
    return " points" if unit == "%" else unit_text(unit)


def difference_text(size: str, unit: str) -> str:
    """Write a difference of two values with its unit.

    >>> difference_text("0.5", "%"), difference_text("1", "%"), difference_text("2", "s")
    ('0.5 points', '1 point', '2 s')
    """
    return "1 point" if (size, unit) == ("1", "%") else f"{size}{difference_unit(unit)}"


def show(value: float | None, place: int | None = None, digits: int = PLAIN_DIGITS) -> str:
    """Write a number down to the digit of weight ``10**place``; without a place, of at most `digits` digits.

    >>> show(96.9371, -2), show(96.9371), show(None), show(1.23456e-12, -14), show(3e-9, -2)
    ('96.94', '96.9371', '–', '1.23e-12', '0.00')
    >>> show(96.9371, digits=4), show(0.5, digits=4), show(60000.0, digits=4)
    ('96.94', '0.5', '60000')

    Negative numbers have a minus sign, not a hyphen.

    >>> show(-0.5, -2), show(-1.5e-12)
    ('−0.50', '−1.5e-12')

    An SD is written like its mean.

    >>> show(0.000913, -6), show(0.000015, -6)
    ('0.000913', '0.000015')
    """
    return _signed(_shown(value, place, digits))


def mean_and_sd(mean: float | None, sd: float | None, place: int | None) -> str:
    """Write ``mean ± SD`` to the digit at `place`; the mean alone where no SD is known."""
    return show(mean, place) if sd is None else f"{show(mean, place)} ± {show(sd, place)}"


def significant(value: float | None, digits: int) -> str:
    """Write a number with as many digits as are worth showing, zeros among them, and more before the point only.

    >>> significant(2.0, 2), significant(0.97, 3), significant(363.4, 2), significant(0.0, 2), significant(1e-7, 2)
    ('2.0', '0.970', '363', '0', '1.0e-7')
    """
    if not value or not math.isfinite(value):
        return show(value)
    digits = max(digits, _exponent(value, digits) + 1) if abs(value) < 10.0**PLAIN_DIGITS else digits
    return _signed(_tidy(_figures(value, digits, zeros=True)))


def _figures(value: float, digits: int, *, zeros: bool) -> str:
    """Write a number with so many significant digits; without `zeros`, those at its end are left out."""
    return f"{value:#.{digits}g}".removesuffix(".") if zeros else f"{value:.{digits}g}"


def _shown(value: float | None, place: int | None, digits: int) -> str:
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if place is None:
        # No digit before the point is lost in a number that is written without exponent.
        whole = min(len(f"{abs(value):.0f}"), PLAIN_DIGITS) if abs(value) < 10.0**PLAIN_DIGITS else 0
        return _tidy(f"{value:.{max(digits, whole)}g}")
    smallest = 0.0 if place >= FIXED_PLACE else FIXED_FROM
    if smallest <= abs(value) < FIXED_BELOW or abs(value) < 10.0**place:
        return _unsigned_zero(f"{value:.{max(-place, 0)}f}")
    # Rounding may add a digit in front: 9.96 to one decimal is 10.0.
    rough = max(_exponent(value, MOST_DIGITS) - place, 0)
    digits = min(max(_exponent(value, rough + 1) - place, 0), MOST_DIGITS)
    return _tidy(f"{value:.{digits}e}")


def show_percent(share: float | None) -> str:
    """Write a share as a percentage of two significant digits.

    >>> show_percent(0.1312), show_percent(0.0055), show_percent(1.0), show_percent(0.0), show_percent(2e-9)
    ('13%', '0.55%', '100%', '0%', '2e-7%')
    """
    if share is None:
        return UNKNOWN
    percent = 100 * share
    if percent >= 99.5 or not percent:
        return f"{percent:.0f}%"
    return f"{_signed(_tidy(_figures(percent, 2, zeros=False)))}%"


def points(share: float) -> str:
    """Write a difference of shares in percentage points.

    >>> points(0.0123), points(0.0004)
    ('1.2 points', '0.040 points')
    """
    return f"{significant(100 * share, 2)} points"


def show_share(share: float | None) -> str:
    """Write a share of examples in percent with one decimal.

    >>> show_share(0.0436), show_share(0.0), show_share(1.0), show_share(0.0004), show_share(None)
    ('4.4%', '0.0%', '100%', '<0.1%', '–')
    """
    if share is None:
        return UNKNOWN
    if 0 < share < SMALLEST_SHARE:
        return f"<{100 * LEAST_SHARE:.1f}%"
    return f"{100 * share:.0f}%" if share == 1 else f"{_signed(f'{100 * share:.1f}')}%"


def show_shares(interval: Interval) -> str:
    """Write an interval of a share of examples in percent.

    >>> from deviate.stats.intervals import Interval
    >>> show_shares(Interval(low=0.0342, high=0.0681, level=0.95, method="t"))
    '[3.4, 6.8]'
    """
    ends = (interval.low, interval.high)
    return f"[{', '.join(show_share(end).removesuffix('%') for end in ends)}]" if interval.known else UNKNOWN


def show_interval(interval: Interval, place: int | None) -> str:
    """Write an interval.

    >>> from deviate.stats.intervals import Interval
    >>> show_interval(Interval(low=-0.5, high=1.25, level=0.95, method="t"), -2)
    '[−0.50, 1.25]'
    """
    return f"[{show(interval.low, place)}, {show(interval.high, place)}]" if interval.known else UNKNOWN


def show_level(level: float) -> str:
    """Write a confidence level.

    >>> show_level(0.95), show_level(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:.10g}%"


def show_seconds(seconds: float | None) -> str:
    """Write a duration of a run.

    >>> show_seconds(0.000673), show_seconds(3.14159), show_seconds(754.2), show_seconds(9000)
    ('0.00067 s', '3.1 s', '12 min 34 s', '2 h 30 min')
    """
    if seconds is None:
        return UNKNOWN
    if 0 < seconds < SHORT:
        return f"{show(seconds, digits=2)} s"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def show_hours(hours: float | None) -> str:
    """Write how long runs will take together.

    >>> show_hours(1234.56), show_hours(0.01), show_hours(None)
    ('1,234.6 h', '36 s', '–')
    """
    if hours is None:
        return UNKNOWN
    return f"{hours:,.1f} h" if hours >= 1 else about_seconds(3600 * hours)


def show_factor(value: float | None) -> str:
    """Write a ratio or a standardised effect with two decimals; large and small ones with two digits.

    >>> show_factor(363.4), show_factor(0.0047), show_factor(123456.0), show_factor(-1.256), show_factor(None)
    ('363', '0.0047', '1.2e5', '−1.26', '–')
    >>> show_factor(4.0), show_factor(0.9), show_factor(20.0), show_factor(0.0)
    ('4.00', '0.90', '20.00', '0')
    """
    if value is not None and _TWO_DECIMALS[0] <= abs(value) < _TWO_DECIMALS[1]:
        return _signed(f"{value:.2f}")
    return _digits(value, _EFFECT_DIGITS, zeros=True)


def show_ratio(interval: Interval) -> str:
    """Write an interval of a ratio or an effect."""
    return f"[{show_factor(interval.low)}, {show_factor(interval.high)}]" if interval.known else UNKNOWN


def show_effect(effect: Effect) -> str:
    """Write an effect with its interval."""
    ends = f" {show_ratio(effect.interval)}" if effect.interval.known else ""
    return f"{show_factor(effect.value)}{ends}" if effect.value is not None else UNKNOWN


def _digits(value: float | None, digits: int, *, zeros: bool = False) -> str:
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = _figures(value, digits, zeros=zeros and bool(value))
    mantissa, mark, exponent = text.partition("e")
    if mark and digits <= int(exponent) < MOST_FIGURES:
        return _signed(f"{value:.0f}")
    return _signed(f"{mantissa}e{int(exponent)}" if mark else text)


def _signed(text: str) -> str:
    return _SIGN.sub("−", text)


def _exponent(value: float, digits: int) -> int:
    """Give the power of ten of the first digit, after rounding to `digits` digits."""
    return int(f"{abs(value):.{digits - 1}e}".partition("e")[2])


def _tidy(text: str) -> str:
    """Write ``1e-07`` as ``1e-7`` and ``1e+12`` as ``1e12``."""
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else text


def _unsigned_zero(text: str) -> str:
    return text.removeprefix("-") if not text.strip("-0.") else text


# Numbers below each other and durations in words.

MINUS = "\N{MINUS SIGN}"

#: Stands for a value that is not known.
_UNKNOWN = "–"


def aligned(values: Sequence[float | None], digits: int) -> list[str]:
    """Write numbers to the same digit, so that their points stand below each other at the right end of a column.

    The largest has `digits` digits and the smallest two at least; numbers too far apart for that are written one by
    one.

    >>> aligned([100.0, 99.724, None], 4), aligned([0.64, 0.6684, 0.0], 4), aligned([2e9, 0.5], 4)
    (['100.0', '99.7', '–'], ['0.6400', '0.6684', '0.0000'], ['2e+09', '0.5'])
    >>> aligned([-1.5, 12.25, 12345.6], 4), aligned([123456.0], 4), aligned([float("nan")], 4)
    (['−1.5', '12.25', '1.235e+04'], ['123456'], ['–'])
    """
    finite = [value for value in values if value is not None and math.isfinite(value)]
    exponents = [int(f"{value:.{digits - 1}e}".partition("e")[2]) for value in finite if value]
    span = max(exponents, default=0) - min(exponents, default=0)
    place = max(0, digits - 1 - max(exponents, default=0), 1 - min(exponents, default=0))
    alike = span < digits and place < 2 * digits
    return [_written(value, place if alike else None, digits) for value in values]


def _written(value: float | None, place: int | None, digits: int) -> str:
    if value is None or not math.isfinite(value):
        return _UNKNOWN
    return (f"{value:.{digits}g}" if place is None else f"{value:.{place}f}").replace("-", MINUS)


# Durations that are estimated, in words; imports nothing that computes, as progress shows them.


def about_seconds(seconds: float) -> str:
    """Write a duration that is estimated.

    >>> about_seconds(3.2), about_seconds(75.4), about_seconds(754.2), about_seconds(9000)
    ('3 s', '75 s', '13 min', '2 h 30 min')
    """
    if seconds < 120:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


#: Significant digits of a value whose decimals the program leaves open.
VALUE_DIGITS = 4


def value_texts(values: Sequence[float | None], decimals: int | None) -> list[str]:
    """Write values of a metric as the program does, else with as many digits as tell them apart.

    >>> value_texts([87.6, None], 2), value_texts([0.5, 12.25], None)
    (['87.60', '–'], ['0.50', '12.25'])
    """
    if decimals is None:
        return aligned(values, VALUE_DIGITS)
    return ["–" if value is None else f"{value:.{decimals}f}" for value in values]
