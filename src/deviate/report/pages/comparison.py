"""The pages of a comparison: which tables each reader is shown, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from deviate.contrast.contrast import TESTS
from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.metric import MetricComparison
from deviate.inference.comparison.omnibus import MetricOmnibus
from deviate.inference.comparison.predictions import ChangedGroup
from deviate.measure.intervals import Interval
from deviate.report.figures.figure import slug
from deviate.report.numbers import UNKNOWN, Numbers, show_statistic
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Block,
    ByMetric,
    Cell,
    Code,
    Column,
    Drawing,
    Fold,
    Hint,
    Page,
    Panel,
    Reader,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.pages.cells import TRUST, caveat_blocks, columns, more_blocks, number, share_cell, telling
from deviate.report.text.caveat import is_on_screen
from deviate.report.text.comparison.caveats import comparison_caveats, pairing_sentences
from deviate.report.text.comparison.cells import MetricCells, adjusted_text
from deviate.report.text.comparison.headline import comparison_headline
from deviate.report.text.comparison.methods import comparison_methods, omnibus_p, omnibus_text
from deviate.report.text.comparison.predictions import changed_sentences
from deviate.report.text.comparison.reasons import reasons, spread_reasons
from deviate.report.text.words import count
from deviate.results.order import main_metric

#: Metrics shown in the table of a pair on a brief page before the rest is counted.
METRICS_SHOWN = 15

#: The same on a screen of one pair.
METRICS_ON_SCREEN = 4

#: Metrics whose verdict is explained on a brief page.
EXPLAINED = 3

#: Labels and names longer than this are cut or folded on narrow screens.
NAME_WIDTH = 20

#: Cells on the means of a metric, and those that a brief page shows.
_TESTED = ("a", "b", "difference", "ci", "p")
_BRIEF = (*_TESTED, "ratio", "ratio_ci", "verdict")


_ASSUMED = (
    "The intervals of d and g assume normal values; those of delta and P(A > B) rest on ranks and are approximate."
)


def comparison_page(comparison: Comparison, reader: Reader) -> Page:
    """Make the page of a comparison for a reader."""
    made = (make(comparison) for make in SECTIONS[reader])
    return Page(
        # On a screen the headline says which sides there are.
        title="" if reader in AT_TERMINAL else " against ".join(comparison.labels),
        reader=reader,
        sections=[section for section in made if section is not None],
        command=comparison.command,
    )


def _pair_names(comparison: Comparison, pair: PairComparison) -> str:
    """Return what tells a pair from others; empty where there is one only."""
    return f"{pair.a} against {pair.b}, " if len(comparison.pairs) > 1 else ""


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
        "a": Cell(text.a, metric.a.spread.mean, brief=text.mean_a),
        "b": Cell(text.b, metric.b.spread.mean, brief=text.mean_b),
        "difference": number(text.difference, contrast.difference.value),
        "ci": number(text.ci, _low(contrast.difference.interval)),
        "p": number(text.p, metric.p_adjusted),
        "ratio": number(text.ratio, contrast.sd_ratio.value),
        "ratio_ci": number(text.ratio_ci, _low(contrast.sd_ratio.interval)),
        "spread_p": number(text.spread_p, metric.spread_p_adjusted),
        "verdict": Cell(text.verdict),
        "noisier": Cell(text.noisier),
        "better": Cell(_better(metric, pair)),
    }


def _low(interval: Interval) -> float | None:
    return interval.low if interval.known else None


def _rows(metrics: Iterable[MetricComparison], pair: PairComparison, *names: str) -> list[Row]:
    """Return a row a metric with the cells that are `shown`."""
    cells = (_cells(metric, pair) for metric in metrics)
    return [Row(cells=[each[name] for name in names]) for each in cells]


# ------------------------------------------------------------------------------------------------------ a screen


def _screen_answer(comparison: Comparison) -> Section:
    return Section(slug="answer", blocks=[Answer(sentences=comparison_headline(comparison), listed=True)])


def _answer(comparison: Comparison) -> Section:
    return Section(
        slug="answer", title="In short", blocks=[Answer(sentences=comparison_headline(comparison), listed=True)]
    )


def _brief_answer(comparison: Comparison) -> Section:
    blocks: list[Block] = [Answer(sentences=comparison_headline(comparison), listed=True)]
    ranked = [omnibus for omnibus in comparison.omnibus if omnibus.kind != "speed"]
    for omnibus in ranked[:METRICS_SHOWN]:
        places = [
            f"{place.rank}.  {place.name}  (place {_places(place.lowest, place.highest, ' to ')})"
            for place in omnibus.places
        ]
        ranking = [Sentences(sentences=places, listed=True)] if places else []
        blocks.append(Fold(title=omnibus.name, remark=f"({omnibus_p(omnibus, comparison)})", blocks=[*ranking]))
    return Section(slug="answer", blocks=blocks)


def _places(lowest: int, highest: int, between: str) -> str:
    return f"{lowest}" if lowest == highest else f"{lowest}{between}{highest}"


def _screen_tables(comparison: Comparison) -> Section:
    """Return the table of one pair; of several pairs one row each, on the main metric."""
    most = METRICS_ON_SCREEN if len(comparison.pairs) == 1 else 1
    tables = [_brief_table(pair, comparison, most) for pair in comparison.pairs]
    return Section(slug="verdicts", blocks=[*telling(tables)])


def _screen_reasons(comparison: Comparison) -> Section | None:
    """Explain the verdict on the main metric of one pair, and that on its spread where it is claimed to differ."""
    if len(comparison.pairs) > 1:
        return None
    (pair,) = comparison.pairs
    main = main_metric(pair.metrics)
    blocks: list[Block] = [Sentences(sentences=reasons(main, pair, comparison))]
    if main.noisier.endswith("noisier"):
        blocks.append(Sentences(sentences=spread_reasons(main, pair, comparison), about=f"spread of {main.name}"))
    return Section(slug="reasons", blocks=blocks)


def _warnings(comparison: Comparison) -> Section | None:
    blocks = caveat_blocks(filter(is_on_screen, comparison_caveats(comparison.comparability)))
    return Section(slug="trust", blocks=blocks) if blocks else None


def _more(comparison: Comparison) -> Section:
    notes = sum(not is_on_screen(each) for each in comparison_caveats(comparison.comparability))
    return Section(slug="more", blocks=more_blocks(notes, "all metrics", "all reasons"))


def _brief_tables(comparison: Comparison) -> Section:
    """Return a table for each pair, all with the same columns."""
    return Section(slug="verdicts", blocks=[*telling([_brief_table(pair, comparison) for pair in comparison.pairs])])


def _brief_table(pair: PairComparison, comparison: Comparison, most: int = METRICS_SHOWN) -> Table:
    metrics = pair.metrics[:most]
    main = main_metric(pair.metrics)
    metrics = metrics if main in metrics else [*metrics[:-1], main]
    more, rest = len(pair.metrics) - len(metrics), "-v" if most < METRICS_SHOWN else "--format md"
    ci = f"{Numbers(pair.alpha).level()} CI"
    hint = Hint(text=f"and {count(more, 'more metric')}; all of them:", command=f"{comparison.command} {rest}")
    return Table(
        caption=f"A {pair.a}  against  B {pair.b}",
        remark=f"({pair.variant_a})" if pair.variant_a == pair.variant_b else "",
        titled=True,
        columns=[
            Column(head="metric", numeric=False, fold_at=NAME_WIDTH),
            Column(head="n", sacrifice=6, emphasis="quiet"),
            Column(head=pair.a, sacrifice=1),
            Column(head=pair.b, sacrifice=1),
            Column(head="A − B", sacrifice=2),
            Column(head=ci, sacrifice=3, emphasis="quiet"),
            Column(head="p adj." if adjusted_text(comparison) else "p"),
            Column(head="SD A/B", sacrifice=4),
            Column(head=ci, sacrifice=5, emphasis="quiet"),
            Column(head="verdict", numeric=False, emphasis="strong"),
        ],
        rows=_rows(metrics, pair, "metric, aggregate", "n", *_BRIEF),
        more=hint if more else None,
    )


def _brief_reasons(comparison: Comparison) -> Section:
    """Explain the main metric of each pair, and with one pair what is unlike it and the spread."""
    blocks: list[Block] = []
    for pair in comparison.pairs:
        main, several = main_metric(pair.metrics), len(comparison.pairs) > 1
        unlike = [metric for metric in pair.metrics if metric.kind != "speed" and metric.verdict != main.verdict]
        blocks += [
            Sentences(
                sentences=reasons(metric, pair, comparison), about=f"{_pair_names(comparison, pair)}{metric.name}"
            )
            for metric in ([main] if several else [main, *unlike][:EXPLAINED])
        ]
        if not several and main.noisier != "too few runs":
            blocks.append(Sentences(sentences=spread_reasons(main, pair, comparison), about=f"spread of {main.name}"))
    return Section(slug="reasons", blocks=blocks)


def _remarks(comparison: Comparison) -> Section | None:
    blocks = caveat_blocks(comparison_caveats(comparison.comparability))
    return Section(slug="trust", blocks=blocks) if blocks else None


# ------------------------------------------------------------------------------------------------- the whole of it


def _trust(comparison: Comparison) -> Section | None:
    section = _remarks(comparison)
    return section and Section(slug=section.slug, title=TRUST, blocks=section.blocks)


def _ranking(comparison: Comparison) -> Section | None:
    """Return the order of more than two sides, metric by metric."""
    folds: list[Block] = []
    for omnibus in comparison.omnibus:
        blocks: list[Block] = [Sentences(sentences=[omnibus_text(omnibus, comparison)])]
        blocks += [_ranking_table(omnibus)] if omnibus.places else []
        folds.append(Fold(title=omnibus.name, blocks=blocks))
    return Section(slug="ranking", title="Ranking", blocks=folds) if folds else None


def _ranking_table(omnibus: MetricOmnibus) -> Table:
    return Table(
        caption=f"{omnibus.name}: ranking",
        columns=columns("experiment", "rank", "place"),
        rows=[
            Row(
                cells=[
                    Cell(place.name),
                    number(str(place.rank), place.rank),
                    number(_places(place.lowest, place.highest, "–"), place.lowest),
                ]
            )
            for place in omnibus.places
        ],
    )


def _verdicts(comparison: Comparison) -> Section:
    """Return the means and the spreads of each metric, pair by pair."""
    caveats = {caveat.message for caveat in comparison_caveats(comparison.comparability)}
    adjusted = adjusted_text(comparison)
    notes = [
        *([f"{adjusted}."] if adjusted else []),
        *(text for text in pairing_sentences(comparison.comparability.pairings) if text not in caveats),
    ]
    blocks: list[Block] = [
        table for pair in comparison.pairs for table in (_means(pair, comparison), _spreads(pair, comparison))
    ]
    blocks += [Sentences(sentences=[note], emphasis="quiet") for note in notes]
    return Section(slug="verdicts", title="Metric by metric", blocks=blocks)


def _means(pair: PairComparison, comparison: Comparison) -> Table:
    ci = f"{Numbers(pair.alpha).level()} CI"
    p = f"p ({CORRECTION_NAMES[comparison.correction]})" if adjusted_text(comparison) else "p"
    return Table(
        caption=f"{pair.a} against {pair.b}: means ± SD, and the difference, first less second",
        titled=True,
        columns=columns("metric", "aggregate", "n", pair.a, pair.b, "difference", ci, p, words=2, last="verdict"),
        rows=_rows(pair.metrics, pair, "metric", "aggregate", "n", *_TESTED, "verdict"),
    )


def _spreads(pair: PairComparison, comparison: Comparison) -> Table:
    ci = f"{Numbers(pair.alpha).level()} CI"
    return Table(
        caption=f"{pair.a} against {pair.b}: spread",
        titled=True,
        columns=columns("metric", "SD ratio", ci, "p", last="verdict on the spread"),
        rows=_rows(pair.metrics, pair, "name", "ratio", "ratio_ci", "spread_p", "noisier"),
    )


def _differences(comparison: Comparison) -> Section | None:
    """Draw each metric of each pair: the runs, the means, and the difference with its interval."""
    from deviate.report.figures.comparison import comparison_figures

    by_metric: dict[str, list[Block]] = {}
    for figure in comparison_figures(comparison):
        by_metric.setdefault(figure.metric, []).append(Drawing(figure=figure))
    panels = [Panel(metric=metric, blocks=blocks) for metric, blocks in by_metric.items()]
    first = main_metric(comparison.pairs[0].metrics).name
    blocks: list[Block] = [ByMetric(panels=panels, first=first)]
    return Section(slug="comparison", title="Differences", blocks=blocks) if panels else None


def _tests(comparison: Comparison) -> Section:
    """Explain each verdict: the test that decides, all others beside it, and effects."""
    folds: list[Block] = []
    for pair in comparison.pairs:
        main = main_metric(pair.metrics)
        for metric in pair.metrics:
            text = MetricCells(metric, pair)
            name = f"{_pair_names(comparison, pair)}{text.name}"
            blocks: list[Block] = [
                Sentences(sentences=reasons(metric, pair, comparison)),
                Sentences(sentences=spread_reasons(metric, pair, comparison), about="Spread"),
                _tests_table(metric, name, pair.alpha),
                _effects_table(metric, name, text),
            ]
            folds.append(Fold(title=f"{name}: {text.verdict}", blocks=blocks, open=metric is main))
    return Section(slug="tests", title="Which test decides, and all others", blocks=folds)


def _tests_table(metric: MetricComparison, name: str, alpha: float) -> Table:
    contrast, numbers = metric.contrast, Numbers(alpha)
    deciding = (contrast.location.test, contrast.spread.test)
    return Table(
        caption=f"{name}: tests",
        columns=columns("test", "statistic", "p", last="how"),
        rows=[
            Row(
                cells=[
                    Cell(TESTS[test].label + (" (decides)" if test in deciding else "")),
                    number(show_statistic(tested), tested.statistic),
                    number(numbers.p(tested.p), tested.p),
                    Cell(tested.reason or tested.method),
                ]
            )
            for test, tested in contrast.tests.items()
        ],
    )


def _effects_table(metric: MetricComparison, name: str, text: MetricCells) -> Table:
    contrast = metric.contrast
    effects = zip(text.effects.items(), contrast.effects.values(), strict=True)
    rows = [Row(cells=[Cell(effect), number(value, each.value)]) for (effect, value), each in effects]
    orders = (("first over second", contrast.a_over_b), ("second over first", contrast.b_over_a))
    for sides, order in orders:
        epsilon = UNKNOWN if order.epsilon is None else f"{order.epsilon:.2g}"
        rows.append(Row(cells=[Cell(f"almost stochastic order, {sides}"), number(epsilon, order.epsilon)]))
    return Table(caption=f"{name}: effects", columns=columns("effect", "value (CI)"), rows=rows, notes=[_ASSUMED])


def _methods(comparison: Comparison) -> Section:
    return Section(
        slug="methods", title="For a paper: methods", blocks=[Sentences(sentences=comparison_methods(comparison))]
    )


def _again(comparison: Comparison) -> Section | None:
    if not comparison.command:
        return None
    return Section(slug="again", title="How to get this again", blocks=[Code(lines=[comparison.command])])


# -------------------------------------------------------------------------------------------------------- a paper


def _paper_tables(comparison: Comparison) -> Section:
    return Section(slug="comparison", blocks=[_paper_table(pair, comparison) for pair in comparison.pairs])


def _paper_table(pair: PairComparison, comparison: Comparison) -> Table:
    runs = {(metric.contrast.n_a, metric.contrast.n_b) for metric in pair.metrics}
    # Where all metrics are of the same runs, a column that says so would only take room.
    several = len(runs) > 1
    over = "over runs" if several else f"over {' and '.join(map(str, next(iter(runs))))} runs"
    adjusted = adjusted_text(comparison)
    shown = ("metric (aggregate)", *(["n"] if several else []), *_TESTED, "better")
    ci = f"{Numbers(pair.alpha).level()} CI"
    return Table(
        caption=f"{pair.a} against {pair.b}: mean ± SD {over}; difference: first less second; –: no difference shown."
        + (f" {adjusted}." if adjusted else ""),
        slug=slug("comparison", pair.a, pair.b),
        columns=columns("Metric", *(["n"] if several else []), pair.a, pair.b, "Difference", ci, "p", last="Better"),
        rows=_rows(pair.metrics, pair, *shown),
    )


def _better(metric: MetricComparison, pair: PairComparison) -> str:
    """Name the better side in as few words as a column of a paper has room for."""
    equal = "differs" if metric.differs else "–"
    short = {"a better": pair.a, "b better": pair.b, "no difference shown": equal}
    return short.get(metric.verdict, metric.verdict)


def _paper_methods(comparison: Comparison) -> Section:
    methods = Sentences(sentences=comparison_methods(comparison), about="Comparison.")
    return Section(slug="methods", blocks=[methods])


def _brief_predictions(comparison: Comparison) -> Section | None:
    section = _predictions(comparison)
    return section and msgspec.structs.replace(section, title="")


def _predictions(comparison: Comparison) -> Section | None:
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
        notes=["changed: from a run of the one to a run of the other; beyond: more than training again changes."],
    )


#: To add a section: its function, and a line for each reader that is shown it.
SECTIONS: dict[Reader, Sequence[Callable[[Comparison], Section | None]]] = {
    "screen": (_screen_answer, _screen_tables, _screen_reasons, _warnings, _more),
    "brief": (_brief_answer, _brief_tables, _brief_reasons, _brief_predictions, _remarks),
    "full": (_answer, _differences, _trust, _verdicts, _ranking, _predictions, _tests, _methods, _again),
    "paper": (_paper_tables, _paper_methods),
}
