"""Tables for other programs, as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deviate.facts.compared_metric import MetricComparison
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.grid import Grid
from deviate.facts.group_rates import GroupStability
from deviate.facts.metric import MetricSpread, by_cv
from deviate.facts.stability import Stability
from deviate.facts.variant import VariantFacts
from deviate.facts.weight_distances import WeightFacts
from deviate.report.escape import csv_cell
from deviate.report.topics.verdicts import verdict_text
from deviate.report.writers.contracts import fields
from deviate.stats.pairs import Estimate

#: Characters of a text that has to be quoted.
_SPECIAL = frozenset(',"\r\n')


def csv_text(table: pd.DataFrame) -> str:
    """Return the frame as CSV; what is unknown is empty, texts are made safe, numbers stay as they are."""
    shown = table.copy()
    for position, dtype in enumerate(shown.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            shown.isetitem(position, _safe(shown.iloc[:, position]).array)
    return shown.to_csv(index=False, lineterminator="\n")


def csv_rows(table: pd.DataFrame, *first: str) -> str:
    """Return the rows of a long frame, and no header, as CSV: much faster than `csv_text`.

    Every row begins with the texts in `first`. Floats are written with the digits that read back as the same float64,
    whole ones as ``1``, NaN as ``nan``.
    """
    if table.empty:
        return ""
    head, columns = [_quoted(csv_cell(text)) for text in first], [column for _, column in table.items()]
    # What is the same in all rows is written once; as floats, 0 and -0 are not.
    while len(columns) > 1 and columns[0].dtype.kind != "f" and (columns[0] == columns[0].iloc[0]).all():
        head += _cells(columns.pop(0).iloc[:1])
    begin = "".join(f"{cell}," for cell in head)
    rows = map(",".join, zip(*map(_cells, columns), strict=True))
    return begin + f"\n{begin}".join(rows) + "\n"


def _cells(column: pd.Series[Any]) -> list[str]:
    return _number_cells(column.to_numpy()) if pd.api.types.is_numeric_dtype(column.dtype) else _text_cells(column)


def _number_cells(numbers: NDArray[Any]) -> list[str]:
    # msgspec writes a list of floats in a tenth of the time that `repr` takes.
    text = msgspec.json.encode(numbers.tolist())[1:-1] + b","
    cells = text.replace(b".0,", b",").decode().split(",")[: len(numbers)]
    for place in np.flatnonzero(~np.isfinite(numbers)).tolist():
        cells[place] = str(float(numbers[place]))
    return cells


def _text_cells(texts: pd.Series[Any]) -> list[str]:
    # Many rows have few names.
    places, words = pd.factorize(texts)
    cells: list[str] = np.array([_quoted(csv_cell(word)) for word in words], dtype=object)[places].tolist()
    return cells


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _SPECIAL.intersection(cell) else cell


def _safe(column: pd.Series[Any]) -> pd.Series[Any]:
    values = column.astype(object)
    texts = {value: csv_cell(value) for value in values.unique() if isinstance(value, str)}
    return values.map(lambda value: texts[value] if isinstance(value, str) else value)


# Tables for other programs: every record in long form, and the summary with one row per metric.

RECORD_COLUMNS = ("variant", "run", "metric", "iteration", "elapsed_s", "value")


def records_csv(facts: ExperimentFacts, parts: Iterable[pd.DataFrame]) -> Iterator[str]:
    """Yield every record in long form, in the columns ``experiment`` and `RECORD_COLUMNS`; of chosen metrics theirs.

    `parts` are tables of records, see `deviate.observe.tables.Tables.parts`. Floats are written with the digits that
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


# A comparison as a table for other programs: one row per pair and metric; what is unknown is empty.


def comparison_csv(comparison: Comparison) -> str:
    """Return one row per pair of experiments and metric."""
    rows = [_compared_row(pair, metric) for pair in comparison.pairs for metric in pair.metrics]
    return csv_text(pd.DataFrame(rows))


