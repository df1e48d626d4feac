"""Numbers below each other and durations in words; imported while runs go on, so it imports nothing that is slow."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: A minus sign, not a hyphen.
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
