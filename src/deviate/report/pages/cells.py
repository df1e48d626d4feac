"""Cells and columns that several tables share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from deviate.report.numbers import UNKNOWN, show_percent, significant
from deviate.report.page import Block, Cell, Code, Column, Remark, Remarks, Row, Section, Sentences, Table
from deviate.report.text.caveat import Caveat
from deviate.report.text.words import count, listed

#: Title of the section of caveats.
TRUST = "Caveats"


def number(text: str, value: float | None = None) -> Cell:
    """Return the cell of a number; one that is not finite is sorted as an unknown one."""
    return Cell(text, value if value is not None and math.isfinite(value) else None)


def share_cell(value: float | None) -> Cell:
    """Return the cell of a share, in percent."""
    return number(UNKNOWN if value is None else show_percent(value, zeros=True), value)


def points_cell(value: float | None) -> Cell:
    """Return the cell of a difference of shares, in percentage points."""
    return plain_cell(None if value is None else 100 * value)


def plain_cell(value: float | None) -> Cell:
    """Return the cell of a number with two digits."""
    return number(UNKNOWN if value is None else significant(value, 2), value)


def columns(*heads: str, words: int = 1, last: str = "") -> list[Column]:
    """Return columns: the first `words` hold words, the others numbers, and a `last`, if any, words again."""
    numbers = [Column(head=head, numeric=index >= words) for index, head in enumerate(heads)]
    return [*numbers, *([Column(head=last, numeric=False)] if last else [])]


def again_sections(command: str) -> list[Section]:
    """Return the section with what to type for the same page; none where it is not known."""
    return [Section(slug="again", title="How to get this again", blocks=[Code(lines=[command])])] if command else []


def heading(text: str, remark: str = "") -> Row:
    """Return a row that heads those below it."""
    return Row(cells=[Cell(text, remark=remark)])


def telling(tables: Sequence[Table]) -> list[Table]:
    """Leave out the columns that say nothing in any of the tables, which have the same ones."""
    rows = [row for table in tables for row in table.rows]
    kept = [
        index
        for index in range(len(tables[0].columns))
        if not index or any(row.cells[index].text not in ("", UNKNOWN) for row in rows)
    ]
    return [
        msgspec.structs.replace(
            table,
            columns=[table.columns[index] for index in kept],
            rows=[msgspec.structs.replace(row, cells=[row.cells[index] for index in kept]) for row in table.rows],
        )
        for table in tables
    ]


def remark_blocks(remarks: Iterable[Remark]) -> list[Block]:
    """Return the remarks as one block; none where there are none."""
    listed = list(remarks)
    return [Remarks(remarks=listed)] if listed else []


def caveat_count(sections: Iterable[Section]) -> str:
    """Say how many caveats a page has, which may stand below the first screen; empty: none."""
    remarks = [
        remark
        for section in sections
        if section.slug == "trust"
        for block in section.blocks
        if isinstance(block, Remarks)
        for remark in block.remarks
    ]
    warnings = sum(remark.severity == "warning" for remark in remarks)
    counts = [(warnings, "warning"), (len(remarks) - warnings, "note")]
    return " · ".join(count(number, kind) for number, kind in counts if number)


def more_sentence(*parts: str) -> str:
    """Return what says that ``-v`` shows more."""
    return f"Add -v for {listed(parts)}."


def more_blocks(*parts: str) -> list[Block]:
    """Say what ``-v`` shows beside."""
    return [Sentences(sentences=[more_sentence(*parts)], emphasis="quiet")] if parts else []


def caveat_blocks(caveats: Iterable[Caveat]) -> list[Block]:
    """Return the caveats as one block; none where there are none."""
    return remark_blocks(map(_remark, caveats))


def _remark(caveat: Caveat) -> Remark:
    return Remark(message=caveat.message, severity=caveat.severity)
