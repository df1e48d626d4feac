"""Predictions that change between the experiments that are compared."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.predictions import ChangedGroup
from deviate.report.figures.figure import slug
from deviate.report.page import Block, Cell, Row, Section, Sentences, Table
from deviate.report.pages.cells import columns, number, share_cell
from deviate.report.text.comparison.predictions import changed_sentences


def brief_predictions(comparison: Comparison) -> Section | None:
    """Say how many predictions change, without a title."""
    section = predictions(comparison)
    return section and msgspec.structs.replace(section, title="")


def screen_predictions(comparison: Comparison) -> Section | None:
    """Say of one pair how many predictions change, beside what retraining changes."""
    pair = comparison.pairs[0]
    if len(comparison.pairs) > 1 or pair.predictions is None:
        return None
    sentences = changed_sentences(pair.predictions, pair.a, pair.b)[:2]
    return Section(slug="predictions", blocks=[Sentences(about="Predictions", sentences=sentences)])


def predictions(comparison: Comparison) -> Section | None:
    """Say for each pair how many predictions change, by groups where there are any."""
    blocks: list[Block] = []
    for pair in comparison.pairs:
        if pair.predictions is None:
            continue
        about = f"{pair.a} against {pair.b}" if len(comparison.pairs) > 1 else "Predictions"
        blocks.append(Sentences(about=about, sentences=changed_sentences(pair.predictions, pair.a, pair.b)))
        if pair.predictions.groups:
            blocks.append(_group_table(pair, pair.predictions.groups))
    return Section(slug="predictions", title="Predictions that change", blocks=blocks) if blocks else None


def _group_table(pair: PairComparison, groups: Sequence[ChangedGroup]) -> Table:
    return Table(
        caption="Predictions that change, by group of examples",
        slug=slug("groups", pair.a, pair.b),
        columns=columns("group", "examples", f"accuracy of {pair.a}", f"accuracy of {pair.b}", "changed", "beyond"),
        rows=[
            Row(
                cells=[
                    Cell(each.label),
                    number(str(each.examples), each.examples),
                    *(share_cell(share) for share in (each.accuracy_a, each.accuracy_b)),
                    *(share_cell(estimate.value) for estimate in (each.between, each.excess)),
                ]
            )
            for each in groups
        ],
        notes=["changed: from a run of the one to a run of the other; beyond: more than retraining changes."],
    )
