"""A whole comparison: every metric with its verdict, figures, tests and effects."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.facts.compared_metric import MetricComparison, MetricOmnibus
from deviate.facts.compared_predictions import ChangedGroup, ChangedPredictions
from deviate.facts.comparison import Comparison, PairComparison
from deviate.observe.headline import main_metric
from deviate.report.figures.figure import slug
from deviate.report.numbers import Numbers, points, show_factor, show_percent, show_statistic
from deviate.report.page import (
    Answer,
    Badge,
    Block,
    ByMetric,
    Cell,
    Drawing,
    Fold,
    KeyFigure,
    Panel,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.comparison_caveats import comparison_caveats, pairing_sentences
from deviate.report.topics.comparison_screen import TESTED, metric_rows, pair_names, places_text, remarks
from deviate.report.topics.metrics import TRUST, again_sections, columns, number, share_cell, telling
from deviate.report.topics.reasons import comparison_methods, omnibus_outcome, places_together, reasons, spread_reasons
from deviate.report.topics.stability import show_interval
from deviate.report.topics.verdicts import MetricCells, adjusted_text, comparison_headline, verdict_headline
from deviate.report.words import count, listed
from deviate.stats.contrast import TESTS, WELCH_AND_PERMUTATION
from deviate.stats.multiplicity import CORRECTION_NAMES

_ASSUMED = (
    "The intervals of d and g assume normal values; those of delta and P(A > B) rest on ranks and are approximate."
)


def answer(comparison: Comparison) -> Section:
    """Say how the experiments compare."""
    if len(comparison.pairs) > 1:
        verdicts = Answer(sentences=[verdict_headline(comparison)])
        words: list[Block] = [Answer(sentences=comparison_headline(comparison), listed=True)]
        blocks: list[Block] = [verdicts, Fold(title="Each pair in words", blocks=words, open=False)]
        return Section(slug="answer", title="In short", blocks=blocks)
    answered = Answer(
        sentences=comparison_headline(comparison),
        listed=True,
        badge=_badge(comparison),
        figure=_difference(comparison),
    )
    return Section(slug="answer", title="In short", blocks=[answered])


def _badge(comparison: Comparison) -> Badge | None:
    """Return the verdict on the main metric; None with several pairs, which have one each, and without a claim."""
    if len(comparison.pairs) > 1 or not comparison.claimed:
        return None
    (pair,) = comparison.pairs
    verdict = MetricCells(main_metric(pair.metrics), pair).verdict
    return Badge(text=verdict, emphasis="good" if verdict.endswith("better") else "quiet")


def _difference(comparison: Comparison) -> KeyFigure | None:
    """Return the difference in the main metric with its interval; None with several pairs, or where it is unknown."""
    if len(comparison.pairs) > 1 or not comparison.claimed:
        return None
    (pair,) = comparison.pairs
    metric = main_metric(pair.metrics)
    cells, measured = MetricCells(metric, pair), metric.contrast.difference
    if measured.value is None:
        return None
    interval = f", {Numbers(pair.alpha).level()} CI {cells.ci}" if measured.interval.known else ""
    what = f"{metric.name} ({cells.aggregate})" if cells.aggregate else metric.name
    return KeyFigure(label=f"{what}, {pair.a} less {pair.b}{interval}", text=f"{cells.difference}{cells.unit}")


def trust(comparison: Comparison) -> Section | None:
    """List the caveats under a title."""
    section = remarks(comparison)
    return section and Section(slug=section.slug, title=TRUST, blocks=section.blocks)


def verdicts(comparison: Comparison) -> Section:
    """Return the means and the spreads of each metric, pair by pair."""
    caveats = {caveat.message for caveat in comparison_caveats(comparison.comparability)}
    adjusted = adjusted_text(comparison)
    notes = [
        *([f"{adjusted}."] if adjusted else []),
        *(text for text in pairing_sentences(comparison.comparability.pairings) if text not in caveats),
    ]
    spreads = telling([_spreads(pair, comparison) for pair in comparison.pairs])
    blocks: list[Block] = []
    for pair, spread in zip(comparison.pairs, spreads, strict=True):
        blocks += [_means(pair, comparison), spread]
    blocks += [Sentences(sentences=[note], emphasis="quiet") for note in notes]
    return Section(slug="verdicts", title="Metric by metric", blocks=blocks)


def _means(pair: PairComparison, comparison: Comparison) -> Table:
    ci = f"{Numbers(pair.alpha).level()} CI"
    p = f"p ({CORRECTION_NAMES[comparison.correction]})" if adjusted_text(comparison) else "p"
    return Table(
        caption=f"{pair.a} against {pair.b}: means ± SD, and the difference, first less second",
        titled=True,
        columns=columns("metric", "aggregate", "n", pair.a, pair.b, "difference", ci, p, words=2, last="verdict"),
        rows=metric_rows(pair.metrics, pair, "metric", "aggregate", "n", *TESTED, "verdict"),
    )


def _spreads(pair: PairComparison, comparison: Comparison) -> Table:
    ci = f"{Numbers(pair.alpha).level()} CI"
    return Table(
        caption=f"{pair.a} against {pair.b}: spread",
        titled=True,
        columns=columns("metric", "SD ratio", ci, "p", last="verdict on the spread"),
        rows=metric_rows(pair.metrics, pair, "name", "ratio", "ratio_ci", "spread_p", "noisier"),
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


def differences(comparison: Comparison) -> Section | None:
    """Draw each metric of each pair: the runs, the means, and the difference with its interval."""
    from deviate.report.topics.comparison_figure import comparison_figures

    by_metric: dict[str, list[Block]] = {}
    for figure in comparison_figures(comparison):
        by_metric.setdefault(figure.metric, []).append(Drawing(figure=figure))
    panels = [Panel(metric=metric, blocks=blocks) for metric, blocks in by_metric.items()]
    first = main_metric(comparison.pairs[0].metrics).name
    blocks: list[Block] = [ByMetric(panels=panels, first=first)]
    return Section(slug="comparison", title="Differences", blocks=blocks) if panels else None


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
                _tests_table(metric, name, pair.alpha),
                _effects_table(metric, name, text),
            ]
            folds.append(Fold(title=f"{name}: {text.verdict}", blocks=blocks, open=False))
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
        epsilon = number(show_factor(order.epsilon), order.epsilon)
        rows.append(Row(cells=[Cell(f"almost stochastic order, {sides}"), epsilon]))
    return Table(caption=f"{name}: effects", columns=columns("effect", "value (CI)"), rows=rows, notes=[_ASSUMED])


def methods(comparison: Comparison) -> Section:
    """Return the methods paragraph."""
    return Section(
        slug="methods", title="For a paper: methods", blocks=[Sentences(sentences=comparison_methods(comparison))]
    )


def again(comparison: Comparison) -> Section | None:
    """Return the command; None where it is not known."""
    return next(iter(again_sections(comparison.command)), None)


# How many answers change from one side to another, in sentences.


def changed_sentences(facts: ChangedPredictions, a: str, b: str) -> list[str]:
    """Say how many answers of B the runs of A change, beside what training B again changes."""
    if facts.churn is None:
        return [f"Predictions are not compared: {facts.withheld}."]
    measured = facts.churn
    share, interval = show_percent(measured.between.value), show_interval(measured.between.interval)
    examples = f"of the {facts.examples} examples differently"
    sentences = [f"{a} and {b} label {share} {examples}{interval}."]
    if measured.paired is not None:
        same = f"Runs with the same random numbers label {show_percent(measured.paired)} {examples}"
        sentences = [f"{same}, other runs of {a} and {b} {share}{interval}."]
    within = [
        f"two runs of {label} differ on {show_percent(estimate.value)}"
        for label, estimate in ((b, measured.within_b), (a, measured.within_a))
        if estimate.value is not None
    ]
    if within:
        text = ", ".join(within)
        sentences.append(f"{text[:1].upper()}{text[1:]}.")
    excess = measured.excess
    if excess.value is not None and excess.interval.low is not None and excess.interval.high is not None:
        sentences.append(
            f"The share between {a} and {b} is {points(excess.value)} above that of retraining alone (mean of both)."
            if excess.interval.low > 0
            else f"These runs do not show that the share between {a} and {b} is above that of retraining alone."
        )
    if facts.groups:
        most = max(facts.groups, key=lambda group: group.between.value or 0.0)
        share, examples = show_percent(most.between.value), count(most.examples, "example")
        sentences.append(f"Most labels change in group {most.label}: {share} of its {examples}.")
    return sentences


def screen_changed(facts: ChangedPredictions, a: str, b: str) -> list[str]:
    """Say in one sentence how many answers of B the runs of A change, and whether retraining changes fewer."""
    if facts.churn is None:
        return changed_sentences(facts, a, b)
    measured, excess = facts.churn, facts.churn.excess
    beyond = ""
    if excess.value is not None and excess.interval.low is not None and excess.interval.high is not None:
        shown = excess.interval.low > 0
        beyond = f", {points(excess.value)} beyond retraining" if shown else ", not shown to exceed retraining"
    share, interval = show_percent(measured.between.value), show_interval(measured.between.interval)
    return [f"Changed predictions: {share}{interval}{beyond}."]


def group_sentences(groups: Sequence[ChangedGroup], a: str, b: str, *, one_draw: bool) -> list[str]:
    """Say on which groups the accuracy of one side is shown to be higher; nothing where no verdict is possible."""
    if not groups or one_draw:
        return []
    if all(group.verdict == "too few runs" for group in groups):
        return ["So few runs give no verdict on groups."]
    higher = {
        side: [group.label for group in groups if group.verdict == verdict]
        for side, verdict in ((a, "a better"), (b, "b better"))
    }
    if not any(higher.values()):
        return [f"On none of {count(len(groups), 'group')} another accuracy is shown."]
    return [
        f"The accuracy of {side} is higher on {listed(labels)} ({len(labels)} of {count(len(groups), 'group')}; "
        "exploratory)."
        for side, labels in higher.items()
        if labels
    ]


def group_note(family: int, correction: str, test: str) -> str:
    """Say what the p-values of groups are of."""
    what = "p: of the difference of the accuracies"
    if test == WELCH_AND_PERMUTATION.test:
        what += " by Welch's t test and by permuting the runs, the greater one of both"
    if correction == "none" or family < 2:
        return f"{what}."
    return f"{what}, adjusted over {family} tests of groups ({CORRECTION_NAMES[correction]})."


# Predictions that change between the experiments that are compared.


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
