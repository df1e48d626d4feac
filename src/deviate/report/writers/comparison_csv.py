"""A comparison as a table for other programs: one row per pair and metric; what is unknown is empty."""

from __future__ import annotations

import pandas as pd

from deviate.report.comparison.overview import shown_verdict
from deviate.report.comparison.parts import Comparison, MetricComparison, PairComparison
from deviate.report.escape import encodable


def render_comparison_csv(comparison: Comparison) -> str:
    """Return one row per pair of experiments and metric."""
    rows = [_row(pair, metric) for pair in comparison.pairs for metric in pair.metrics]
    return encodable(pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def _row(pair: PairComparison, metric: MetricComparison) -> dict[str, object]:
    found = metric.contrast
    ends = found.difference.interval
    ratio = found.sd_ratio
    return {
        "a": pair.a,
        "b": pair.b,
        "metric_a": metric.name_a,
        "metric_b": metric.name_b,
        "aggregate": metric.aggregate,
        "unit": metric.unit,
        "direction": metric.direction,
        "n_a": found.n_a,
        "n_b": found.n_b,
        "mean_a": metric.spread_a.mean,
        "mean_b": metric.spread_b.mean,
        "sd_a": metric.spread_a.sd,
        "sd_b": metric.spread_b.sd,
        "difference": found.difference.value,
        "difference_low": ends.low,
        "difference_high": ends.high,
        "test": found.location.test,
        "p": found.p,
        "p_adjusted": metric.p_adjusted,
        "verdict": metric.verdict,
        "differs": "" if metric.differs is None else str(metric.differs).lower(),
        "shown_verdict": shown_verdict(metric, pair),
        "family": metric.family,
        "sd_ratio": ratio.value,
        "sd_ratio_low": ratio.interval.low,
        "sd_ratio_high": ratio.interval.high,
        "spread_p": found.tests[found.spread.test].p,
        "spread_p_adjusted": metric.spread_p_adjusted,
        "spread_verdict": metric.noisier,
        **{name: effect.value for name, effect in found.effects.items()},
        **{f"p_{name}": test.p for name, test in found.tests.items()},
    }
