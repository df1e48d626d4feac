"""Tables for other programs, as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.facts.compared_metric import MetricComparison
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.grid import Grid
from deviate.facts.groups import GroupStability
from deviate.facts.metric import MetricSpread, by_cv
from deviate.facts.stability import Stability
from deviate.facts.variant import VariantFacts
from deviate.facts.weights import WeightFacts
from deviate.report.escape import csv_cell
from deviate.report.topics.verdicts import verdict_text
from deviate.report.writers.contracts import fields, sided
from deviate.stats.pairs import Estimate

if TYPE_CHECKING:
    from deviate.observe.tables import RecordPart

#: Characters of a text that has to be quoted.
_SPECIAL = frozenset(',"\r\n')


#: By column; what is unknown is None or NaN.
Row = dict[str, Any]


def csv_text(rows: list[Row], columns: Iterable[str] = (), whole: Collection[str] = ()) -> str:
    """Return rows as CSV; what is unknown is empty, texts are made safe, numbers stay as they are.

    The columns are by default all that rows have. Numbers of a column are floats where one of them is unknown or a
    float, but for those that are `whole`.
    """
    names = list(columns or dict.fromkeys(name for row in rows for name in row))
    shown = [_shown([row.get(name) for row in rows], name in whole) for name in names]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, *zip(*shown, strict=True)])
    return text.getvalue()


def _shown(column: list[Any], whole: bool) -> list[Any]:
    kinds = set(map(type, column)) - {type(None)}
    numbers = bool not in kinds and all(issubclass(kind, int | float) for kind in kinds)
    if numbers and not whole and (len(kinds) > 1 or None in column):
        column = [math.nan if value is None else float(value) for value in column]
    return [
        "" if value is None or value != value else csv_cell(value) if isinstance(value, str) else value
        for value in column
    ]


def csv_rows(columns: Mapping[str, NDArray[Any]], *first: str) -> str:
    """Return the rows of long columns, and no header, as CSV: much faster than `csv_text`.

    Every row begins with the texts in `first`. Floats are written with the digits that read back as the same float64,
    whole ones as ``1``, NaN as ``nan``.
    """
    begin = "".join(f"{_quoted(csv_cell(text))}," for text in first)
    rows = map(",".join, zip(*map(_cells, columns.values()), strict=True))
    return "".join(f"{begin}{row}\n" for row in rows)


def _cells(column: NDArray[Any]) -> list[str]:
    return _text_cells(column.tolist()) if column.dtype.kind == "O" else _number_cells(column)


def _number_cells(numbers: NDArray[Any]) -> list[str]:
    # msgspec writes a list of floats in a tenth of the time that `repr` takes.
    text = msgspec.json.encode(numbers.tolist())[1:-1] + b","
    cells = text.replace(b".0,", b",").decode().split(",")[: len(numbers)]
    for place in np.flatnonzero(~np.isfinite(numbers)).tolist():
        cells[place] = str(float(numbers[place]))
    return cells


def _text_cells(texts: list[str]) -> list[str]:
    # Many rows have few names.
    cells = {word: _quoted(csv_cell(word)) for word in set(texts)}
    return [cells[word] for word in texts]


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _SPECIAL.intersection(cell) else cell


# Tables for other programs: every record in long form, and the summary with one row per metric.

RECORD_COLUMNS = ("variant", "run", "metric", "iteration", "elapsed_s", "value")


def records_csv(facts: ExperimentFacts, parts: Iterable[RecordPart]) -> Iterator[str]:
    """Yield every record in long form, in the columns ``experiment`` and `RECORD_COLUMNS`; of chosen metrics theirs.

    `parts` are those of `deviate.observe.tables.Tables.parts`. Floats are written with the digits that
    read back as the same float64; NaN and infinities as ``nan``, ``inf`` and ``-inf``.
    """
    chosen = facts.metrics_chosen
    yield ",".join(("experiment", *RECORD_COLUMNS)) + "\n"
    for variant, run, columns in parts:
        if chosen:
            kept = np.array([metric in chosen for metric in columns["metric"]], dtype=bool)
            columns = {name: column[kept] for name, column in columns.items()}
        yield csv_rows(columns, facts.experiment, variant, str(run))


def summary_csv(facts: ExperimentFacts) -> str:
    """Return one row per variant and metric; what is unknown is empty."""
    return csv_text(summary_rows(facts), SUMMARY_COLUMNS)


def summary_rows(facts: ExperimentFacts) -> list[Row]:
    """Return one row per variant and metric, by CV, in `SUMMARY_COLUMNS`."""
    return [_row(facts, variant, metric) for variant in facts.variants for metric in by_cv(variant.metrics)]


SUMMARY_COLUMNS = (
    *("experiment", "variant", "metric", "aggregate", "unit", "n", "excluded", "mean", "sd", "cv", "min", "max"),
    *("range", "median", "iqr", "ci_mean_low", "ci_mean_high", "ci_sd_low", "ci_sd_high", "level"),
    "sd_relative",
)


def _row(facts: ExperimentFacts, variant: VariantFacts, metric: MetricSpread) -> Row:
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
    return csv_text(rows)


def _compared_row(pair: PairComparison, metric: MetricComparison) -> Row:
    contrast = metric.contrast
    ends, ratio = contrast.difference.interval, contrast.sd_ratio
    return {
        **fields(pair, "a", "b"),
        "metric_a": metric.a.name,
        "metric_b": metric.b.name,
        **fields(metric, "aggregate", "unit", "direction"),
        **fields(contrast, "n_a", "n_b"),
        **sided(metric.a.spread, metric.b.spread, "mean", "sd"),
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
            **fields(metric, "aggregate", "unit", "claimed"),
            **fields(cell, "n", "mean", "sd"),
            "mean_low": cell.ci_mean.low,
            "mean_high": cell.ci_mean.high,
            **fields(cell, "rank", "lowest", "highest", "may_be_best"),
        }
        for metric in grid.metrics
        for cell in metric.cells
    ]
    return csv_text(rows)


# Groups of examples as a table for other programs: one row per group and rate.

GROUP_COLUMNS = (
    *("experiment", "variant", "column", "group", "examples", "rate", "mean", "sd", "ci_sd_low", "ci_sd_high"),
    *("range", "ratio", "floor", "p", "level"),
)


def groups_csv(facts: ExperimentFacts) -> str:
    """Return one row per variant, group and rate; what is unknown is empty."""
    return csv_text(group_rows(facts), GROUP_COLUMNS)


def group_rows(facts: ExperimentFacts) -> list[Row]:
    """Return one row per variant, group and rate, all examples first, in `GROUP_COLUMNS`."""
    return [
        {"experiment": facts.experiment, "variant": each.variant, **row, "level": facts.level}
        for each in facts.stabilities
        if each.groups is not None
        for row in _rows(each)
    ]


def _rows(facts: Stability) -> Iterator[Row]:
    assert facts.groups is not None
    for group in (facts.groups.overall, *facts.groups.groups):
        yield from _rates(group)


def _rates(group: GroupStability) -> Iterator[Row]:
    for name, rate in group.rates.items():
        yield {
            **{"column": group.column, "group": group.name, "examples": group.examples, "rate": name},
            **{"mean": rate.mean, "sd": rate.sd, "range": rate.range, "ratio": rate.ratio, "floor": rate.floor},
            **{"p": rate.p, "ci_sd_low": rate.interval.low, "ci_sd_high": rate.interval.high},
        }


# Distances of weights as a table for other programs: one row per layer at the end, and one a kept moment.

_DISTANCES = (
    "experiment", "variant", "iteration", "file", "layer", "elements", "distance", "ci_low", "ci_high", "level",
)  # fmt: skip


def weights_csv(facts: ExperimentFacts) -> str:
    """Return one row per variant and kept moment, then of the final weights one for all and one for each layer.

    The final weights have neither iteration nor file, all weights as one vector no layer; what is unknown is empty.
    """
    rows = [
        {"experiment": facts.experiment, "variant": each.variant, **row, "level": facts.level}
        for each in facts.weights
        for row in _weight_rows(each)
    ]
    return csv_text(rows, _DISTANCES, whole=("iteration", "elements"))


def _weight_rows(facts: WeightFacts) -> Iterator[Row]:
    for each in facts.moments:
        yield {"iteration": each.iteration, "file": each.file, **_distance(each.distance)}
    if facts.distance is not None:
        yield {"elements": facts.elements, **_distance(facts.distance)}
    for layer in facts.layers:
        yield {"layer": layer.name, "elements": layer.elements, **_distance(layer.distance)}


def _distance(distance: Estimate) -> Row:
    return {"distance": distance.value, "ci_low": distance.interval.low, "ci_high": distance.interval.high}
