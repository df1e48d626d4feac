"""The tables of metrics: one list of columns, and which of them each reader is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.metric import MetricSpread
from deviate.inference.variant import VariantFacts
from deviate.report.figures.experiment import Charts
from deviate.report.figures.figure import slug
from deviate.report.numbers import show_level
from deviate.report.page import Block, Cell, Column, Fold, Hint, Row, Section, Sentences, Table
from deviate.report.pages.cells import number, telling
from deviate.report.strips import STRIP_HEAD, STRIP_WIDTH, strip
from deviate.report.text.factors import varied_statement
from deviate.report.text.footnotes import footnotes
from deviate.report.text.metric_text import MetricText, Places, places
from deviate.report.text.words import count
from deviate.shell_words import typed_word

#: Metrics on a brief page before the rest is counted; more do not fit a screen beside what is said around them.
METRICS_SHOWN = 15

#: The order of `inference.order.ordered`, for people.
ORDER = (
    "Main metric first, then other measures of quality, losses, other values, resources "
    "and times; within each the largest CV first."
)

#: Variants whose tables are all open on a full page.
OPEN = 2


class MetricColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a metric, as a column."""

    column: Column
    cell: Callable[[MetricSpread, MetricText], Cell]


def brief_metrics(variant: VariantFacts, facts: ExperimentFacts) -> list[Block]:
    """Return the table of the metrics of one variant with its footnotes, as far as there is room on a screen."""
    if not variant.completed or not variant.metrics:
        return []
    table = metric_table(variant, facts)
    notes = footnotes(variant.metrics)
    return [table, *([Sentences(sentences=notes, emphasis="quiet", listed=True)] if notes else [])]


def metric_table(variant: VariantFacts, facts: ExperimentFacts, most: int = METRICS_SHOWN) -> Table:
    """Return the table of the first metrics of one variant, `most` at most."""
    chosen = variant.metrics[:most]
    more, rest = len(variant.metrics) - len(chosen), "-v" if most < METRICS_SHOWN else "--format md"
    command = f"deviate report {typed_word(facts.experiment)} {rest}"
    numbers = _brief(variant, facts.level)
    table = Table(
        caption=variant.variant if len(facts.variants) > 1 else "",
        remark=_completed(variant),
        titled=True,
        continued=most == METRICS_SHOWN,
        columns=[Column(head="metric", numeric=False), *(each.column for each in numbers)],
        rows=[_brief_row(metric, numbers) for metric in chosen],
        more=Hint(text=f"and {count(more, 'more metric')}; all of them:", command=command) if more else None,
    )
    return telling([table])[0]


def _brief(variant: VariantFacts, level: float) -> list[MetricColumn]:
    if _is_single(variant):
        return [_numbers("value", "mean", emphasis="strong")]
    unequal = len({metric.n for metric in variant.metrics}) > 1
    interval = f"{show_level(level)} CI of SD"
    return [
        _numbers("n", "n", sacrifice=1 if unequal else 8, emphasis="quiet"),
        _numbers("mean", "mean", emphasis="strong"),
        _numbers("SD", "sd"),
        _numbers("CV", "cv", sacrifice=3),
        _numbers(interval, "ci_sd", sacrifice=2, emphasis="quiet"),
        _numbers("range", "range", sacrifice=5),
        _numbers("median", "median", sacrifice=7, emphasis="quiet"),
        _numbers("min", "min", sacrifice=6, emphasis="quiet"),
        MetricColumn(
            # Between the columns of minimum and maximum, which say where its ends are.
            column=Column(head="runs", head_alone=STRIP_HEAD, numeric=False, centered=True, drawn=True, sacrifice=4),
            cell=lambda metric, text: Cell(_strip(metric)),
        ),
        _numbers("max", "max", sacrifice=6, emphasis="quiet"),
    ]


def _is_single(variant: VariantFacts) -> bool:
    """Whether one run has given all there is: its value is mean, median, smallest and largest at once."""
    return all(metric.n == 1 for metric in variant.metrics)


def _strip(metric: MetricSpread) -> str:
    return "all equal".center(STRIP_WIDTH) if metric.spread.identical else strip(metric.values)


def _brief_row(metric: MetricSpread, numbers: Sequence[MetricColumn]) -> Row:
    text = MetricText(metric)
    # How the times of iterations become one of a run takes the room of a column, and is in the methods.
    remark = "" if metric.kind == "speed" else text.aggregate
    return Row(cells=[Cell(text.name, remark=remark), *(each.cell(metric, text) for each in numbers)])


