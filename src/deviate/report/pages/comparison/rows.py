"""What a table shows of one metric of a comparison."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.metric import MetricComparison
from deviate.measure.intervals import Interval
from deviate.report.page import Cell, Row
from deviate.report.pages.cells import number
from deviate.report.text.comparison.cells import MetricCells

#: Cells on the means of a metric.
TESTED = ("a", "b", "difference", "ci", "p")


def pair_names(comparison: Comparison, pair: PairComparison) -> str:
    """Return what tells a pair from others; empty where there is one only."""
    return f"{pair.a} against {pair.b}, " if len(comparison.pairs) > 1 else ""


def places_text(lowest: int, highest: int, between: str) -> str:
    """Write the places that a side may have."""
    return f"{lowest}" if lowest == highest else f"{lowest}{between}{highest}"


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
        "none": Cell(""),
        "a": Cell(text.a, metric.a.spread.mean, brief=text.mean_a),
        "b": Cell(text.b, metric.b.spread.mean, brief=text.mean_b),
        "difference": number(text.difference, contrast.difference.value),
        "ci": number(text.ci, _low(contrast.difference.interval)),
        "p": number(text.p, metric.p_adjusted),
        "ratio": number(text.ratio, contrast.sd_ratio.value),
        "ratio_ci": number(text.ratio_ci, _low(contrast.sd_ratio.interval)),
        "spread_p": number(text.spread_p, metric.spread_p_adjusted),
        "verdict": Cell(text.verdict),
        "short verdict": Cell(text.short_verdict),
        "noisier": Cell(text.noisier),
        "better": Cell(_better(metric, pair)),
    }


def _low(interval: Interval) -> float | None:
    return interval.low if interval.known else None


def _better(metric: MetricComparison, pair: PairComparison) -> str:
    """Name the better side in as few words as a column of a paper has room for."""
    short = {"a better": pair.a, "b better": pair.b, "no difference shown": "–"}
    return short.get(metric.verdict, metric.verdict)


def metric_rows(metrics: Iterable[MetricComparison], pair: PairComparison, *names: str) -> list[Row]:
    """Return a row per metric with the cells that are `shown`."""
    cells = (_cells(metric, pair) for metric in metrics)
    return [Row(cells=[each[name] for name in names]) for each in cells]
