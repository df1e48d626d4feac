"""A comparison as a table for other programs: one row per pair and metric; what is unknown is empty."""

from __future__ import annotations

import pandas as pd

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.metric import MetricComparison
from deviate.report.text.comparison.cells import verdict_text
from deviate.report.writers.csv_text import csv_text
from deviate.report.writers.json_values import fields


def comparison_csv(comparison: Comparison) -> str:
    """Return one row per pair of experiments and metric."""
    rows = [_row(pair, metric) for pair in comparison.pairs for metric in pair.metrics]
    return csv_text(pd.DataFrame(rows))


def _row(pair: PairComparison, metric: MetricComparison) -> dict[str, object]:
    contrast = metric.contrast
    ends, ratio = contrast.difference.interval, contrast.sd_ratio
    return {
        **fields(pair, "a", "b"),
        "metric_a": metric.a.name,
        "metric_b": metric.b.name,
        **fields(metric, "aggregate", "unit", "direction"),
        **fields(contrast, "n_a", "n_b"),
        "mean_a": metric.a.spread.mean,
        "mean_b": metric.b.spread.mean,
        "sd_a": metric.a.spread.sd,
        "sd_b": metric.b.spread.sd,
        "difference": contrast.difference.value,
        "difference_low": ends.low,
        "difference_high": ends.high,
        "test": contrast.location.test,
        "p": contrast.p,
        **fields(metric, "p_adjusted", "verdict"),
        "differs": "" if metric.differs is None else str(metric.differs).lower(),
        "shown_verdict": verdict_text(metric, pair),
        "family": metric.family,
        "sd_ratio": ratio.value,
        "sd_ratio_low": ratio.interval.low,
        "sd_ratio_high": ratio.interval.high,
        "spread_p": contrast.tests[contrast.spread.test].p,
        "spread_p_adjusted": metric.spread_p_adjusted,
        "spread_verdict": metric.noisier,
        **{name: effect.value for name, effect in contrast.effects.items()},
        **{f"p_{name}": test.p for name, test in contrast.tests.items()},
    }
