r"""The LaTeX fragment as conferences and journals ask for it: the width of tables, and whose questions are answered."""

from __future__ import annotations

import msgspec

from deviate.report.page import Block, Page, Section, Sentences, Table
from deviate.report.writers.latex import render_latex

#: The section whose table has the questions of checklists, each with its answer and who asks it.
_CHECKLIST = "reproducibility"


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """What a conference or journal asks for."""

    #: Pages have two columns, and tables span both.
    two_columns: bool
    #: How those begin who ask the questions that are answered; empty: it has no checklist.
    checklist: str = ""
    #: The answers to each numbered question stand together, as the form has one place for them.
    by_number: bool = False


#: NeurIPS asks its own checklist; JMLR published that of Pineau et al. (22(164), 2021); ICML asks none.
STYLES = {
    "neurips": Style(two_columns=False, checklist="NeurIPS", by_number=True),
    "icml": Style(two_columns=True),
    "jmlr": Style(two_columns=False, checklist="ML reproducibility checklist"),
}


def render_styled(page: Page, name: str) -> str:
    """Return the page as a fragment in a style of `STYLES`."""
    style = STYLES[name]
    sections = [_answered(each, style) if each.slug == _CHECKLIST else each for each in page.sections]
    kept = [section for section in sections if section.blocks]
    text = render_latex(msgspec.structs.replace(page, sections=kept))
    # Braces of users are escaped, so this is the environment alone.
    return text if style.two_columns else text.replace("{table*}", "{table}")


def _answered(section: Section, style: Style) -> Section:
    """Return the checklist with the questions of the style alone."""
    tables = [block for block in section.blocks if isinstance(block, Table)]
    blocks = [block for table in tables for block in _questions(table, style)] if style.checklist else []
    return msgspec.structs.replace(section, blocks=blocks)


def _questions(table: Table, style: Style) -> list[Block]:
    rows = [(row, asked) for row in table.rows for asked in row.cells[2].text.split(", ")]
    asked = [(row, who) for row, who in rows if who.startswith(style.checklist)]
    if not style.by_number:
        return [msgspec.structs.replace(table, rows=[row for row, _ in asked])]
    answers: dict[str, list[str]] = {}
    for row, who in asked:
        question, answer, *_ = row.cells
        # What is not known says nothing without its question.
        text = f"{question.text} {answer.text}" if answer.emphasis == "quiet" else answer.text
        answers.setdefault(who, []).append(text)
    return [
        Sentences(
            about=f"{style.checklist} paper checklist, question {who.rpartition(' ')[2]}: justification",
            sentences=texts,
        )
        for who, texts in sorted(answers.items())
    ]
