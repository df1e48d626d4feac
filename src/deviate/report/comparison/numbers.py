"""How the numbers of a comparison are written for people."""

from __future__ import annotations

import math
import re

from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.contrast.power import DEFAULT_ALPHA
from deviate.contrast.results import Effect, Tested
from deviate.measure.intervals import Interval
from deviate.report.shown import UNKNOWN, show, show_interval

#: A p below this is written as being below it.
SMALLEST_SHOWN_P = 1e-4

#: Digits of a p that is all but alpha.
MOST_P_DIGITS = 6

#: Ratios and statistics of more figures than this before the point are written with an exponent.
MOST_FIGURES = 4

#: Of ratios and effects, and of statistics.
_EFFECT_DIGITS, _STATISTIC_DIGITS = 2, 4

_SIGN = re.compile(r"(?<![\w.)\]])-(?=\d)")


def show_signed(value: float | None, place: int | None = None) -> str:
    """Write a number as `shown.show`, with a minus sign instead of a hyphen.

    Examples
    --------
    >>> show_signed(-0.5, -2), show_signed(-1.5e-12)
    ('−0.50', '−1.5e-12')
    """
    return _signed(show(value, place))


def show_ends(interval: Interval, place: int | None) -> str:
    """Write an interval as `shown.show_interval`, with minus signs."""
    return _signed(show_interval(interval, place))


def show_difference(interval: Interval, place: int | None) -> str:
    """Write the interval of a difference, which has signs more often than not."""
    if not interval.known:
        return UNKNOWN
    return f"{show_signed(interval.low, place)} to {show_signed(interval.high, place)}"


def show_p(p: float | None, alpha: float = DEFAULT_ALPHA) -> str:
    """Write a p-value with two significant digits, and with more where two would make it look like alpha.

    Examples
    --------
    >>> show_p(0.01234), show_p(1e-7), show_p(1.0), show_p(0.05), show_p(0.0504), show_p(None)
    ('0.012', '<0.0001', '1', '0.05', '0.0504', '–')
    """
    if p is None:
        return UNKNOWN
    if p < SMALLEST_SHOWN_P:
        return f"<{SMALLEST_SHOWN_P:.4f}"
    texts = [f"{p:.{digits}g}" for digits in range(2, MOST_P_DIGITS + 1)]
    return next((text for text in texts if p == alpha or float(text) != alpha), texts[-1])


def show_equal_p(p: float | None, correction: str, family: int, alpha: float = DEFAULT_ALPHA) -> str:
    """Write ``p = 0.003``, and where it was adjusted after what.

    Examples
    --------
    >>> show_equal_p(0.003, "holm", 12), show_equal_p(1e-7, "holm", 1), show_equal_p(0.2, "none", 6)
    ('p = 0.003 after Holm', 'p < 0.0001', 'p = 0.2')
    """
    after = "" if correction == "none" or family < 2 else f" after {CORRECTION_NAMES[correction]}"
    return f"p = {show_p(p, alpha)}{after}".replace("= <", "< ")


def show_factor(value: float | None) -> str:
    """Write a ratio or a standardised effect with two significant digits, whole ones in full up to four figures.

    Examples
    --------
    >>> show_factor(363.4), show_factor(0.0047), show_factor(123456.0), show_factor(-1.25), show_factor(None)
    ('363', '0.0047', '1.2e5', '−1.2', '–')
    """
    return _digits(value, _EFFECT_DIGITS)


def show_ratio(interval: Interval) -> str:
    """Write an interval of a ratio."""
    return f"{show_factor(interval.low)}–{show_factor(interval.high)}" if interval.known else UNKNOWN


def show_effect(effect: Effect) -> str:
    """Write an effect with its interval."""
    interval = effect.interval
    ends = f" ({show_factor(interval.low)} to {show_factor(interval.high)})" if interval.known else ""
    return f"{show_factor(effect.value)}{ends}" if effect.value is not None else UNKNOWN


def show_statistic(test: Tested) -> str:
    """Write the statistic of a test.

    Examples
    --------
    >>> show_statistic(Tested(statistic=-12.67123)), show_statistic(Tested(statistic=123456.0))
    ('−12.67', '1.235e5')
    """
    return _digits(test.statistic, _STATISTIC_DIGITS)


def _digits(value: float | None, digits: int) -> str:
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:.{digits}g}"
    mantissa, mark, exponent = text.partition("e")
    if mark and digits <= int(exponent) < MOST_FIGURES:
        return _signed(f"{value:.0f}")
    return _signed(f"{mantissa}e{int(exponent)}" if mark else text)


def _signed(text: str) -> str:
    return _SIGN.sub("−", text)
