r"""A comparison as a LaTeX fragment: a table a pair of sides, and a methods paragraph; for ``\input``."""

from __future__ import annotations

from deviate.report.comparison.cells import Cells
from deviate.report.comparison.families import adjusted_as
from deviate.report.comparison.parts import Comparison, PairComparison
from deviate.report.figures.slugs import slug
from deviate.report.latex_text import latex, number
from deviate.report.shown import show_level
from deviate.report.writers.latex import HEAD, paragraph, table


def render_comparison_latex(comparison: Comparison) -> str:
    """Return a table of each pair with every metric, and how they were compared."""
    lines = [f"% {latex(' against '.join(comparison.labels))}", *HEAD]
    for pair in comparison.pairs:
        lines += _pair(pair, comparison)
    lines += paragraph("Comparison.", comparison.methods)
    return "\n".join(lines).rstrip("\n") + "\n"


def _pair(pair: PairComparison, comparison: Comparison) -> list[str]:
    level = latex(show_level(comparison.level))
    heads = ("Metric", "$n$", latex(pair.a), latex(pair.b), "Difference", f"{level} CI", "$p$", "Verdict")
    rows = []
    for metric in pair.metrics:
        cells = Cells(metric, pair)
        how = f" ({cells.aggregate})" if cells.aggregate else ""
        numbers = (cells.runs, cells.a, cells.b, cells.difference, cells.ci, cells.p)
        rows.append([latex(f"{cells.name}{cells.unit}{how}"), *map(number, numbers), latex(cells.verdict)])
    adjusted = adjusted_as(comparison)
    p = f" {adjusted}." if adjusted else ""
    caption = f"{pair.a} against {pair.b}: mean ± SD over runs; difference: first less second.{p}"
    return table(heads, "lrrrrrrl", rows, latex(caption), slug("comparison", pair.a, pair.b))
