"""A comparison as a table and a paragraph of an article."""

from __future__ import annotations

from collections.abc import Mapping

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.families import is_measured_time
from deviate.inference.comparison.metric import MetricComparison
from deviate.inference.experiment import ExperimentFacts
from deviate.report.figures.figure import slug
from deviate.report.numbers import Numbers
from deviate.report.page import Section, Sentences, Table
from deviate.report.pages.cells import columns
from deviate.report.pages.checklist import checklist_table
from deviate.report.pages.comparison.rows import TESTED, metric_rows
from deviate.report.text.comparison.cells import adjusted_text
from deviate.report.text.comparison.methods import comparison_methods
from deviate.report.text.comparison.runs import comparison_checklist, runs_methods


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
        caption=f"{pair.a} against {pair.b}: mean ± SD {over}; difference: first less second; –: no difference shown."
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
