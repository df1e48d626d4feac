"""Pictures made of characters: the runs of a metric as a strip of dots or bars, and a curve as a line of blocks.

Tables with a column that is drawn in characters: learning curves, and bars with their intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from deviate.report.page import Bar, Bars, Cell, Column, Row, Strips, Table

#: From the lowest to the highest.
BLOCKS = "▁▂▃▄▅▆▇█"

#: What stands for them, and for nothing, on terminals that have ASCII alone.
ASCII_BLOCKS = "_,-=+*%#"

#: A cell without a height.
GAP = " "

STRIP_WIDTH = 10

#: Marks for a cell with no run, one run, several runs.
EMPTY, ONE, SEVERAL = "·", "•", "●"

#: Head of a column of strips, and as wide: what they show, and where the lowest and the highest are.
STRIP_HEAD = "low – high"

#: With more runs than this most cells hold several, and bars say how many where dots would not.
CROWDED = 20


def strip(values: Sequence[float], width: int = STRIP_WIDTH, ends: tuple[float, float] | None = None) -> str:
    """Draw finite values on a line from the smallest to the largest: a dot a run, or bars of a histogram.

    `width` is the number of cells. `ends` are the values at the ends of the line, at or beyond all of `values`. Where
    there is no spread to draw, with fewer than two values or both ends equal, the line is empty.

    >>> strip([1.0, 1.02, 2.0, 10.0])
    '●•·······•'
    >>> strip([1.0] * 8 + [2.0] * 12 + [4.0] * 4 + [5.0])
    '▆·█····▃·▁'
    """
    low, high = ends or (min(values, default=0.0), max(values, default=0.0))
    if low == high or not values:
        return ""
    # Halved before they are subtracted: the difference of two large floats may overflow.
    shares = (np.asarray(values) / 2 - low / 2) / (high / 2 - low / 2)
    counts = np.bincount(np.minimum((shares * width).astype(int), width - 1), minlength=width)
    if len(values) > CROWDED:
        # The fullest cell is one full block; a cell with a single run is never drawn as empty.
        return block_line(np.where(counts > 0, counts / counts.max(), np.nan), EMPTY)
    return "".join(EMPTY if not count else ONE if count == 1 else SEVERAL for count in counts)


def block_line(shares: Sequence[float] | NDArray[np.float64], gap: str = GAP) -> str:
    """Draw each share of the full height, in [0, 1], as a block; NaN is drawn as the character `gap`.

    >>> block_line([0.0, 0.5, float("nan"), 1.0])
    '▁▅ █'
    """
    levels = len(BLOCKS)
    return "".join(gap if np.isnan(share) else BLOCKS[min(int(share * levels), levels - 1)] for share in shares)


def sampled(
    iterations: Sequence[int], heights: Sequence[float] | NDArray[np.float64], width: int
) -> NDArray[np.float64]:
    """Return the curve at `width` evenly spaced iterations, or as many as it has, from the first to the last.

    Between the iterations that were reported, which rise, it is interpolated linearly; `width` is at least 2.

    >>> [float(height) for height in sampled([0, 1, 4], [0.0, 1.0, 4.0], 3)]
    [0.0, 2.0, 4.0]
    """
    places = np.linspace(iterations[0], iterations[-1], min(width, len(iterations)))
    return np.interp(places, iterations, heights)


#: Column behind which curves are drawn.
_FIRST_VALUE = 1

#: How a bar is drawn: up to the lower limit, to the number, and to the upper limit.
BAR_SIGNS = "█▓░"


def add_curves(strips: Strips, width: int) -> Table:
    """Return the table with a column of curves of at most `width` cells."""
    behind = _FIRST_VALUE + 1
    rows = []
    for row, curve in zip(strips.table.rows, strips.curves, strict=True):
        line = Cell(block_line(sampled(*curve, width)), emphasis="accent")
        rows.append(msgspec.structs.replace(row, cells=[*row.cells[:behind], line, *row.cells[behind:]]))
    columns = [*strips.table.columns[:behind], Column(head="", numeric=False), *strips.table.columns[behind:]]
    return msgspec.structs.replace(strips.table, columns=columns, rows=rows)


def add_bars(block: Bars, width: int) -> Table:
    """Return the table with a column of bars of at most `width` cells."""
    most = max([*(bar.high for bar in block.bars), *(place for place, _ in block.ticks)], default=0.0)
    drawn = [Cell(bar.text) if bar.text else Cell(_bar(bar, width / most), emphasis="accent") for bar in block.bars]
    table = block.table
    rows = [
        msgspec.structs.replace(row, cells=[row.cells[0], bar, *row.cells[1:]])
        for row, bar in zip(table.rows, drawn, strict=True)
    ]
    below = "".join(_placed_texts([(round(place * width / most), text) for place, text in block.ticks])) if most else ""
    rows += [Row(cells=[Cell(""), Cell(below, emphasis="quiet"), *(Cell("") for _ in table.columns[1:])])]
    head, *columns = table.columns
    drawn_head = Column(head=_bar_head(block.head, width), leading=True, drawn=True)
    legend = "{} to the lower limit, {} to the SD, {} to the upper limit.".format(*BAR_SIGNS)
    has_ends = any(bar.low < bar.value < bar.high for bar in block.bars)
    return msgspec.structs.replace(
        table, columns=[head, drawn_head, *columns], rows=rows, notes=[*table.notes, *([legend] if has_ends else [])]
    )


def _bar_head(head: str, width: int) -> str:
    """Return what stands above bars, without its brackets where these have no room."""
    return head if cell_len(head) <= width else head.partition(" [")[0]


def _bar(bar: Bar, scale: float) -> str:
    low, value, high = (round(each * scale) for each in (bar.low, bar.value, bar.high))
    return "".join(sign * count for sign, count in zip(BAR_SIGNS, (low, value - low, high - value), strict=True))


def _placed_texts(placed: Sequence[tuple[int, str]]) -> Iterable[str]:
    """Yield texts with the blanks before them that bring each to its place; one without room is left out."""
    at = 0
    for place, text in placed:
        if place > at or not place:
            yield " " * (place - at) + text
            at = place + cell_len(text)
