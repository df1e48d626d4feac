"""The pages of a comparison: which sections each reader is shown, in which order.

Two sides over metrics that are tasks, in sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

from deviate.core.experiment import Run
from deviate.core.shell_words import typed_line
from deviate.facts.compared_metric import MetricComparison, MetricOmnibus, is_measured_time
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.tasks import TaskComparison
from deviate.observe.headline import main_metric
from deviate.report.figures import slug
from deviate.report.numbers import Numbers, last_place, show, show_interval, show_shares, significant
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Badge,
    Block,
    ByMetric,
    Cell,
    Drawing,
    Fold,
    Page,
    Panel,
    Reader,
    Remarks,
    Row,
    RunCard,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.checklist import checklist_table
from deviate.report.topics.comparison_answer import several_headline
from deviate.report.topics.comparison_caveats import (
    comparison_caveats,
    pairing_sentences,
    shared_names,
    with_shared_names,
)
from deviate.report.topics.comparison_figure import comparison_figures
from deviate.report.topics.comparison_predictions import brief_predictions, predictions
from deviate.report.topics.comparison_screen import (
    TESTED,
    answer_sentences,
    brief_answer,
    brief_tables,
    brief_tests,
    main_tables,
    metric_rows,
    pair_names,
    pair_table,
    places_text,
    remarks,
    screen_answer,
    screen_reasons,
    screen_tables,
    test_tables,
    warnings,
    what_next,
)
from deviate.report.topics.metrics import TRUST, again_sections, caveat_blocks, columns, number, share_cell, telling
from deviate.report.topics.reasons import (
    comparison_checklist,
    comparison_methods,
    omnibus_outcome,
    places_together,
    reasons,
    runs_methods,
    spread_reasons,
)
from deviate.report.topics.verdicts import MetricCells, adjusted_text
from deviate.report.words import count, listed
from deviate.stats.results import Effect

#: Decimals of a probability.
_SHARE = -2


def over_tasks(comparison: Comparison) -> Section | None:
    """Say for each pair what holds over all tasks; nothing where no metrics were said to be tasks."""
    blocks = [
        Sentences(
            about=f"{pair.a} against {pair.b}" if len(comparison.pairs) > 1 else "",
            sentences=task_sentences(pair.tasks, pair),
        )
        for pair in comparison.pairs
        if pair.tasks
    ]
    blocks += [Sentences(sentences=ranked)] if (ranked := ranked_sentences(comparison)) else []
    return Section(slug="tasks", blocks=[*blocks]) if blocks else None


def task_tables(comparison: Comparison) -> Section | None:
    """Show the performance profiles of each pair; nothing where no metrics were said to be tasks."""
    blocks = [_profile(pair.tasks, pair) for pair in comparison.pairs if pair.tasks]
    return Section(slug="profiles", title="Over several tasks", blocks=[*blocks]) if blocks else None


def _profile(facts: TaskComparison, pair: PairComparison) -> Table:
    rows = [
        Row(
            cells=[
                Cell(f"> {significant(each.threshold, 3)}", each.threshold),
                *(cell for side in (each.a, each.b) for cell in _share_cells(side)),
            ]
        )
        for each in facts.profile
    ]
    return Table(
        caption=f"Share of the runs of all tasks above a value, {pair.a} and {pair.b}",
        slug=slug("profiles", f"{pair.a} {pair.b}"),
        titled=True,
        columns=columns("value", "A", "CI", "B", "CI"),
        rows=rows,
    )


def _share_cells(share: Effect) -> tuple[Cell, Cell]:
    return share_cell(share.value), number(show_shares(share.interval), share.interval.low)


def ranked_sentences(comparison: Comparison) -> list[str]:
    """Say whether sides rank differently over tasks, and which two; empty where they were not ranked."""
    facts = comparison.ranked
    if facts is None:
        return []
    p, labels = Numbers(comparison.omnibus_alpha).p, comparison.labels
    ranks = listed([f"{label} {rank:.2f}" for label, rank in zip(labels, facts.ranks, strict=True)])
    differ = facts.p < comparison.omnibus_alpha
    pairs = [(i, j) for i, j in combinations(range(len(labels)), 2) if facts.pairs[i][j] < comparison.omnibus_alpha]
    differing = listed([f"{labels[i]} and {labels[j]} (p {p(facts.pairs[i][j])})" for i, j in pairs])
    said = f"By Nemenyi's test {differing} rank differently." if pairs else "By Nemenyi's test no two rank differently."
    return [
        f"Mean ranks over {count(len(facts.tasks), 'task')}, 1 the best: {ranks}. Friedman's test: χ² "
        f"{facts.statistic:.2f}, p {p(facts.p)}.",
        *([said] if differ else []),
        "These tests are about other tasks like these; with ten tasks or fewer their p is rough.",
    ]


def _gaps(facts: TaskComparison, pair: PairComparison, place: int | None) -> list[str]:
    if facts.gap_a is None or facts.gap_b is None or facts.enough is None:
        return []
    return [
        f"The mean shortfall from {show(facts.enough)} (optimality gap) of {pair.a} is {_text(facts.gap_a, place)}, "
        f"that of {pair.b} {_text(facts.gap_b, place)}."
    ]


def task_sentences(facts: TaskComparison, pair: PairComparison) -> list[str]:
    """Give both interquartile means, their difference and the probability of improvement."""
    interval = facts.difference.interval
    place = last_place((interval.high or 0.0) - (interval.low or 0.0) or None)
    a, b, difference = (_text(effect, place) for effect in (facts.iqm_a, facts.iqm_b, facts.difference))
    better = "is better" if facts.direction else "has the higher value"
    return [
        f"Over {count(len(facts.tasks), 'task')} the interquartile mean of {pair.a} is {a}, that of {pair.b} {b}; "
        f"B − A {difference}.",
        f"A run of {pair.b} {better} than one of {pair.a} with probability {_text(facts.improvement, _SHARE)}, mean "
        "over the tasks.",
        *_gaps(facts, pair, place),
        *_signed_rank(facts, pair),
        "These intervals are about other runs on the same tasks, and with few runs of each task they are too narrow.",
    ]


def _signed_rank(facts: TaskComparison, pair: PairComparison) -> list[str]:
    ranked, better = facts.signed_rank, "better" if facts.direction else "higher"
    if ranked is None:
        return []
    alike = f", the two alike within {show(ranked.margin)} with {show(ranked.alike, _SHARE)}" if ranked.margin else ""
    return [
        f"Over other tasks like these {pair.b} is {better} with probability {show(ranked.b, _SHARE)}, {pair.a} with "
        f"{show(ranked.a, _SHARE)}{alike} (Bayesian signed rank test)."
    ]


def _text(effect: Effect, place: int | None) -> str:
    return f"{show(effect.value or 0.0, place)} {show_interval(effect.interval, place)}"


# The sections of a whole comparison: every metric with its verdict, figures, tests and effects.


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
                    number(places_text(place.lowest, place.highest), place.lowest),
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


# What a page of a comparison shows of a run whose mark is chosen: its values in each experiment that has it.

#: Significant digits of the values, and metrics that are shown.
DIGITS, METRICS = 5, 3


def cards(comparison: Comparison) -> list[RunCard]:
    """Return a card for each name of a run; runs of the same name in two experiments share one."""
    facts: dict[str, dict[tuple[str, str], None]] = {}
    experiments: dict[str, dict[str, None]] = {}
    for pair in comparison.pairs:
        for metric in [metric for metric in pair.metrics if metric.kind != "speed"][:METRICS]:
            for label, variant, sample in ((pair.a, pair.variant_a, metric.a), (pair.b, pair.variant_b, metric.b)):
                for index, value in zip(sample.runs, sample.values, strict=True):
                    name = Run(variant=variant, index=index).folder
                    shown = show(float(f"{value:.{DIGITS}g}"))
                    facts.setdefault(name, {})[f"{metric.name}, {label}", shown] = None
                    experiments.setdefault(name, {})[label.partition(":")[0]] = None
    return [RunCard(name=name, facts=[*pairs, *_logs(name, list(experiments[name]))]) for name, pairs in facts.items()]


def _logs(name: str, experiments: list[str]) -> list[tuple[str, str]]:
    several = len(experiments) > 1
    return [
        (f"Whole log, {each}" if several else "Whole log", typed_line(["deviate", "logs", each, name]))
        for each in experiments
    ]


# A comparison as a table and a paragraph of an article.


def tables(comparison: Comparison) -> Section:
    """Return a table for each pair."""
    return Section(slug="comparison", blocks=[_paper_table(pair, comparison) for pair in comparison.pairs])


def _paper_table(pair: PairComparison, comparison: Comparison) -> Table:
    metrics = _for_paper(pair, comparison)
    runs = {(metric.contrast.n_a, metric.contrast.n_b) for metric in metrics}
    # Where all metrics are of the same runs, a column that says so would only take room.
    several = len(runs) > 1
    over = "over runs" if several else f"over {' and '.join(map(str, next(iter(runs))))} runs"
    adjusted = adjusted_text(comparison, times=any(is_measured_time(metric.name) for metric in metrics))
    shown = ("metric (aggregate)", *(["n"] if several else []), *TESTED, "better")
    ci = f"{Numbers(pair.alpha).level()} CI"
    return Table(
        caption=f"{pair.a} against {pair.b}: mean ± SD {over}; difference: second less first; –: no difference shown."
        + (f" {adjusted}." if adjusted else ""),
        slug=slug("comparison", pair.a, pair.b),
        columns=columns("Metric", *(["n"] if several else []), pair.a, pair.b, "Difference", ci, "p", last="Better"),
        rows=metric_rows(metrics, pair, *shown),
    )


def _for_paper(pair: PairComparison, comparison: Comparison) -> list[MetricComparison]:
    """Leave out times that no verdict can be drawn from, unless the user named them or there is nothing else."""
    comparable = [each for each in pair.metrics if not each.confounded or each.name in comparison.claimed]
    return comparable or pair.metrics


def paper_methods(comparison: Comparison) -> Section:
    """Return the methods paragraph."""
    left = any(len(_for_paper(pair, comparison)) < len(pair.metrics) for pair in comparison.pairs)
    untimed = (
        "Times are left out of the tables, and counted among the tests: the runs compared were not made in turn, "
        "so the load of the machine may explain a difference."
    )
    sentences = [*comparison_methods(comparison), *([untimed] if left else [])]
    return Section(slug="methods", blocks=[Sentences(sentences=sentences, about="Comparison.")])


def runs_for_paper(comparison: Comparison, made: Mapping[str, ExperimentFacts]) -> list[Section]:
    """Return how the runs of the sides were made, and the checklist; nothing where that was not read."""
    if not made:
        return []
    by_side = runs_methods(comparison.comparability, made)
    paragraphs = [
        Sentences(sentences=sentences, about=f"Runs of {label}." if label else "All runs.")
        for label, sentences in by_side.items()
        if sentences
    ]
    return [
        Section(slug="runs", blocks=[*paragraphs]),
        Section(slug="reproducibility", blocks=[checklist_table(comparison_checklist(comparison, made))]),
    ]


#: To add a section: its function, and a line for each reader that is shown it.
SECTIONS: dict[Reader, Sequence[Callable[[Comparison], Section | None]]] = {
    "screen": (screen_answer, screen_tables, over_tasks, screen_reasons, warnings, what_next),
    "brief": (brief_answer, brief_tables, over_tasks, task_tables, brief_tests, brief_predictions, remarks, what_next),
    "full": (
        partial(warnings, hinted=False),
        answer,
        verdicts,
        over_tasks,
        task_tables,
        ranking,
        predictions,
        tests,
        trust,
        methods,
        again,
    ),
    "paper": (tables, paper_methods),
}


def comparison_page(
    comparison: Comparison, reader: Reader, made: Callable[[], Mapping[str, ExperimentFacts]] = dict
) -> Page:
    """Make the page of a comparison for a reader; a paper also says how the runs of each side were `made`."""
    sections = [section for make in SECTIONS[reader] if (section := make(comparison)) is not None]
    if reader == "paper":
        sections += runs_for_paper(comparison, made())
    page = Page(
        # On a screen the headline says which sides there are.
        title="" if reader in AT_TERMINAL else _title(comparison.labels),
        reader=reader,
        sections=sections,
        command=comparison.command,
        runs=cards(comparison) if reader == "full" else [],
    )
    return page if reader == "paper" else with_shared_names(page, shared_names(comparison.labels))


def _title(labels: Sequence[str]) -> str:
    return " against ".join(labels) if len(labels) == 2 else listed(labels, most=len(labels))
