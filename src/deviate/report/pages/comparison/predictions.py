"""Predictions that change between the experiments that are compared."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.groups import ChangedGroup
from deviate.report.figures.figure import slug
from deviate.report.numbers import Numbers
from deviate.report.page import Block, Cell, Row, Section, Sentences, Table
from deviate.report.pages.cells import columns, number, share_cell
from deviate.report.text.comparison.predictions import changed_sentences, group_note, group_sentences, screen_changed


def brief_predictions(comparison: Comparison) -> Section | None:
    """Say how many predictions change, without a title."""
    section = predictions(comparison)
    return section and msgspec.structs.replace(section, title="")


def screen_predictions(comparison: Comparison) -> Section | None:
    """Say of one pair how many predictions change, beside what retraining changes."""
    pair = comparison.pairs[0]
    if len(comparison.pairs) > 1 or pair.predictions is None:
        return None
    sentences = [*screen_changed(pair.predictions, pair.a, pair.b), *_on_groups(pair)]
    return Section(slug="predictions", blocks=[Sentences(sentences=sentences)])


def predictions(comparison: Comparison) -> Section | None:
    """Say for each pair how many predictions change, by groups where there are any."""
    blocks: list[Block] = []
    for pair in comparison.pairs:
        if pair.predictions is None:
            continue
        about = f"{pair.a} against {pair.b}" if len(comparison.pairs) > 1 else ""
        sentences = [*changed_sentences(pair.predictions, pair.a, pair.b), *_on_groups(pair)]
        blocks.append(Sentences(about=about, sentences=sentences))
        if pair.predictions.groups:
            blocks.append(_group_table(pair, pair.predictions.groups, comparison.correction))
    return Section(slug="predictions", title="Predictions that change", blocks=blocks) if blocks else None


def _on_groups(pair: PairComparison) -> list[str]:
    assert pair.predictions is not None
    return group_sentences(pair.predictions.groups, pair.a, pair.b, one_draw=bool(pair.draws.unshared))


def _group_table(pair: PairComparison, groups: Sequence[ChangedGroup], correction: str) -> Table:
    heads = "group", "examples", f"accuracy of {pair.a}", f"accuracy of {pair.b}", "changed", "beyond", "p"
    return Table(
        caption="Predictions that change, by group of examples",
        slug=slug("groups", pair.a, pair.b),
        columns=columns(*heads, last="verdict"),
        rows=[
            Row(
                cells=[
                    Cell(each.label),
                    number(str(each.examples), each.examples),
                    *(share_cell(share) for share in (each.accuracy_a, each.accuracy_b)),
                    *(share_cell(estimate.value) for estimate in (each.between, each.excess)),
                    number(Numbers(pair.alpha).p(each.p_adjusted), each.p_adjusted),
                    Cell(_verdict(each, pair)),
                ]
            )
            for each in groups
        ],
        notes=[
            "changed: from a run of the one to a run of the other; beyond: more than retraining changes.",
            group_note(groups[0].family, correction, next((each.test for each in groups if each.p is not None), "")),
        ],
    )


def _verdict(group: ChangedGroup, pair: PairComparison) -> str:
    if pair.draws.unshared:
        return "no verdict"
    better = {"a better": f"{pair.a} better", "b better": f"{pair.b} better"}
    return better.get(str(group.verdict), str(group.verdict))
