"""Numbers as they are printed: what is one, its value, and to which digit it was rounded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from deviate.analyse.naming.words import word_lists

#: Written directly behind a number.
UNITS = word_lists(__file__)["units"]

#: Integers below 10^15 and powers of ten up to 10^22 are exact as doubles, so that their quotient is the double next to
#: the printed decimal.
EXACT_DIGITS = 15

#: Groups this small are read one by one, which is faster than as columns.
FEW = 12

#: Digits after the point of what has none that count: ``nan``, ``inf``.
NO_DECIMALS = 0

_SIGN = r"(?:(?<![\w.+\-/)\]%'\"])[+-])?"
_NOT_FINITE = r"(?:[nN]a[nN]|NAN|[iI]nf(?:inity)?|INF)(?![\w%]|[-/.@]\w)"
_THOUSANDS = r"\d{1,3}(?:,\d{3})++(?![\d]|,\d)(?:\.\d*+)?+|\d{1,3}(?:_\d{3})++(?!\w)"
_DECIMAL = r"(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+"
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
#: Neither an identifier nor anything else goes on behind a number, but a unit may.
_END = rf"(?![A-Za-z_\d]|\.\d)|(?=(?:{_UNIT})(?![A-Za-z_\d]))"


def number_pattern(thousands: bool) -> str:
    """Return the regular expression of a number; `thousands` says whether ``1,234`` is one."""
    body = rf"(?:{_THOUSANDS}|{_DECIMAL})" if thousands else rf"(?:\d{{1,3}}(?:_\d{{3}})++(?!\w)|{_DECIMAL})"
    return rf"{_SIGN}(?:{_NOT_FINITE}|(?>{body})(?:{_END}))"


@cache
def _number() -> re.Pattern[str]:
    return re.compile(number_pattern(thousands=True), re.ASCII)


def read_number(text: str) -> tuple[float, int] | None:
    """Return the value of a printed number, and its digits after the point; None of anything else.

    A percent sign behind it is passed over. The number of digits is negative where a power of ten is printed with fewer
    digits than it has: ``1.2e5`` is known to 10^4.

    Examples
    --------
    >>> read_number("97.50%"), read_number("1,234"), read_number("1.2e5"), read_number("v2")
    ((97.5, 2), (1234.0, 0), (120000.0, -4), None)
    """
    word = text.strip().removesuffix("%").rstrip()
    match = _number().fullmatch(word)
    return None if match is None else (_value(word), decimals_of(word))


def decimals_of(word: str) -> int:
    """Return the digits after the point of a printed number, the exponent subtracted."""
    mantissa, _, exponent = word.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    if not exponent or not exponent.lstrip("+-").isdigit():
        return decimals if mantissa[-1:].isdigit() or mantissa.endswith(".") else NO_DECIMALS
    return max(-400, min(400, decimals - int(exponent[:6])))


def _value(word: str) -> float:
    return float(word.replace(",", "").replace("_", ""))


def read_column(lines: Sequence[bytes], start: int, end: int) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """Read the number between two positions of lines that are alike but for their digits.

    Returns
    -------
    values : float64 array, shape (n,)
        The doubles nearest to the printed decimals.
    decimals : int16 array, shape (n,)
        Their digits after the point.
    """
    word = lines[0][start:end].decode("latin-1")
    digits = [position for position, character in enumerate(word) if character.isdigit()]
    is_plain = "e" not in word.lower() and 0 < len(digits) <= EXACT_DIGITS
    if len(lines) <= FEW or not is_plain:
        words = [line[start:end].decode("latin-1") for line in lines]
        values = np.array([_value(one) for one in words])
        if is_plain:
            return values, np.full(len(lines), decimals_of(word), dtype=np.int16)
        return values, np.array([decimals_of(one) for one in words], dtype=np.int16)
    cells = np.frombuffer(b"".join(line[start:end] for line in lines), dtype=np.uint8).reshape(len(lines), -1)
    weights = 10.0 ** np.arange(len(digits) - 1, -1, -1)
    decimals = decimals_of(word)
    values = (cells[:, digits] - np.uint8(ord("0"))).astype(np.float64) @ weights / 10.0**decimals
    return (-values if word.startswith("-") else values), np.full(len(lines), decimals, dtype=np.int16)


def scaled(
    values: NDArray[np.float64], decimals: NDArray[np.int16], scale: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """Move the point of numbers to the left by `scale` digits, or take their reciprocals, known to as many digits."""
    if scale == 0:
        return values, decimals
    if scale is not None:
        return values / 10.0**scale, (decimals + scale).astype(np.int16)
    with np.errstate(divide="ignore"):
        digits = np.where(values > 0, np.floor(2 * np.log10(np.abs(values))), 0)
        return 1.0 / values, (decimals + digits).astype(np.int16)
