"""How much runs differ by what varies, what was held fixed, and what fingerprints prove of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deviate.core.shell_words import typed_word
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.proof import Evidence
from deviate.facts.sources import SpreadAcross, VariantSpread, rank
from deviate.facts.variant import VariantFacts
from deviate.observe.fingerprints import BATCHES, INPUT
from deviate.report.figures.figure import slug
from deviate.report.numbers import show_level
from deviate.report.page import (
    Answer,
    Block,
    ByMetric,
    Cell,
    Column,
    Emphasis,
    Facts,
    Fold,
    Hint,
    Panel,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.strips import STRIP_HEAD, strip
from deviate.report.topics.curves import Charts
from deviate.report.topics.figures import drawings, main_name
from deviate.report.topics.headline import across_notes, alarms, price_sentences, source_sentences
from deviate.report.topics.metric_text import SpreadText
from deviate.report.topics.metrics import heading, number
from deviate.report.topics.proof import LEGEND, evidence_sentences, identity_statement, mark
from deviate.report.topics.varied import factors_of
from deviate.report.words import count, disturbed

#: Metrics whose spread is shown by variant on a brief page before the rest is counted.
ACROSS_SHOWN = 5

#: Variants that are all open on a full page.
OPEN = 2

TITLE = "How much runs differ, by what varies"

_EMPHASES: dict[str, Emphasis] = {
    "varied": "accent",
    "identical": "plain",
    "partly": "warning",
    "absent": "quiet",
    "unknown": "quiet",
}


def _spread_columns(first: str, mean: str, interval: str, whole: str) -> list[Column]:
    return [
        Column(head=first, numeric=False),
        Column(head="n", sacrifice=3),
        Column(head=mean, sacrifice=1),
        Column(head="SD"),
        Column(head=interval, sacrifice=4),
        *([Column(head=whole, sacrifice=2)] if whole else []),
    ]


def _ranked(table: SpreadAcross) -> list[VariantSpread]:
    """Return the variants whose runs differ, the largest SD first, and those without an SD; all where none differ."""
    ranking = rank(table)
    return [*ranking.differing, *ranking.unknown] if ranking.differing else table.rows


def _spread_cells(row: VariantSpread, table: SpreadAcross, *, whole: bool) -> list[Cell]:
    """Return the cells of one variant."""
    text = SpreadText(row, table)
    return [
        Cell(row.variant),
        number(text.n, row.n),
        number(text.mean, row.mean),
        number(text.sd, row.sd),
        number(text.ci_sd, row.ci_sd.low if row.ci_sd.known else None),
        *([number(text.relative, row.relative)] if whole else []),
    ]


def spread_table(facts: ExperimentFacts, most: int = ACROSS_SHOWN) -> Table:
    """Return the spread of the main metrics, `most` at most, in one table, a row per variant."""
    shown = facts.across[:most]
    whole = next((table.whole for table in shown if table.whole), "")
    more = len(facts.across) - len(shown)
    command = f"deviate report {typed_word(facts.experiment)} {'-v' if most < ACROSS_SHOWN else '--format md'}"
    share = show_level(facts.level)
    return Table(
        caption=TITLE,
        continued=most == ACROSS_SHOWN,
        columns=[
            *_spread_columns("what varies", "mean", f"{share} CI of SD", f"of {whole}" if whole else ""),
            Column(head=STRIP_HEAD, numeric=False, centered=True, drawn=True, sacrifice=5),
        ],
        rows=[row for table in shown for row in _strip_rows(table, facts, whole=bool(whole))],
        more=Hint(text=f"and {count(more, 'more metric')}; all of them:", command=command) if more else None,
        notes=across_notes(shown),
    )


def _strip_rows(table: SpreadAcross, facts: ExperimentFacts, *, whole: bool) -> list[Row]:
    """Draw the runs of each variant on the scale from the smallest to the largest value of any of them."""
    values = {
        variant.variant: metric.values
        for variant in facts.variants
        for metric in variant.metrics
        if (metric.name, metric.aggregate) == (table.metric, table.aggregate)
    }
    every = [value for some in values.values() for value in some]
    ends = (min(every, default=0.0), max(every, default=0.0))
    unit = f", {table.unit}" if table.unit else ""
    return [
        heading(table.metric, f"({table.aggregate}{unit})"),
        *(
            Row(
                cells=[
                    *_spread_cells(row, table, whole=whole),
                    Cell(strip(values.get(row.variant, []), ends=ends)),
                ]
            )
            for row in _ranked(table)
        ),
    ]


def ranking(facts: ExperimentFacts, *, brief: bool = False) -> list[Block]:
    """Rank what varies in the first metric by how much runs differ, in words; briefly where a table shows the SDs."""
    ranked = source_sentences(facts.across[0], facts.level, brief=brief) if facts.across else []
    sentences = [*alarms(facts.variants), *ranked] if ranked else []
    return [Answer(sentences=sentences)] if sentences else []


def ranking_by_metric(facts: ExperimentFacts, charts: Charts) -> list[Block]:
    """Rank what varies by how much runs differ, metric by metric: in words, as a figure and in a table."""
    figures = drawings(charts, "factors")
    panels = [
        Panel(
            metric=table.metric,
            blocks=[
                *figures.get(table.metric, []),
                Answer(sentences=source_sentences(table, facts.level)),
                _full_table(table, facts.level),
            ],
        )
        for table in facts.across
    ]
    notes = across_notes(facts.across)
    small: list[Block] = [Sentences(sentences=notes, emphasis="quiet")] if notes else []
    return [ByMetric(panels=panels, first=main_name(facts)), *small] if panels else []


def _full_table(table: SpreadAcross, level: float) -> Table:
    unit = f", {table.unit}" if table.unit else ""
    whole = f"SD as a share of {table.whole}" if table.whole else ""
    return Table(
        caption=f"{table.metric} ({table.aggregate}{unit})",
        titled=True,
        columns=_spread_columns("variant", "mean", f"{show_level(level)} CI of the SD", whole),
        rows=[Row(cells=_spread_cells(row, table, whole=bool(whole))) for row in _ranked(table)],
    )


def spread_for_paper(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Return the spread of all metrics by variant in one table."""
    if not facts.across:
        return None
    wholes = sorted({table.whole for table in facts.across if table.whole})
    of = f" Shares are of the SD of {', '.join(wholes)}." if wholes else ""
    notes = " ".join([*across_notes(facts.across), *price_sentences(facts.prices)])
    table = Table(
        caption=f"{facts.experiment}: how much runs differ, by what varies.{of} {notes}".strip(),
        slug=slug("factors", facts.experiment),
        columns=_spread_columns(
            "What varies", "Mean", f"{show_level(facts.level)} CI of the SD", "SD, share" if wholes else ""
        ),
        rows=[
            row
            for table in facts.across
            for row in (
                heading(f"{table.metric} ({table.aggregate}{f', {table.unit}' if table.unit else ''})"),
                *(Row(cells=_spread_cells(row, table, whole=bool(wholes))) for row in table.rows),
            )
        ],
    )
    return Section(slug="factors", blocks=[table])


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
    """Say what holding the implementation costs, where some runs hold it and others do not."""
    sentences = price_sentences(facts.prices)
    if not sentences:
        return None
    title = "Price of holding the implementation"
    return Section(slug="price", title=title, blocks=[Sentences(sentences=sentences, listed=True)])


#: Columns that a narrow terminal does without, the highest first: what broken promises there are is said in words.
_SACRIFICE = {INPUT: 2, BATCHES: 1}


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
            *(Column(head=name, numeric=False, centered=True, sacrifice=_SACRIFICE.get(name, 0)) for name in names),
        ],
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
    folds = [
        Fold(title=title, blocks=blocks, open=not index or len(facts.variants) <= OPEN)
        for index, (title, blocks) in enumerate(_held(variant) for variant in facts.variants)
    ]
    return Section(
        slug="held", title="What varied, and what was held fixed", blocks=[*([table] if table else []), *folds]
    )


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