def _compared_row(pair: PairComparison, metric: MetricComparison) -> dict[str, object]:
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


# A grid as a table for other programs: one row per metric and cell; what is unknown is empty.


def grid_csv(grid: Grid) -> str:
    """Return the settings of each cell, and what its runs gave in each metric."""
    rows = [
        {
            "experiment": cell.experiment,
            **{f"setting.{key}": value for key, value in cell.settings.items()},
            "metric": metric.name,
            "aggregate": metric.aggregate,
            "unit": metric.unit,
            "claimed": metric.claimed,
            "n": cell.n,
            "mean": cell.mean,
            "sd": cell.sd,
            "mean_low": cell.ci_mean.low,
            "mean_high": cell.ci_mean.high,
            "rank": cell.rank,
            "lowest": cell.lowest,
            "highest": cell.highest,
            "may_be_best": cell.may_be_best,
        }
        for metric in grid.metrics
        for cell in metric.cells
    ]
    return csv_text(pd.DataFrame(rows))


# Groups of examples as a table for other programs: one row per group and rate.

_COLUMNS = (
    *("experiment", "variant", "column", "group", "examples", "rate", "mean", "sd", "ci_sd_low", "ci_sd_high"),
    *("range", "ratio", "floor", "p", "level"),
)


def groups_csv(facts: ExperimentFacts) -> str:
    """Return one row per variant, group and rate; what is unknown is empty."""
    return csv_text(group_table(facts))


def group_table(facts: ExperimentFacts) -> pd.DataFrame:
    """Return one row per variant, group and rate, all examples first; what is unknown is None or NaN."""
    rows = [
        {"experiment": facts.experiment, "variant": each.variant, **row, "level": facts.level}
        for each in facts.stabilities
        if each.groups is not None
        for row in _rows(each)
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _rows(facts: Stability) -> Iterator[dict[str, object]]:
    assert facts.groups is not None
    for group in (facts.groups.overall, *facts.groups.groups):
        yield from _rates(group)


def _rates(group: GroupStability) -> Iterator[dict[str, object]]:
    for name, rate in group.rates.items():
        yield {
            **{"column": group.column, "group": group.name, "examples": group.examples, "rate": name},
            **{"mean": rate.mean, "sd": rate.sd, "range": rate.range, "ratio": rate.ratio, "floor": rate.floor},
            **{"p": rate.p, "ci_sd_low": rate.interval.low, "ci_sd_high": rate.interval.high},
        }


# Distances of weights as a table for other programs: one row per layer at the end, and one a kept moment.

_DISTANCES = (
    "experiment",
    "variant",
    "iteration",
    "file",
    "layer",
    "elements",
    "distance",
    "ci_low",
    "ci_high",
    "level",
)


def weights_csv(facts: ExperimentFacts) -> str:
    """Return one row per variant and kept moment, then of the final weights one for all and one for each layer.

    The final weights have neither iteration nor file, all weights as one vector no layer; what is unknown is empty.
    """
    rows = [
        {"experiment": facts.experiment, "variant": each.variant, **row, "level": facts.level}
        for each in facts.weights
        for row in _weight_rows(each)
    ]
    return csv_text(pd.DataFrame(rows, columns=list(_DISTANCES)).astype({"iteration": "Int64", "elements": "Int64"}))


def _weight_rows(facts: WeightFacts) -> Iterator[dict[str, object]]:
    for each in facts.moments:
        yield {"iteration": each.iteration, "file": each.file, **_distance(each.distance)}
    if facts.distance is not None:
        yield {"elements": facts.elements, **_distance(facts.distance)}
    for layer in facts.layers:
        yield {"layer": layer.name, "elements": layer.elements, **_distance(layer.distance)}


def _distance(distance: Estimate) -> dict[str, object]:
    return {"distance": distance.value, "ci_low": distance.interval.low, "ci_high": distance.interval.high}
