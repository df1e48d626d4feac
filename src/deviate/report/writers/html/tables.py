"""Tables of a page: text for people, and beside it the number that a column is sorted by."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec


class Head(msgspec.Struct, frozen=True):
    """The head of a column."""

    text: str
    numeric: bool = False


class Cell(msgspec.Struct, frozen=True):
    """A cell: its text, a remark in small print, and the number it is sorted by where the text is not."""

    text: str
    value: float | None = None
    remark: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows under heads; the first cell of a row names it."""

    #: Tells the table from others on the page.
    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    #: Its cells hold sentences, which are wrapped.
    prose: bool = False


def number(text: str, value: float | None) -> Cell:
    """Return the cell of a number; unknown ones are sorted behind all others."""
    return Cell(text, value if value is not None and math.isfinite(value) else None)


def heads(*texts: str, words: int = 1) -> list[Head]:
    """Return heads of which the first `words` are those of columns of words."""
    return [Head(text, place >= words) for place, text in enumerate(texts)]
