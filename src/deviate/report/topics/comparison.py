"""The pages of a comparison: which sections each reader is shown, in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from deviate.core.experiment import Run
from deviate.core.shell_words import typed_line
from deviate.facts.compared_metric import MetricComparison, is_measured_time
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.experiment import ExperimentFacts
from deviate.report.figures.figure import slug
from deviate.report.numbers import Numbers, show
from deviate.report.page import AT_TERMINAL, Page, Reader, RunCard, Section, Sentences, Table
from deviate.report.topics.checklist import checklist_table
from deviate.report.topics.comparison_caveats import shared_names, with_shared_names
from deviate.report.topics.comparison_in_full import (
    again,
    answer,
    methods,
    ranking,
    tests,
    trust,
    verdicts,
)
from deviate.report.topics.comparison_predictions import brief_predictions, predictions
from deviate.report.topics.comparison_screen import (
    TESTED,
    brief_answer,
    brief_tables,
    brief_tests,
    metric_rows,
    remarks,
    screen_answer,
    screen_reasons,
    screen_tables,
    warnings,
    what_next,
)
from deviate.report.topics.comparison_tasks import over_tasks
from deviate.report.topics.metrics import columns
from deviate.report.topics.reasons import comparison_checklist, comparison_methods, runs_methods
from deviate.report.topics.verdicts import adjusted_text
from deviate.report.words import listed

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
    "brief": (brief_answer, brief_tables, over_tasks, brief_tests, brief_predictions, remarks, what_next),
    "full": (
        partial(warnings, hinted=False),
        answer,
        verdicts,
        over_tasks,
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
    """Name the sides: two against each other, more in a list."""
    return " against ".join(labels) if len(labels) == 2 else listed(labels, most=len(labels))
