"""How the numbers were made, for a paper: sentences, and the answers to reproducibility checklists."""

from __future__ import annotations

from deviate.report.comparison.parts import Comparison
from deviate.report.parts import Answer, Document
from deviate.report.writers.html.section import Content, Page, Section
from deviate.report.writers.html.tables import Cell, Head, Table


def _content(page: Page[Document]) -> Content:
    document = page.said
    if not document.methods and not document.checklist:
        return None
    return {
        "paragraph": " ".join(document.methods),
        "checklist": _checklist(document.checklist) if document.checklist else None,
    }


def _checklist(answers: list[Answer]) -> Table:
    return Table(
        caption="Reproducibility checklist",
        heads=[Head("question"), Head("answer"), Head("asked by")],
        rows=[[Cell(each.question), Cell(each.answer), Cell(", ".join(each.asked_by))] for each in answers],
        prose=True,
    )


def _compared(page: Page[Comparison]) -> Content:
    return {"paragraph": " ".join(page.said.methods), "checklist": None}


SECTION = Section(slug="methods", title="For a paper: methods and checklist", content=_content)
COMPARED = Section(slug="methods", title="For a paper: methods", content=_compared)
