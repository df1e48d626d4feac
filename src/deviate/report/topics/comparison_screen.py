"""A comparison at a terminal: one screen, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from deviate.facts.compared_metric import MetricComparison
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.metric import MetricSpread
from deviate.observe.headline import main_metric
from deviate.report.numbers import Numbers, metric_place, show, show_interval
from deviate.report.page import (
    HEAD_LINES,
    LINES,
    Answer,
    Block,
    Cell,
    Column,
    Fold,
    Hint,
    Row,
    Section,
    Sentences,
    Table,
    lines_taken,
)
from deviate.report.topics.caveat import WARNINGS_ON_SCREEN, Caveat, counted_caveats, split_caveats
from deviate.report.topics.comparison_caveats import comparison_caveats, shared_names, short_names
from deviate.report.topics.metrics import caveat_blocks, more_blocks, more_sentence, number, telling
from deviate.report.topics.reasons import omnibus_p, reasons, short_reasons, spread_reasons
from deviate.report.topics.verdicts import (
    Beside,
    MetricCells,
    adjusted_text,
    comparison_headline,
    leading_headline,
    main_sides,
    mean_and_sd,
    places,
    row_verdict,
    sides_beside,
)
from deviate.report.words import count
from deviate.stats.intervals import Interval

# What a table shows of one metric of a comparison.

#: Cells on the means of a metric.
TESTED = ("a", "b", "difference", "ci", "p")


def pair_names(comparison: Comparison, pair: PairComparison) -> str:
    """Return what tells a pair from others; empty where there is one only."""
    return f"{pair.a} against {pair.b}, " if len(comparison.pairs) > 1 else ""


def places_text(lowest: int, highest: int, between: str) -> str:
    """Write the places that a side may have."""
    return f"{lowest}" if lowest == highest else f"{lowest}{between}{highest}"


def _cells(metric: MetricComparison, pair: PairComparison) -> dict[str, Cell]:
    """Return every cell that a table may show of one metric."""
    contrast, text = metric.contrast, MetricCells(metric, pair)
    aggregate = f" ({text.aggregate})" if text.aggregate else ""
    return {
        "name": Cell(text.name),
        "metric": Cell(text.name + text.unit),
        "aggregate": Cell(text.aggregate),
        "metric, aggregate": Cell(text.name + text.unit, remark=text.aggregate),
        "metric (aggregate)": Cell(text.name + text.unit + aggregate),
        "n": number(text.runs, contrast.n_a),
        "none": Cell(""),
        "a": Cell(text.a, metric.a.spread.mean, brief=text.mean_a),
        "b": Cell(text.b, metric.b.spread.mean, brief=text.mean_b),
        "difference": number(text.difference, contrast.difference.value),
        "ci": number(text.ci, _low(contrast.difference.interval)),
        "p": number(text.p, metric.p_adjusted),
        "ratio": number(text.ratio, contrast.sd_ratio.value),
        "ratio_ci": number(text.ratio_ci, _low(contrast.sd_ratio.interval)),
        "spread_p": number(text.spread_p, metric.spread_p_adjusted),
        "verdict": Cell(text.verdict),
        "short verdict": Cell(text.short_verdict),
        "noisier": Cell(text.noisier),
        "better": Cell(_better(metric, pair)),
    }


def _low(interval: Interval) -> float | None:
    return interval.low if interval.known else None


def _better(metric: MetricComparison, pair: PairComparison) -> str:
    """Name the better side in as few words as a column of a paper has room for."""
    short = {"a better": pair.a, "b better": pair.b, "no difference shown": "–"}
    return short.get(metric.verdict, metric.verdict)


def metric_rows(metrics: Iterable[MetricComparison], pair: PairComparison, *names: str) -> list[Row]:
    """Return a row per metric with the cells that are `shown`."""
    cells = (_cells(metric, pair) for metric in metrics)
    return [Row(cells=[each[name] for name in names]) for each in cells]


# Three or more experiments on a screen: a row each, beside the one that leads.

#: Names that are longer take several lines.
NAMES_FOLD_AT = 48


def sides_table(comparison: Comparison) -> Table:
    """Return one row an experiment on the main metric: its mean, its difference from the first row, and a verdict."""
    sides, beside = main_sides(comparison), {each.label: each for each in sides_beside(comparison)}
    digit = metric_place(next(iter(sides.values())).decimals, *(side.spread.sd for side in sides.values()))
    level = Numbers(comparison.alpha).level()
    return Table(
        caption="",
        columns=[
            Column(head="experiment", numeric=False, fold_at=NAMES_FOLD_AT),
            Column(head="n", sacrifice=4, emphasis="quiet"),
            Column(head="mean ± SD", sacrifice=1),
            Column(head="− first row", sacrifice=5),
            Column(head=f"− first row, {level} CI", sacrifice=3, emphasis="quiet"),
            Column(head="p adj." if adjusted_text(comparison) else "p", sacrifice=6),
            Column(head="place", sacrifice=2),
            Column(head="verdict", numeric=False, emphasis="strong"),
        ],
        rows=[
            Row(cells=[*_side_cells(label, side, digit), *_beside_cells(beside.get(label), digit, label, comparison)])
            for label, side in sides.items()
        ],
    )


def _side_cells(label: str, side: MetricSpread, digit: int | None) -> list[Cell]:
    return [Cell(label), number(str(side.n), side.n), number(mean_and_sd(side.spread, digit), side.spread.mean)]


def _beside_cells(beside: Beside | None, digit: int | None, label: str, comparison: Comparison) -> list[Cell]:
    place = places(comparison).get(label)
    placed = Cell(places_text(place.lowest, place.highest, "–") if place else "")
    if beside is None:
        return [Cell(""), Cell(""), Cell(""), placed, Cell("")]
    metric, interval = beside.metric, beside.interval
    return [
        number(show(beside.difference, digit), beside.difference),
        number(show_interval(interval, digit), interval.low),
        number(Numbers(beside.pair.alpha).p(metric.p_adjusted), metric.p_adjusted),
        placed,
        Cell(row_verdict(beside)),
    ]


#: Metrics shown in the table of a pair on a brief page before the rest is counted.
METRICS_SHOWN = 15

#: The same on a screen of one pair.
METRICS_ON_SCREEN = 2

#: Metrics whose verdict is explained on a brief page.
EXPLAINED = 3

#: Labels and names longer than this are cut or folded on narrow screens.
NAME_WIDTH = 20

#: Rows of three or more experiments that a screen has in any case.
FEWEST_ROWS = 4

#: Warnings on a screen of three or more experiments, which has a row for each; it counts the others.
WARNINGS_OF_SEVERAL = 1

_NUMBERS = (*TESTED, "ratio", "ratio_ci")


def screen_answer(comparison: Comparison) -> Section:
    """Say how the experiments compare, without a title; of several pairs only the verdicts."""
    several = len(comparison.pairs) > 1
    sentences = [leading_headline(comparison)] if several else comparison_headline(comparison, brief=True)
    return Section(slug="answer", blocks=[Answer(sentences=sentences, listed=True)])


def screen_tables(comparison: Comparison) -> Section:
    """Return the main metrics of one pair; of several pairs one row an experiment, on the main metric."""
    if len(comparison.pairs) > 1:
        table = sides_table(comparison)
        short = msgspec.structs.replace(table, rows=table.rows[: _rows_on_screen(comparison)])
        return Section(slug="verdicts", blocks=[*telling([short])])
    (pair,) = comparison.pairs
    names = ("metric", _runs(comparison), *_NUMBERS, "short verdict")
    metrics = _on_screen(pair)
    rows = [
        _screen_row(metric, row, pair) for metric, row in zip(metrics, metric_rows(metrics, pair, *names), strict=True)
    ]
    columns = _columns("metric", f"A {pair.a}", f"B {pair.b}", pair.alpha, comparison)
    return Section(slug="verdicts", blocks=[*telling([Table(caption="", columns=columns, rows=rows)])])


def _rows_on_screen(comparison: Comparison) -> int:
    """Return how many experiments have a row beside the answer, warnings and what is counted."""
    shared, (shown, rest) = shared_names(comparison.labels), _split_caveats(comparison)
    texts = [leading_headline(comparison), *(f"! {caveat.message}" for caveat in shown)]
    taken = HEAD_LINES + lines_taken(shared.sentence, *(short_names(text, shared) for text in texts))
    names = [shared.rests.get(name, name) for name in main_sides(comparison)]
    for rows in range(len(names), FEWEST_ROWS, -1):
        counted = more_sentence(*_left_out(comparison, len(names) - rows, rest))
        if taken + sum(-(-len(name) // NAMES_FOLD_AT) for name in names[:rows]) + lines_taken(counted) <= LINES:
            return rows
    return min(len(names), FEWEST_ROWS)


def _on_screen(pair: PairComparison) -> list[MetricComparison]:
    """Return the metrics that a screen has room for, always with the main one."""
    metrics = [metric for metric in pair.metrics if metric.kind != "speed"] or pair.metrics
    main, shown = main_metric(pair.metrics), metrics[:METRICS_ON_SCREEN]
    return shown if main in shown else [main, *shown[:-1]]


def _runs(comparison: Comparison) -> str:
    """Name the cell with the numbers of runs; they are left out where all are those that the headline says."""
    sizes = ({(each.contrast.n_a, each.contrast.n_b) for each in pair.metrics} for pair in comparison.pairs)
    return "n" if any(len(each) > 1 for each in sizes) else "none"


def _columns(first: str, a: str, b: str, alpha: float, comparison: Comparison) -> list[Column]:
    """Return the columns of a table of metrics, two sides and their difference; narrow screens leave some out."""
    ci = f"{Numbers(alpha).level()} CI"
    return [
        Column(head=first, numeric=False, fold_at=NAME_WIDTH),
        Column(head="n", sacrifice=7, emphasis="quiet"),
        Column(head=a, sacrifice=1),
        Column(head=b, sacrifice=1),
        Column(head="A − B", sacrifice=3),
        Column(head=f"A − B, {ci}", sacrifice=2, emphasis="quiet"),
        Column(head="p adj." if adjusted_text(comparison) else "p", sacrifice=4),
        Column(head="SD A/B", sacrifice=5),
        Column(head=f"SD A/B, {ci}", sacrifice=6, emphasis="quiet"),
        Column(head="verdict", numeric=False, emphasis="strong"),
    ]


def _screen_row(metric: MetricComparison, row: Row, pair: PairComparison) -> Row:
    """Begin the row with an aggregate that the headline does not say."""
    name, *others = row.cells
    if metric.aggregate != main_metric(pair.metrics).aggregate and metric.kind != "speed":
        name = Cell(name.text, remark=metric.aggregate)
    return Row(cells=[name, *others])


def screen_reasons(comparison: Comparison) -> Section | None:
    """Explain the verdict on the main metric of one pair."""
    if len(comparison.pairs) > 1 or not comparison.claimed:
        return None
    (pair,) = comparison.pairs
    sentences = short_reasons(main_metric(pair.metrics), pair, comparison)
    return Section(slug="reasons", blocks=[Sentences(sentences=sentences)]) if sentences else None


def warnings(comparison: Comparison) -> Section | None:
    """List what casts doubt on the verdicts, and what was asked for; `more` counts the rest."""
    shown, _ = _split_caveats(comparison)
    return Section(slug="trust", blocks=caveat_blocks(shown)) if shown else None


def _split_caveats(comparison: Comparison) -> tuple[list[Caveat], list[Caveat]]:
    """Split the caveats; the headline of one pair has those on random numbers that only one side varies."""
    several = len(comparison.pairs) > 1
    caveats = comparison_caveats(comparison.comparability)
    shown = (each for each in caveats if several or each.slug != "draws-repeated")
    return split_caveats(shown, WARNINGS_OF_SEVERAL if several else WARNINGS_ON_SCREEN)


def more(comparison: Comparison) -> Section:
    """Say what ``-v`` shows; the command of several pairs has too many names to be printed again."""
    _, rest = _split_caveats(comparison)
    (pair, *others) = comparison.pairs
    if others:
        hidden = len(comparison.labels) - _rows_on_screen(comparison)
        return Section(slug="more", blocks=more_blocks(*_left_out(comparison, hidden, rest)))
    left = len(pair.metrics) - len(_on_screen(pair))
    counted = [*([count(left, "more metric")] if left else []), *counted_caveats(rest)]
    text = f"{', '.join([*counted, 'all reasons'])}:"
    return Section(slug="more", blocks=[Hint(text=text, command=f"{comparison.command} -v")])


def every_test(comparison: Comparison) -> Section:
    """Say what shows all tests and effects, which a terminal has no room for."""
    return Section(
        slug="tests", blocks=[Hint(text="all tests and effects:", command=f"{comparison.command} --format md")]
    )


def _left_out(comparison: Comparison, hidden: int, rest: Sequence[Caveat]) -> list[str]:
    """Name what a screen of several pairs leaves out, `hidden` experiments among it."""
    left = len(comparison.pairs[0].metrics) - 1
    return [
        *([count(hidden, "more experiment")] if hidden else []),
        *([count(left, "more metric")] if left else []),
        *counted_caveats(rest),
        f"all {len(comparison.pairs)} pairs",
    ]


def brief_answer(comparison: Comparison) -> Section:
    """Say how the experiments compare, with the order of more than two."""
    blocks: list[Block] = [Answer(sentences=comparison_headline(comparison), listed=True)]
    ranked = [omnibus for omnibus in comparison.omnibus if omnibus.kind != "speed"]
    for omnibus in ranked[:METRICS_SHOWN]:
        places = [
            f"{place.rank}.  {place.name}  (place {places_text(place.lowest, place.highest, ' to ')})"
            for place in omnibus.places
        ]
        ranking = [Sentences(sentences=places, listed=True)] if places else []
        blocks.append(Fold(title=omnibus.name, remark=f"({omnibus_p(omnibus, comparison)})", blocks=[*ranking]))
    return Section(slug="answer", blocks=blocks)


def brief_tables(comparison: Comparison) -> Section:
    """Return a table for each pair, all with the same columns."""
    return Section(slug="verdicts", blocks=[*telling([_brief_table(pair, comparison) for pair in comparison.pairs])])


def _brief_table(pair: PairComparison, comparison: Comparison) -> Table:
    metrics, main = pair.metrics[:METRICS_SHOWN], main_metric(pair.metrics)
    metrics = metrics if main in metrics else [*metrics[:-1], main]
    more = len(pair.metrics) - len(metrics)
    hint = Hint(text=f"and {count(more, 'more metric')}; all of them:", command=f"{comparison.command} --format md")
    return Table(
        caption=f"A {pair.a}  against  B {pair.b}",
        remark=f"({pair.variant_a})" if pair.variant_a == pair.variant_b else "",
        titled=True,
        # Who asks for more gets no column less than a screen shows.
        continued=True,
        columns=_columns("metric", pair.a, pair.b, pair.alpha, comparison),
        rows=metric_rows(metrics, pair, "metric, aggregate", _runs(comparison), *_NUMBERS, "verdict"),
        more=hint if more else None,
    )


def brief_reasons(comparison: Comparison) -> Section:
    """Explain the main metric of each pair, and with one pair what is unlike it and the spread."""
    blocks: list[Block] = []
    for pair in comparison.pairs:
        main, several = main_metric(pair.metrics), len(comparison.pairs) > 1
        unlike = [metric for metric in pair.metrics if metric.kind != "speed" and metric.verdict != main.verdict]
        blocks += [
            Sentences(sentences=reasons(metric, pair, comparison), about=f"{pair_names(comparison, pair)}{metric.name}")
            for metric in ([main] if several else [main, *unlike][:EXPLAINED])
        ]
        if not several and main.noisier != "too few runs":
            blocks.append(Sentences(sentences=spread_reasons(main, pair, comparison), about=f"spread of {main.name}"))
    return Section(slug="reasons", blocks=blocks)


def remarks(comparison: Comparison) -> Section | None:
    """List the caveats without a title."""
    blocks = caveat_blocks(comparison_caveats(comparison.comparability))
    return Section(slug="trust", blocks=blocks) if blocks else None