def _numbers(head: str, name: str, **column: object) -> MetricColumn:
    """Return the column of a number that `MetricText` and, where it is one, `Spread` have under `name`."""
    return MetricColumn(
        column=Column(head=head, **column),  # type: ignore[arg-type]
        cell=lambda metric, text: number(getattr(text, name), _value(metric, name)),
    )


def _value(metric: MetricSpread, name: str) -> float | None:
    if name in ("ci_mean", "ci_sd"):
        interval = metric.ci_mean if name == "ci_mean" else metric.ci_sd
        return interval.low if interval.known else None
    value: float | None = getattr(metric.spread, name)
    return value


def full(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Return every metric of every variant with its statistics."""
    measured = [variant for variant in facts.variants if variant.completed and variant.metrics]
    if not measured:
        return None
    note = Sentences(sentences=[ORDER], emphasis="quiet")
    folded = len(facts.variants) > OPEN
    tables = [_full_table(variant, facts.level, titled=not folded) for variant in measured]
    blocks: list[Block] = []
    for index, (variant, table) in enumerate(zip(measured, tables, strict=True)):
        notes = footnotes(variant.metrics)
        parts: list[Block] = [table, *([Sentences(sentences=notes, listed=True, emphasis="quiet")] if notes else [])]
        blocks += [Fold(title=table.caption, blocks=parts, open=not index)] if folded else parts
    return Section(slug="metrics", title="Metrics over runs", blocks=[*blocks, note])


def _full_table(variant: VariantFacts, level: float, *, titled: bool) -> Table:
    share = show_level(level)
    names = ("n", "mean", "SD", "CV", "min", "max", "range", "median", "IQR")
    numbers = [
        *(_numbers(name, name.lower()) for name in names),
        _numbers(f"{share} CI of the mean", "ci_mean"),
        _numbers(f"{share} CI of the SD", "ci_sd"),
    ]
    if _is_single(variant):
        numbers = [_numbers("value", "mean")]
    rows = []
    for metric in variant.metrics:
        text = MetricText(metric)
        cells = [Cell(text.name, remark="seen in the output" if metric.observed else metric.site), Cell(text.aggregate)]
        rows.append(Row(cells=[*cells, *(each.cell(metric, text) for each in numbers)]))
    return Table(
        caption=f"{variant.variant}: {count(len(variant.metrics), 'metric')} over {count(variant.completed, 'run')}",
        titled=titled,
        columns=[*(Column(head=head, numeric=False) for head in ("metric", "aggregate")), *(n.column for n in numbers)],
        rows=rows,
    )


def paper(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Return a table of the metrics of each variant, for an article."""
    digits = places(metric for variant in facts.variants for metric in variant.metrics)
    tables: Sequence[Block] = [
        _paper_table(variant, facts, digits)
        for variant in facts.variants
        if any(metric.n for metric in variant.metrics)
    ]
    return Section(slug="metrics", blocks=list(tables)) if tables else None


def _paper_table(variant: VariantFacts, facts: ExperimentFacts, digits: Places) -> Table:
    share = show_level(facts.level)
    heads = {"n": "n", "Mean": "mean", "SD": "sd", f"{share} CI of the mean": "ci_mean",
             f"{share} CI of the SD": "ci_sd", "Min": "min", "Max": "max"}  # fmt: skip
    numbers = [_numbers(head, name) for head, name in heads.items()]
    rows = []
    for metric in variant.metrics:
        if metric.n:
            text = MetricText(metric, digits)
            how = f" ({text.aggregate})" if text.aggregate else ""
            rows.append(Row(cells=[Cell(f"{text.name}{how}"), *(each.cell(metric, text) for each in numbers)]))
    name = f"{facts.experiment}, {variant.variant}" if len(facts.variants) > 1 else facts.experiment
    return Table(
        caption=f"{name}: {_training_runs(variant)}. {varied_statement(variant)} SD: of single runs.",
        slug=slug("metrics", facts.experiment, variant.variant),
        columns=[Column(head="Metric", numeric=False), *(each.column for each in numbers)],
        rows=rows,
    )


def _training_runs(variant: VariantFacts) -> str:
    """Count the runs that the numbers of a paper are of; those that are missing are said."""
    lost = f" of {variant.planned}; the others did not complete" if variant.completed < variant.planned else ""
    return f"{count(variant.completed, 'training run')}{lost}"


def _completed(variant: VariantFacts) -> str:
    return f"{variant.completed} of {count(variant.planned, 'run')} completed"
