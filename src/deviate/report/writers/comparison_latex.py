r"""A comparison as a LaTeX fragment: a table a pair of sides, and a methods paragraph; for ``\input``."""

from __future__ import annotations

from deviate.report.comparison.cells import Cells
from deviate.report.comparison.families import adjusted_as
from deviate.report.comparison.parts import Comparison, MetricComparison, PairComparison
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
    cells = [Cells(metric, pair) for metric in pair.metrics]
    runs = {each.runs for each in cells}
    level = latex(show_level(comparison.level))
    heads = ["Metric", latex(pair.a), latex(pair.b), "Difference", f"{level} CI", "$p$", "Better"]
    columns = "lrrrrrl"
    rows = [_cells(metric, each, pair) for metric, each in zip(pair.metrics, cells, strict=True)]
    if len(runs) > 1:
        heads.insert(1, "$n$")
        columns = "lrrrrrrl"
        rows = [[row[0], number(each.runs), *row[1:]] for row, each in zip(rows, cells, strict=True)]
    # Where all metrics are of the same runs, a column that says so would only take room.
    over = f"over {runs.pop().replace(', ', ' and ')} runs" if len(runs) == 1 else "over runs"
    adjusted = adjusted_as(comparison)
    p = f" {adjusted}." if adjusted else ""
    caption = f"{pair.a} against {pair.b}: mean ± SD {over}; difference: first less second; –: no difference shown.{p}"
    return table(heads, columns, rows, latex(caption), slug("comparison", pair.a, pair.b))


def _cells(metric: MetricComparison, shown: Cells, pair: PairComparison) -> list[str]:
    how = f" ({shown.aggregate})" if shown.aggregate else ""
    numbers = (shown.a, shown.b, shown.difference, shown.ci, shown.p)
    return [latex(f"{shown.name}{shown.unit}{how}"), *map(number, numbers), latex(_better(metric, shown, pair))]


def _better(metric: MetricComparison, shown: Cells, pair: PairComparison) -> str:
    """Name the better side in as few words as a column of a paper has room for."""
    short = {"a better": pair.a, "b better": pair.b, "no difference shown": "differs" if metric.differs else "–"}
    return short.get(metric.verdict, shown.verdict)
