"""The tables of metrics: their columns, cells and footnotes, and which of them each reader is shown."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from deviate.core.shell_words import typed_word
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread
from deviate.facts.variant import VariantFacts
from deviate.observe.metrics import TIME_PER_ITERATION
from deviate.report.figures import slug
from deviate.report.numbers import UNKNOWN, show_level, show_share, significant
from deviate.report.page import Block, Cell, Code, Column, Fold, Hint, Remark, Remarks, Row, Section, Sentences, Table
from deviate.report.strips import STRIP_HEAD, STRIP_WIDTH, strip
from deviate.report.topics.caveat import Caveat
from deviate.report.topics.curves import Charts
from deviate.report.topics.distribution import MetricText, Places, places
from deviate.report.topics.varied import varied_statement
from deviate.report.words import count, listed
from deviate.stats.intervals import CHI_SQUARE, FEWEST_RUNS, Interval

# What a reader must know to read the table of one variant.

#: The interval of an SD from `FEWEST_RUNS` runs on.
BOTH = "the wider of chi-square and Bonett's, which allows for heavy tails"


#: Whole numbers that a floating-point number holds are exact up to this; larger ones than a program counts in 64 bits
#: were floating-point numbers from the start.
LARGEST_EXACT, LARGEST_WHOLE = 2.0**53 - 1, 2.0**64

#: The same where some intervals are of fewer runs: they are narrower than those of a run more.
FEW_THEN_BOTH = (
    f"CI of the SD: chi-square below {FEWEST_RUNS} runs, which assumes normal values; from {FEWEST_RUNS} runs on "
    f"{BOTH}."
)


def sd_methods(intervals: Iterable[Interval]) -> set[str]:
    """Return the methods of the intervals that are known."""
    return {interval.method for interval in intervals if interval.known}


def footnotes(metrics: Sequence[MetricSpread]) -> list[str]:
    """Return a sentence for each gap in the table, and for each metric whose test size is known."""
    return [*_zero_times(metrics), *_without_cv(metrics), *_sd_intervals(metrics), *asked_footnotes(metrics)]


def asked_footnotes(metrics: Sequence[MetricSpread]) -> list[str]:
    """Return what ``test_size`` and ``weak`` ask for."""
    return [*resolution_footnotes(metrics), *weak_footnotes(metrics)]


def _sd_intervals(metrics: Sequence[MetricSpread]) -> Iterable[str]:
    """Say how the intervals of the SD in the table were made, and where the way changes if some have few runs."""
    methods = sd_methods(metric.ci_sd for metric in metrics)
    if CHI_SQUARE in methods:
        yield FEW_THEN_BOTH
    elif methods:
        yield f"CI of the SD: {BOTH}."


def is_zero_time(metric: MetricSpread) -> bool:
    """Whether a time or rate is 0 in every run, so that nothing was measured."""
    return metric.kind == "speed" and metric.n > 1 and metric.spread.identical and metric.spread.mean == 0


def _zero_times(metrics: Sequence[MetricSpread]) -> Iterable[str]:
    if names := [metric.name for metric in metrics if is_zero_time(metric)]:
        yield f"{listed(names)} {'is' if len(names) == 1 else 'are'} 0 in every run: rounded or not measured."


def _without_cv(metrics: Sequence[MetricSpread]) -> Iterable[str]:
    withheld = [
        (metric.name, metric.spread.withheld["cv"])
        for metric in metrics
        if metric.n > 1 and "cv" in metric.spread.withheld and not is_zero_time(metric)
    ]
    for reason in dict.fromkeys(reason for _, reason in withheld):
        yield f"No CV for {listed([name for name, why in withheld if why == reason])}: {reason}."


def resolution_footnotes(metrics: Iterable[MetricSpread]) -> Iterable[str]:
    """Say of each metric whose test size is known how fine it is, and what the finite test set does by itself."""
    for metric in metrics:
        resolution = metric.resolution
        if resolution:
            yield (
                f"{metric.name}: one of {resolution.examples} test examples is worth {resolution.step:.2g}, and the "
                f"finite test set alone gives each run a standard error of {resolution.standard_error:.2g}."
                f"{_beside(metric)}"
            )


def _beside(metric: MetricSpread) -> str:
    test = metric.finite_test
    if test is None or test.sd_in_errors is None or test.share_at_most is None:
        return ""
    if not metric.ci_sd.low or not metric.ci_sd.high:
        return f" The SD between runs is {test.sd_in_errors:.2g} times that."
    low, high = metric.ci_sd.low / test.standard_error, metric.ci_sd.high / test.standard_error
    level = show_level(metric.ci_sd.level)
    all_of_it = "all of the variance may be only the finite test set" if low <= 1 else ""
    share = f"at most {100 / low**2:.0f} % of the variance is only the finite test set"
    return (
        f" The SD between runs is {test.sd_in_errors:.2g} times that ({level} CI [{low:.2g}, {high:.2g}]): "
        f"{all_of_it or share}."
    )


def rounded_footnotes(metrics: Iterable[MetricSpread]) -> list[str]:
    """Say which metrics have whole numbers of 64 bits that a floating-point number does not hold exactly."""
    names = [
        metric.name for metric in metrics if any(LARGEST_EXACT < abs(value) < LARGEST_WHOLE for value in metric.values)
    ]
    if not names:
        return []
    return [
        f"{listed(list(dict.fromkeys(names)))}: whole numbers beyond 2^53 are rounded to 53 bits, so that runs which "
        "differ by a few units may count as equal."
    ]


def weak_footnotes(metrics: Iterable[MetricSpread]) -> Iterable[str]:
    """Say of each metric what its statistics are with the weak runs."""
    for metric in metrics:
        if metric.including_weak is None or metric.kind == "speed":
            continue
        whole, without = MetricText(metric.including_weak), MetricText(metric)
        yield (
            f"{metric.name} {metric.aggregate} with the weak runs: n {whole.n}, mean {whole.mean}, SD {whole.sd}, min "
            f"{whole.min}, max {whole.max}; without them: n {without.n}, mean {without.mean}, SD {without.sd}."
        )


# Cells and columns that several tables share.

#: Title of the section of caveats.
TRUST = "Caveats"


def number(text: str, value: float | None = None) -> Cell:
    """Return the cell of a number; one that is not finite is sorted as an unknown one."""
    return Cell(text, value if value is not None and math.isfinite(value) else None)


def share_cell(value: float | None) -> Cell:
    """Return the cell of a share of examples."""
    return number(show_share(value), value)


def points_cell(value: float | None) -> Cell:
    """Return the cell of a difference of shares, in percentage points."""
    return plain_cell(None if value is None else 100 * value)


def plain_cell(value: float | None) -> Cell:
    """Return the cell of a number with two digits."""
    return number(UNKNOWN if value is None else significant(value, 2), value)


def columns(*heads: str, words: int = 1, last: str = "") -> list[Column]:
    """Return columns: the first `words` hold words, the others numbers, and a `last`, if any, words again."""
    numbers = [Column(head=head, numeric=index >= words) for index, head in enumerate(heads)]
    return [*numbers, *([Column(head=last, numeric=False)] if last else [])]


def again_sections(command: str) -> list[Section]:
    """Return the section with what to type for the same page; none where it is not known."""
    return [Section(slug="again", title="How to get this again", blocks=[Code(lines=[command])])] if command else []


def telling(tables: Sequence[Table]) -> list[Table]:
    """Leave out the columns that say nothing in any of the tables, which have the same ones."""
    rows = [row for table in tables for row in table.rows]
    kept = [
        index
        for index in range(len(tables[0].columns))
        if not index or any(row.cells[index].text not in ("", UNKNOWN) for row in rows)
    ]
    return [
        msgspec.structs.replace(
            table,
            columns=[table.columns[index] for index in kept],
            rows=[msgspec.structs.replace(row, cells=[row.cells[index] for index in kept]) for row in table.rows],
        )
        for table in tables
    ]


def remark_blocks(remarks: Iterable[Remark]) -> list[Block]:
    """Return the remarks as one block; none where there are none."""
    listed = list(remarks)
    return [Remarks(remarks=listed)] if listed else []


def caveat_blocks(caveats: Iterable[Caveat]) -> list[Block]:
    """Return the caveats as one block; none where there are none."""
    return remark_blocks(map(_remark, caveats))


def _remark(caveat: Caveat) -> Remark:
    return Remark(message=caveat.message, severity=caveat.severity)


#: Metrics on a brief page before the rest is counted; more do not fit a screen beside what is said around them.
METRICS_SHOWN = 15

#: The order of `facts.metric.ordered`, for people.
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


def metric_table(variant: VariantFacts, facts: ExperimentFacts) -> Table:
    """Return the table of the first metrics of one variant."""
    chosen = variant.metrics[:METRICS_SHOWN]
    more, command = len(variant.metrics) - len(chosen), f"deviate report {typed_word(facts.experiment)} --format md"
    numbers = _brief(variant, facts.level)
    table = Table(
        caption=variant.variant if len(facts.variants) > 1 else "",
        remark=_completed(variant),
        titled=True,
        continued=True,
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
    remark = "" if metric.name == TIME_PER_ITERATION else text.aggregate
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
        cells = [
            Cell(text.name, remark="read from the output" if metric.observed else metric.site),
            Cell(text.aggregate),
        ]
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


# What a program reports twice.

T = TypeVar("T")

#: From so many metrics on that a number alone tells apart they are a series, such as the accuracy of each class.
FEWEST_IN_SERIES = 4


def on_screen(metrics: Sequence[T], most: int, name: Callable[[T], str]) -> list[T]:
    """Return the metrics that a screen has room for: where that is not all, none of a series."""
    if len(metrics) <= most:
        return [*metrics]
    series = [re.sub(r"\d+", "", name(metric)) for metric in metrics]
    counts = Counter(series)
    alone = [metric for metric, of in zip(metrics, series, strict=True) if counts[of] < FEWEST_IN_SERIES]
    return alone[:most] or [*metrics[:most]]


def distinct(metrics: Iterable[T], samples: Callable[[T], Sequence[MetricSpread]]) -> list[T]:
    """Return the metrics without those whose `samples` are those of an earlier one, under another name."""
    kept: list[T] = []
    for metric in metrics:
        sides = samples(metric)
        if not any(all(map(_are_twins, sides, samples(other))) for other in kept):
            kept.append(metric)
    return kept


def _are_twins(metric: MetricSpread, other: MetricSpread) -> bool:
    """Tell whether two metrics had the same values in all of several runs, to the digits that the program prints."""
    if metric.runs != other.runs or metric.spread.identical or metric.n < 2:
        return False
    step = max(10.0 ** -(each.decimals if each.decimals is not None else 9) for each in (metric, other))
    return all(abs(a - b) <= step / 2 for a, b in zip(metric.values, other.values, strict=True))
