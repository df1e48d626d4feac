"""The section of an audit that lists which lines drew for a factor."""

from __future__ import annotations

from deviate.preflight.explanation import DrawingLine, Explanation
from deviate.report.page import Answer, Block, Cell, Row, Section, Table
from deviate.report.pages.cells import columns, number
from deviate.report.text.explanation import counts_text, digests_text, explanation_answer, place_text, what_text
from deviate.report.text.words import count


def explanation_section(explanation: Explanation | None, most: int | None = None) -> Section:
    """List the lines in the order of their first draws, at most so many, from the first that differs on if need be."""
    if explanation is None:
        return Section(slug="explained", blocks=[])
    blocks: list[Block] = [Answer(sentences=list(explanation_answer(explanation)))]
    if explanation.lines:
        blocks.append(_table(explanation, most))
    return Section(slug="explained", title=f"Draws for {explanation.factor}, line by line", blocks=blocks)


def _table(explanation: Explanation, most: int | None) -> Table:
    lines, differs = explanation.lines, explanation.first_difference or 0
    start = differs if most and differs >= most else 0
    shown = lines[start : start + most if most else None]
    left = len(lines) - len(shown)
    return Table(
        caption=f"Lines that drew for {explanation.factor}, in the order of their first draws, in two probes",
        slug="explained",
        columns=columns("", "line", "draws", "first digests", "what drew", words=5),
        rows=[Row(cells=_cells(line)) for line in shown],
        notes=[f"and {count(left, 'other line')}"] if left else [],
    )


def _cells(line: DrawingLine) -> list[Cell]:
    differs = len(set(line.digests)) > 1
    return [
        number(str(line.order), line.order),
        Cell(place_text(line)),
        Cell(counts_text(line)),
        Cell(digests_text(line), emphasis="good" if differs else "warning"),
        Cell(what_text(line)),
    ]
