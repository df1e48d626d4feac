"""Tables for other programs: every record in long form, and the summary with one row per metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.metric import MetricSpread
from deviate.inference.order import by_cv
from deviate.inference.variant import VariantFacts
from deviate.report.writers.csv_text import csv_rows, csv_text

RECORD_COLUMNS = ("variant", "run", "metric", "iteration", "elapsed_s", "value")


def records_csv(facts: ExperimentFacts, parts: Iterable[pd.DataFrame]) -> Iterator[str]:
    """Yield every record in long form, in the columns ``experiment`` and `RECORD_COLUMNS`; of chosen metrics theirs.

    `parts` are tables of records, see `deviate.collect.tables.Tables.parts`. Floats are written with the digits that
    read back as the same float64; NaN and infinities as ``nan``, ``inf`` and ``-inf``.
    """
    chosen = facts.metrics_chosen
    yield ",".join(("experiment", *RECORD_COLUMNS)) + "\n"
    for records in parts:
        kept = records[records["metric"].isin(chosen)] if chosen else records
        yield csv_rows(kept[list(RECORD_COLUMNS)], facts.experiment)


def summary_csv(facts: ExperimentFacts) -> str:
    """Return one row per variant and metric; what is unknown is empty."""
    return csv_text(summary_table(facts))


def summary_table(facts: ExperimentFacts) -> pd.DataFrame:
    """Return one row per variant and metric, by CV; what is unknown is None or NaN."""
    rows = [_row(facts, variant, metric) for variant in facts.variants for metric in by_cv(variant.metrics)]
    return pd.DataFrame(rows, columns=list(_SUMMARY_COLUMNS))


_SUMMARY_COLUMNS = (
    *("experiment", "variant", "metric", "aggregate", "unit", "n", "excluded", "mean", "sd", "cv", "min", "max"),
    *("range", "median", "iqr", "ci_mean_low", "ci_mean_high", "ci_sd_low", "ci_sd_high", "level"),
    "sd_relative",
)


def _row(facts: ExperimentFacts, variant: VariantFacts, metric: MetricSpread) -> dict[str, object]:
    spread = metric.spread
    return {
        "experiment": facts.experiment,
        "variant": variant.variant,
        "metric": metric.name,
        "aggregate": metric.aggregate,
        "unit": metric.unit,
        "n": spread.n,
        "excluded": len(metric.excluded),
        **{name: getattr(spread, name) for name in ("mean", "sd", "cv", "min", "max", "range", "median", "iqr")},
        "ci_mean_low": metric.ci_mean.low,
        "ci_mean_high": metric.ci_mean.high,
        "ci_sd_low": metric.ci_sd.low,
        "ci_sd_high": metric.ci_sd.high,
        "level": facts.level,
        "sd_relative": _relative(facts, variant.variant, metric),
    }


def _relative(facts: ExperimentFacts, variant: str, metric: MetricSpread) -> float | None:
    """Return the SD as a share of that of the variant in which everything varies."""
    rows = (
        row
        for table in facts.across
        if (table.metric, table.aggregate) == (metric.name, metric.aggregate)
        for row in table.rows
    )
    return next((row.relative for row in rows if row.variant == variant), None)
