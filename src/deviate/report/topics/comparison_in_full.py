"""A whole comparison: every metric with its verdict, figures, tests and effects."""

from __future__ import annotations

from deviate.facts.compared_metric import MetricOmnibus
from deviate.facts.comparison import Comparison, PairComparison
from deviate.observe.headline import main_metric
from deviate.report.numbers import Numbers
from deviate.report.page import (
    Answer,
    Badge,
    Block,
    ByMetric,
    Cell,
    Drawing,
    Fold,
    Panel,
    Remarks,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.comparison_answer import several_headline
from deviate.report.topics.comparison_caveats import comparison_caveats, pairing_sentences
from deviate.report.topics.comparison_figure import comparison_figures
from deviate.report.topics.comparison_screen import (
    answer_sentences,
    main_tables,
    metric_rows,
    pair_names,
    pair_table,
    places_text,
    screen_reasons,
    warnings,
)
from deviate.report.topics.comparison_tests import test_tables
from deviate.report.topics.metrics import TRUST, again_sections, caveat_blocks, columns, number, telling
from deviate.report.topics.reasons import comparison_methods, omnibus_outcome, places_together, reasons, spread_reasons
from deviate.report.topics.verdicts import MetricCells, adjusted_text


def answer(comparison: Comparison) -> Section:
    """Say how the experiments compare, draw it, and list the metrics."""
    if len(comparison.pairs) > 1:
        first, last = [Answer(sentences=[several_headline(comparison)])], list[Block]()
    else:
        first = [Answer(sentences=answer_sentences(comparison), listed=True, badge=_badge(comparison))]
        reasons = screen_reasons(comparison)
        last = reasons.blocks if reasons else []
    return Section(slug="answer", blocks=[*first, *_drawn(comparison), *main_tables(comparison, None), *last])


def _badge(comparison: Comparison) -> Badge | None:
    """Return the verdict on the main metric; None with several pairs, which have one each, and without a claim."""
    if len(comparison.pairs) > 1 or not comparison.claimed:
        return None
    (pair,) = comparison.pairs
    if pair.same_trainings:
        return Badge(text="the same trainings", emphasis="quiet")
    verdict = MetricCells(main_metric(pair.metrics), pair).verdict
    return Badge(text=verdict, emphasis="good" if verdict.endswith("better") else "quiet")


def trust(comparison: Comparison) -> Section | None:
    """List the caveats that the first screen does not say."""
    reasons, warned = screen_reasons(comparison), warnings(comparison, hinted=False)
    said = [block.sentences for block in reasons.blocks if isinstance(block, Sentences)] if reasons else []
    short = [block.remarks for block in warned.blocks if isinstance(block, Remarks)] if warned else []
    above = {*(each.message for remarks in short for each in remarks), *(text for texts in said for text in texts)}
    every = comparison_caveats(comparison.comparability)
    blocks = caveat_blocks(each for each in every if above.isdisjoint((each.message, each.message.rstrip("."))))
    return Section(slug="notes", title=TRUST, blocks=blocks) if blocks else None


def verdicts(comparison: Comparison) -> Section:
    """Return the spreads of each metric, pair by pair; of several pairs the means, which the answer has of one."""
    caveats = {caveat.message for caveat in comparison_caveats(comparison.comparability)}
    adjusted = adjusted_text(comparison)
    notes = [
        *([f"{adjusted}."] if adjusted else []),
        *(text for text in pairing_sentences(comparison.comparability.pairings) if text not in caveats),
    ]
    spreads = telling([_spreads(pair) for pair in comparison.pairs])
    blocks: list[Block] = []
    for pair, spread in zip(comparison.pairs, spreads, strict=True):
        blocks += [*([pair_table(pair, comparison, None)] if len(comparison.pairs) > 1 else []), spread]
    blocks += [Sentences(sentences=[note], emphasis="quiet") for note in notes]
    return Section(slug="verdicts", title="Metric by metric", blocks=blocks)


def _spreads(pair: PairComparison) -> Table:
    ci = f"{Numbers(pair.alpha).level()} CI"
    return Table(
        caption=f"{pair.a} against {pair.b}: spread",
        titled=True,
        columns=columns("metric", "n", "SD ratio", ci, "p", last="verdict on the spread"),
        rows=metric_rows(pair.metrics, pair, "metric (aggregate)", "n", "ratio", "ratio_ci", "spread_p", "noisier"),
    )


def ranking(comparison: Comparison) -> Section | None:
    """Return the order of more than two sides, metric by metric."""
    folds: list[Block] = []
    for omnibus in comparison.omnibus:
        blocks: list[Block] = [Sentences(sentences=[omnibus_outcome(omnibus, comparison)])]
        blocks += [_ranking_table(omnibus)] if omnibus.places else []
        folds.append(Fold(title=omnibus.name, blocks=blocks))
    notes = dict.fromkeys(note for omnibus in comparison.omnibus for note in places_together(omnibus, comparison))
    folds += [Sentences(sentences=list(notes), emphasis="quiet")] if notes else []
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
                    number(places_text(place.lowest, place.highest, "–"), place.lowest),
                ]
            )
            for place in omnibus.places
        ],
    )


def _drawn(comparison: Comparison) -> list[Block]:
    """Draw each metric of each pair: the runs, the means, and the difference with its interval."""
    by_metric: dict[str, list[Block]] = {}
    for figure in comparison_figures(comparison):
        by_metric.setdefault(figure.metric, []).append(Drawing(figure=figure))
    panels = [Panel(metric=metric, blocks=blocks) for metric, blocks in by_metric.items()]
    first = main_metric(comparison.pairs[0].metrics).name
    return [ByMetric(panels=panels, first=first)] if panels else []


def tests(comparison: Comparison) -> Section:
    """Explain each verdict: the test that decides, all others beside it, and effects."""
    folds: list[Block] = []
    for pair in comparison.pairs:
        for metric in pair.metrics:
            text = MetricCells(metric, pair)
            name = f"{pair_names(comparison, pair)}{text.name}"
            blocks: list[Block] = [
                Sentences(sentences=reasons(metric, pair, comparison)),
                Sentences(sentences=spread_reasons(metric, pair, comparison), about="Spread"),
                *test_tables(metric, pair, every=True),
            ]
            folds.append(Fold(title=f"{name}: {text.verdict}", blocks=blocks, open=False))
    return Section(slug="tests", title="Which test decides, and all others", blocks=folds)


def methods(comparison: Comparison) -> Section:
    """Return the methods paragraph."""
    return Section(
        slug="methods", title="For a paper: methods", blocks=[Sentences(sentences=comparison_methods(comparison))]
    )


def again(comparison: Comparison) -> Section | None:
    """Return the command; None where it is not known."""
    return next(iter(again_sections(comparison.command)), None)
