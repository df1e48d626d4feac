"""A comparison as a table and a paragraph of an article."""

from __future__ import annotations

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.report.figures.figure import slug
from deviate.report.numbers import Numbers
from deviate.report.page import Section, Sentences, Table
from deviate.report.pages.cells import columns
from deviate.report.pages.comparison.rows import TESTED, metric_rows
from deviate.report.text.comparison.cells import adjusted_text
from deviate.report.text.comparison.methods import comparison_methods


def tables(comparison: Comparison) -> Section:
    """Return a table for each pair."""
    return Section(slug="comparison", blocks=[_paper_table(pair, comparison) for pair in comparison.pairs])


def _paper_table(pair: PairComparison, comparison: Comparison) -> Table:
    runs = {(metric.contrast.n_a, metric.contrast.n_b) for metric in pair.metrics}
    # Where all metrics are of the same runs, a column that says so would only take room.
    several = len(runs) > 1
    over = "over runs" if several else f"over {' and '.join(map(str, next(iter(runs))))} runs"
    adjusted = adjusted_text(comparison)
    shown = ("metric (aggregate)", *(["n"] if several else []), *TESTED, "better")
    ci = f"{Numbers(pair.alpha).level()} CI"
    return Table(
        caption=f"{pair.a} against {pair.b}: mean ± SD {over}; difference: first less second; –: no difference shown."
        + (f" {adjusted}." if adjusted else ""),
        slug=slug("comparison", pair.a, pair.b),
        columns=columns("Metric", *(["n"] if several else []), pair.a, pair.b, "Difference", ci, "p", last="Better"),
        rows=metric_rows(pair.metrics, pair, *shown),
    )


def paper_methods(comparison: Comparison) -> Section:
    """Return the methods paragraph."""
    methods = Sentences(sentences=comparison_methods(comparison), about="Comparison.")
    return Section(slug="methods", blocks=[methods])
