"""The answers to reproducibility checklists as a table."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.report.page import Cell, Row, Table
from deviate.report.pages.cells import columns
from deviate.report.text.checklist import Answer


def checklist_table(answers: Iterable[Answer]) -> Table:
    """Return a row for each question, with who asks it."""
    return Table(
        caption="Reproducibility checklist",
        columns=columns("question", "answer", "asked by", words=3),
        rows=[
            Row(
                cells=[
                    Cell(each.question),
                    Cell(each.answer, emphasis="plain" if each.known else "quiet"),
                    Cell(", ".join(each.asked_by)),
                ]
            )
            for each in answers
        ],
        prose=True,
    )
