"""A comparison at a terminal: one screen, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.metric import MetricComparison
from deviate.report.numbers import Numbers
from deviate.report.page import Answer, Block, Cell, Column, Fold, Hint, Row, Section, Sentences, Table
from deviate.report.pages.cells import caveat_blocks, telling
from deviate.report.pages.comparison.rows import TESTED, metric_rows, pair_names, places_text
from deviate.report.text.caveat import Caveat, counted_caveats, split_caveats
from deviate.report.text.comparison.caveats import comparison_caveats
from deviate.report.text.comparison.cells import adjusted_text
from deviate.report.text.comparison.headline import comparison_headline, verdict_headline
from deviate.report.text.comparison.methods import omnibus_p
from deviate.report.text.comparison.reasons import reasons, short_reasons, spread_reasons
from deviate.report.text.words import count
from deviate.results.order import main_metric

#: Metrics shown in the table of a pair on a brief page before the rest is counted.
METRICS_SHOWN = 15

#: The same on a screen of one pair.
METRICS_ON_SCREEN = 2

#: Metrics whose verdict is explained on a brief page.
EXPLAINED = 3

#: Labels and names longer than this are cut or folded on narrow screens.
NAME_WIDTH = 20

_NUMBERS = (*TESTED, "ratio", "ratio_ci")


def screen_answer(comparison: Comparison) -> Section:
    """Say how the experiments compare, without a title; of several pairs only the verdicts."""
    several = len(comparison.pairs) > 1
    sentences = [verdict_headline(comparison)] if several else comparison_headline(comparison, brief=True)
    return Section(slug="answer", blocks=[Answer(sentences=sentences, listed=True)])


def screen_tables(comparison: Comparison) -> Section:
    """Return the main metrics of one pair; of several pairs one row each, on the main metric."""
    if len(comparison.pairs) == 1:
        (pair,) = comparison.pairs
        table = _screen_table(comparison, "metric", [(_on_screen(pair), pair)], f"A {pair.a}", f"B {pair.b}")
    else:
        rows = [([main_metric(pair.metrics)], pair) for pair in comparison.pairs]
        table = _screen_table(comparison, "A, B", rows, "A", "B")
    return Section(slug="verdicts", blocks=[*telling([table])])


def _on_screen(pair: PairComparison) -> list[MetricComparison]:
    """Return the metrics that a screen has room for, always with the main one."""
    metrics = [metric for metric in pair.metrics if metric.kind != "speed"] or pair.metrics
    main, shown = main_metric(pair.metrics), metrics[:METRICS_ON_SCREEN]
    return shown if main in shown else [main, *shown[:-1]]


def _screen_table(
    comparison: Comparison,
    first: str,
    compared: Sequence[tuple[Sequence[MetricComparison], PairComparison]],
    a: str,
    b: str,
) -> Table:
    """Lay out means with SDs, the difference with its interval, and a verdict by the letters of the sides."""
    names = ("metric", "n" if len(compared) > 1 else _runs(comparison), *_NUMBERS, "short verdict")
    rows = [
        _screen_row(metric, row, pair, named=len(compared) > 1)
        for metrics, pair in compared
        for metric, row in zip(metrics, metric_rows(metrics, pair, *names), strict=True)
    ]
    return Table(
        caption="",
        columns=_columns(first, a, b, comparison.pairs[0].alpha, comparison),
        rows=rows,
    )


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


def _screen_row(metric: MetricComparison, row: Row, pair: PairComparison, *, named: bool) -> Row:
    """Begin the row with the names of the sides, or with an aggregate that the headline does not say."""
    name, *others = row.cells
    if named:
        name = Cell(f"{pair.a}, {pair.b}")
    elif metric.aggregate != main_metric(pair.metrics).aggregate and metric.kind != "speed":
        name = Cell(name.text, remark=metric.aggregate)
    return Row(cells=[name, *others])


def screen_reasons(comparison: Comparison) -> Section | None:
    """Explain the verdict on the main metric of one pair."""
    if len(comparison.pairs) > 1:
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
    stated = "draws-repeated" if len(comparison.pairs) == 1 else ""
    return split_caveats(each for each in comparison_caveats(comparison.comparability) if each.slug != stated)


def more(comparison: Comparison) -> Section:
    """Say what ``-v`` shows."""
    _, rest = _split_caveats(comparison)
    (pair, *others) = comparison.pairs
    left = len(pair.metrics) - (1 if others else len(_on_screen(pair)))
    counted = [*([f"{count(left, 'more metric')}"] if left else []), *counted_caveats(rest)]
    text = f"{', '.join([*counted, 'all reasons'])}:"
    return Section(slug="more", blocks=[Hint(text=text, command=f"{comparison.command} -v")])


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
