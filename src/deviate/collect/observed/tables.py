"""Which rows of a template belong to which printed table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deviate.collect.observed.headers import Columns, columns_above
from deviate.collect.observed.mining import Lines
from deviate.collect.observed.templates import take_apart

#: Heads that are looked for among the rows of one template; rows behind that many belong to the last table.
MOST_HEADS = 500


def tables_of(
    data: bytes, offsets: NDArray[np.int64], lines: Lines, label: str
) -> Iterator[tuple[Columns | None, NDArray[np.int64]]]:
    """Yield the heads above the rows of a template, each with the positions of the rows below it.

    `offsets` are those of the rows in the log, in order. Tables with one head are one; rows that follow other lines
    belong to the table before where no head is above them. Rows with a label are not told apart by their head.
    """
    if label:
        yield _head_above(data, int(offsets[0]), label), np.arange(len(offsets))
        return
    heads: dict[Columns | None, list[NDArray[np.int64]]] = {}
    begins = _beginnings(data, offsets)
    current: Columns | None = None
    for begin, end in zip(begins, [*begins[1:], len(offsets)], strict=True):
        current = _head_above(data, int(offsets[begin]), label) or current
        heads.setdefault(current, []).append(np.arange(begin, end))
    for head, rows in heads.items():
        yield head, np.concatenate(rows)


def _beginnings(data: bytes, offsets: NDArray[np.int64]) -> list[int]:
    """Return the positions of the rows that do not follow directly on another one."""
    begins = [0]
    ends = data.find(b"\n", int(offsets[0]))
    for position, offset in enumerate(offsets[1:].tolist(), 1):
        if offset != ends + 1:
            begins.append(position)
            if len(begins) == MOST_HEADS:
                break
        ends = data.find(b"\n", offset)
    return begins


def _head_above(data: bytes, start: int, label: str) -> Columns | None:
    end = data.find(b"\n", start)
    line = data[start : end if end >= 0 else len(data)].rstrip(b"\r")
    parsed = take_apart(line)
    fields = [spans[0] for spans in parsed.fields]
    return columns_above(data, start, line, fields, label) if fields else None
