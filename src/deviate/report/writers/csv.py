"""Tables for other programs: every record in long form, and the summary with one row per metric."""

from __future__ import annotations

import pandas as pd

from deviate.report.escape import encodable
from deviate.report.order import by_cv
from deviate.report.parts import Document, MetricReport, VariantReport

RECORD_COLUMNS = ("variant", "run", "metric", "iteration", "elapsed_s", "value")


def render_records(document: Document, records: pd.DataFrame) -> str:
    """Return every record in long form; where metrics were chosen, theirs.

    Parameters
    ----------
    document : Document
        Names the experiment.
    records : DataFrame
        Columns `RECORD_COLUMNS`.

    Returns
    -------
    str
        Columns ``experiment`` and `RECORD_COLUMNS`. Floats are written with the digits that read back as the same
        float64; NaN and infinities as ``nan``, ``inf`` and ``-inf``.
    """
    chosen = document.metrics_chosen
    told = records[records["metric"].isin(chosen)] if chosen else records
    table = told.loc[:, list(RECORD_COLUMNS)]
    table.insert(0, "experiment", document.experiment)
    return encodable(table.to_csv(index=False, na_rep="nan", lineterminator="\n"))


def render_summary(document: Document) -> str:
    """Return one row per variant and metric; what is unknown is empty."""
    return encodable(summary_table(document).to_csv(index=False, lineterminator="\n"))


def summary_table(document: Document) -> pd.DataFrame:
    """Return one row per variant and metric, by CV; what is unknown is None or NaN."""
    rows = [_row(document, variant, metric) for variant in document.variants for metric in by_cv(variant.metrics)]
    return pd.DataFrame(rows, columns=list(_SUMMARY_COLUMNS))


_SUMMARY_COLUMNS = (
    *("experiment", "variant", "metric", "aggregate", "unit", "n", "excluded", "mean", "sd", "cv", "min", "max"),
    *("range", "median", "iqr", "ci_mean_low", "ci_mean_high", "ci_sd_low", "ci_sd_high", "level"),
    "sd_relative",
)


def _row(document: Document, variant: VariantReport, metric: MetricReport) -> dict[str, object]:
    found = metric.spread
    return {
        "experiment": document.experiment,
        "variant": variant.variant,
        "metric": metric.name,
        "aggregate": metric.aggregate,
        "unit": metric.unit,
        "n": found.n,
        "excluded": len(metric.excluded),
        **{name: getattr(found, name) for name in ("mean", "sd", "cv", "min", "max", "range", "median", "iqr")},
        "ci_mean_low": metric.ci_mean.low,
        "ci_mean_high": metric.ci_mean.high,
        "ci_sd_low": metric.ci_sd.low,
        "ci_sd_high": metric.ci_sd.high,
        "level": document.level,
        "sd_relative": _relative(document, variant.variant, metric),
    }


def _relative(document: Document, variant: str, metric: MetricReport) -> float | None:
    """Return the SD as a share of that of the variant in which everything varies."""
    rows = (
        row
        for table in document.across
        if (table.metric, table.aggregate) == (metric.name, metric.aggregate)
        for row in table.rows
    )
    return next((row.relative for row in rows if row.variant == variant), None)
