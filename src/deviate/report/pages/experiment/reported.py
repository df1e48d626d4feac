"""What the program reported, and what became of each number."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.reported import Completeness
from deviate.report.figures.experiment import Charts
from deviate.report.page import Block, Cell, Column, Row, Section, Sentences, Table
from deviate.report.text.reported import reported_sentences
from deviate.report.text.words import listed

#: Numbers that are listed; of more, the first ones.
LISTED = 200


def brief(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say how much is measured, of the first variant that can tell."""
    return Section(slug="reported", blocks=[_said(facts.reported[0], facts)]) if facts.reported else None


def full(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say how much is measured of each variant, and list what differed and is not."""
    if not facts.reported:
        return None
    blocks: list[Block] = [
        Sentences(sentences=list(sentences), about=listed(variants) if len(facts.variants) > 1 else "Output")
        for sentences, variants in _together(facts.reported).items()
    ]
    tables = [_left(each) for each in facts.reported if each.left]
    return Section(slug="reported", title="What the program reported", blocks=[*blocks, *tables])


def _together(reported: Iterable[Completeness]) -> dict[tuple[str, ...], list[str]]:
    """Return what is said, each once, with the variants that it is said of."""
    said: dict[tuple[str, ...], list[str]] = {}
    for each in reported:
        said.setdefault(tuple(reported_sentences(each)), []).append(each.variant)
    return said


def _said(each: Completeness, facts: ExperimentFacts) -> Sentences:
    about = each.variant if len(facts.variants) > 1 else "Output"
    return Sentences(sentences=reported_sentences(each), about=about)


def _left(each: Completeness) -> Table:
    rows = [
        Row(cells=[Cell(number.name, remark=number.source), Cell(number.template), Cell(number.reason)])
        for number in each.left[:LISTED]
    ]
    heads = ("number", "line", "why it is not measured")
    return Table(
        caption=f"{each.variant}: numbers that differed and are not measured",
        columns=[Column(head=head, numeric=False) for head in heads],
        rows=rows,
    )
