"""Tables with a column that is drawn in characters: learning curves, and bars with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from rich.cells import cell_len

from deviate.report.page import Bar, Bars, Cell, Column, Row, Strips, Table
from deviate.report.strips import block_line, sampled

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
        table,
        columns=[head, drawn_head, *columns],
        rows=rows,
        notes=[*table.notes, *([legend] if has_ends else [])],
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
