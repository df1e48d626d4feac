"""How much runs differ by what varies, what was held fixed, and what fingerprints prove of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deviate.facts.experiment import ExperimentFacts
from deviate.facts.proof import Evidence
from deviate.facts.variant import VariantFacts
from deviate.report.page import (
    Answer,
    Block,
    ByMetric,
    Cell,
    Column,
    Emphasis,
    Facts,
    Fold,
    Panel,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.curves import Charts
from deviate.report.topics.figures import drawings, main_name
from deviate.report.topics.headline import across_notes, price_sentences
from deviate.report.topics.proof import LEGEND, evidence_sentences, identity_statement, mark
from deviate.report.topics.sources import sources_sentence, sources_table
from deviate.report.topics.sources_figure import has_effect
from deviate.report.topics.varied import factors_of
from deviate.report.words import disturbed

_EMPHASES: dict[str, Emphasis] = {
    "varied": "accent",
    "identical": "plain",
    "partly": "warning",
    "absent": "quiet",
    "unknown": "quiet",
}


def sources_by_metric(facts: ExperimentFacts, charts: Charts) -> list[Block]:
    """Say what makes runs differ, metric by metric: in words, in a table and as a figure."""
    figures = drawings(charts, "factors")
    panels = [
        Panel(
            metric=table.metric,
            blocks=[
                Answer(sentences=sources_sentence(table, facts)),
                *figures.get(table.metric, []),
                sources_table(table, facts, whole=not place),
            ],
        )
        for place, table in enumerate(facts.across)
    ]
    notes = across_notes(facts.across)
    small: list[Block] = [Sentences(sentences=notes, emphasis="quiet")] if notes else []
    return [ByMetric(panels=panels, first=main_name(facts)), *small] if panels else []


def sources_for_paper(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Return what makes runs differ, a table a metric."""
    tables: list[Block] = [
        sources_table(table, facts, whole=not place) for place, table in enumerate(facts.across) if has_effect(table)
    ]
    prices = price_sentences(facts.prices)
    small: list[Block] = [Sentences(sentences=prices)] if prices else []
    return Section(slug="factors", blocks=[*tables, *small]) if tables else None


def statements(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say what was bit-identical, once for all variants with the same statement."""
    variants: dict[str, list[str]] = {}
    for variant in facts.variants:
        if statement := identity_statement(variant):
            variants.setdefault(statement, []).append(variant.variant)
    if not variants:
        return None
    pairs = [(", ".join(names), statement) for statement, names in variants.items()]
    return Section(slug="statements", blocks=[Facts(pairs=pairs, emphasis="strong")])


def price(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say what determinism costs, where some runs hold kernels fixed and others do not."""
    sentences = price_sentences(facts.prices)
    if not sentences:
        return None
    title = "Price of determinism"
    return Section(slug="price", title=title, blocks=[Sentences(sentences=sentences, listed=True)])


def fingerprints(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Return what the fingerprints show, a row per variant; None where none were taken."""
    table = _evidence("fingerprints", facts.variants, lambda each: _EMPHASES[each.found])
    return Section(slug="fingerprints", blocks=[table]) if table else None


def _evidence(
    head: str, variants: Sequence[VariantFacts], emphasis: Callable[[Evidence], Emphasis] = lambda each: "plain"
) -> Table | None:
    proven = [variant for variant in variants if variant.evidence and variant.completed > 1]
    if not proven:
        return None
    names = list(dict.fromkeys(each.name for variant in proven for each in variant.evidence))
    return Table(
        caption="What fingerprints show",
        columns=[
            Column(head=head, numeric=False),
            *(Column(head=name, numeric=False, centered=True, sacrifice=place) for place, name in enumerate(names)),
        ],
        continued=True,
        rows=[Row(cells=[Cell(variant.variant), *_marks(variant, names, emphasis)]) for variant in proven],
        notes=[LEGEND],
    )


def _marks(variant: VariantFacts, names: Sequence[str], emphasis: Callable[[Evidence], Emphasis]) -> list[Cell]:
    by_name = {each.name: each for each in variant.evidence}
    evidence = [by_name.get(name) for name in names]
    return [
        Cell(mark(each), emphasis="warning" if each.broken else emphasis(each)) if each else Cell("")
        for each in evidence
    ]


def held(facts: ExperimentFacts, charts: Charts) -> Section:
    """Say of each variant what varied on purpose and what was held, and what fingerprints prove."""
    table = _evidence("variant", facts.variants)
    folds = [Fold(title=title, blocks=blocks) for title, blocks in map(_held, facts.variants)]
    return Section(slug="held", title="Proofs, by variant", blocks=[*([table] if table else []), *folds])


def _held(variant: VariantFacts) -> tuple[str, list[Block]]:
    factors = factors_of(variant)
    pairs = [("Varied", ", ".join(factors.varied) or "nothing on purpose"), ("Held", ", ".join(factors.held))]
    statement = identity_statement(variant)
    sentences = [
        *([statement] if statement else []),
        *evidence_sentences(variant),
        *(f"{run.name} ran {how}." for run in variant.runs if (how := disturbed(run))),
        *factors.caveats,
    ]
    blocks: list[Block] = [Facts(pairs=[pair for pair in pairs if pair[1]])]
    blocks += [Sentences(sentences=sentences, listed=True)] if sentences else []
    return f"{variant.variant}: {factors.gloss}", blocks
