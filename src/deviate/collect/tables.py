"""All records of an experiment as tidy tables.

Only completed runs enter unless asked otherwise: a run that failed half-way has records, but no sample.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pandas as pd

from deviate.collect.aggregates import pick
from deviate.collect.columns import TICK_NAME
from deviate.collect.measured import TIME_PER_ITERATION, TIME_PER_RUN, MeasuredMetric, measured_metrics
from deviate.collect.parquet import run_parquet
from deviate.experiment import Experiment
from deviate.replicate.outcome import Completed
from deviate.replicate.workspace import ExperimentFolder, RunFolder

RECORD_COLUMNS = ("variant", "run", "metric", "iteration", "elapsed_s", "value")
SAMPLE_COLUMNS = ("variant", "run", "metric", "aggregate", "value")

# One row a record, in the order each run wrote them.
_VIEW = """
CREATE VIEW record AS
SELECT files.variant, files.run, files.place, metric::VARCHAR AS metric, source, iteration, elapsed_s, value,
       process::VARCHAR AS process, file_row_number AS position
FROM read_parquet({files}, filename = true, file_row_number = true) AS stored
JOIN files ON stored.filename = files.filename
"""

# Order statistics pass over NaN (DuckDB would call it the greatest number); `last` and `mean` show it.
_AGGREGATES = """
SELECT variant, run, metric, max(source) AS source,
       arg_max(value, position) AS last, avg(value) AS mean,
       max(value) FILTER (NOT isnan(value)) AS max, min(value) FILTER (NOT isnan(value)) AS min
FROM record WHERE metric <> $tick GROUP BY place, variant, run, metric ORDER BY place, metric
"""

_AT = """
SELECT variant, run, metric, arg_max(value, position) AS value
FROM record WHERE metric = $metric AND iteration = $iteration GROUP BY place, variant, run, metric ORDER BY place
"""

# Trapezia between the iterations that reported, of each the last value; NaN of a run that diverged stays NaN.
_AREA = """
WITH points AS (
    SELECT place, variant, run, iteration, arg_max(value, position) AS value
    FROM record WHERE metric = $metric GROUP BY place, variant, run, iteration
), steps AS (
    SELECT place, variant, run, value,
           iteration - lag(iteration) OVER curve AS width, lag(value) OVER curve AS before
    FROM points WINDOW curve AS (PARTITION BY place ORDER BY iteration)
)
SELECT variant, run, coalesce(sum((value + before) / 2 * width) / sum(width), any_value(value)) AS value
FROM steps GROUP BY place, variant, run ORDER BY place
"""

# Of several processes with a main loop, the one that went through most iterations tells the time.
_ITERATION_TIMES = """
WITH steps AS (
    SELECT place, variant, run, process,
           elapsed_s - lag(elapsed_s) OVER (PARTITION BY place, process ORDER BY position) AS step
    FROM record WHERE metric = $tick
), timed AS (
    SELECT place, variant, run, count(step) AS steps, median(step) AS value
    FROM steps GROUP BY place, variant, run, process HAVING count(step) > 0
)
SELECT variant, run, arg_max(value, steps) AS value FROM timed GROUP BY place, variant, run ORDER BY place
"""


def included_runs(folder: ExperimentFolder, *, include_failed: bool = False) -> list[RunFolder]:
    """Return the runs that enter a statistic: completed ones, in the order of the experiment's variants.

    Parameters
    ----------
    folder : ExperimentFolder
        Where the runs are.
    include_failed : bool, optional
        Also return runs that ended in another way.
    """
    order = {name: place for place, name in enumerate(folder.read_experiment().planned)}
    runs = [run for run in folder.runs() if _enters(run, include_failed)]
    return sorted(runs, key=lambda run: (order.get(run.run.variant, len(order)), run.run.variant, run.run.index))


def _enters(run: RunFolder, include_failed: bool) -> bool:
    outcome = run.read_outcome()
    return isinstance(outcome, Completed) or (include_failed and outcome is not None)


def records(folder: ExperimentFolder, *, include_failed: bool = False) -> pd.DataFrame:
    """Return every record, in the order each run wrote them.

    Returns
    -------
    DataFrame
        Columns ``variant``, ``run``, ``metric``, ``iteration`` (of the main loop, from 0; -1 before it), ``elapsed_s``
        (since the run's first process started) and ``value``.
    """
    with _opened(folder, include_failed) as database:
        return database.execute(
            f"SELECT {', '.join(RECORD_COLUMNS)} FROM record WHERE metric <> $tick ORDER BY place, position",
            {"tick": TICK_NAME},
        ).df()


def recorded_names(folder: ExperimentFolder, *, include_failed: bool = False) -> list[tuple[str, int]]:
    """Return the names of metrics that have records, each with its position in the experiment (-1: not foreseen)."""
    with _opened(folder, include_failed) as database:
        rows = database.execute(
            "SELECT DISTINCT metric, source FROM record WHERE metric <> $tick", {"tick": TICK_NAME}
        ).fetchall()
    return sorted((str(name), int(source)) for name, source in rows)


def samples(folder: ExperimentFolder, aggregates: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return one number per run and metric, times included; a run without a record of a metric has no row for it.

    Parameters
    ----------
    folder : ExperimentFolder
        Where the runs are.
    aggregates : mapping of str to str, optional
        Aggregates by metric, where they should differ from the experiment's.

    Returns
    -------
    DataFrame
        Columns ``variant``, ``run``, ``metric``, ``aggregate`` and ``value``; the metrics in the order of
        `measured_metrics`.
    """
    experiment = folder.read_experiment()
    with _opened(folder, include_failed=False) as database:
        table = database.execute(_AGGREGATES, {"tick": TICK_NAME}).df()
        found = measured_metrics(experiment, zip(table["metric"], table["source"], strict=True))
        parts = [_sample(database, table, _with_aggregate(metric, aggregates or {})) for metric in found]
    parts += [_run_times(folder)]
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else _no_samples()


def _with_aggregate(metric: MeasuredMetric, aggregates: Mapping[str, str]) -> tuple[MeasuredMetric, str]:
    return metric, aggregates.get(metric.name, metric.aggregate)


def _sample(
    database: duckdb.DuckDBPyConnection, table: pd.DataFrame, chosen: tuple[MeasuredMetric, str]
) -> pd.DataFrame:
    metric, aggregate = chosen
    if metric.name == TIME_PER_RUN:
        return _no_samples()
    if metric.name == TIME_PER_ITERATION:
        rows = database.execute(_ITERATION_TIMES, {"tick": TICK_NAME}).df()
    elif aggregate.startswith("at "):
        parameters = {"metric": metric.name, "iteration": int(aggregate.removeprefix("at "))}
        rows = database.execute(_AT, parameters).df()
    elif aggregate == "area":
        rows = database.execute(_AREA, {"metric": metric.name}).df()
    else:
        rows = pick(table[table["metric"] == metric.name], aggregate, metric.direction)
    return _labelled(rows, metric.name, aggregate)


def _labelled(rows: pd.DataFrame, metric: str, aggregate: str) -> pd.DataFrame:
    return rows.assign(metric=metric, aggregate=aggregate)[list(SAMPLE_COLUMNS)]


def _run_times(folder: ExperimentFolder) -> pd.DataFrame:
    rows = [
        (run.run.variant, run.run.index, outcome.seconds)
        for run in included_runs(folder)
        if (outcome := run.read_outcome()) is not None and outcome.seconds is not None
    ]
    return _labelled(pd.DataFrame(rows, columns=["variant", "run", "value"]), TIME_PER_RUN, "last")


def _no_samples() -> pd.DataFrame:
    return pd.DataFrame({"variant": [], "run": [], "metric": [], "aggregate": [], "value": []}).astype(
        {"variant": str, "run": "int64", "metric": str, "aggregate": str, "value": "float64"}
    )


@contextmanager
def _opened(folder: ExperimentFolder, include_failed: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory whose view ``record`` holds the records of the runs."""
    experiment: Experiment = folder.read_experiment()
    names = [metric.name for metric in experiment.metrics]
    with tempfile.TemporaryDirectory() as spare, duckdb.connect() as database:
        runs = included_runs(folder, include_failed=include_failed)
        files = _file_table([(run, run_parquet(run, names, Path(spare))) for run in runs])
        database.register("files", files)
        database.execute(_VIEW.format(files=_sql_list(files["filename"])) if len(files) else _EMPTY_VIEW)
        yield database


_EMPTY_VIEW = """
CREATE VIEW record AS
SELECT ''::VARCHAR AS variant, 0::BIGINT AS run, 0::BIGINT AS place, ''::VARCHAR AS metric, 0::INTEGER AS source,
       0::INTEGER AS iteration, 0::DOUBLE AS elapsed_s, 0::DOUBLE AS value, ''::VARCHAR AS process,
       0::BIGINT AS position
WHERE false
"""


def _file_table(runs: list[tuple[RunFolder, Path]]) -> pd.DataFrame:
    rows = [(str(path), run.run.variant, run.run.index, place) for place, (run, path) in enumerate(runs)]
    return pd.DataFrame(rows, columns=["filename", "variant", "run", "place"])


def _sql_list(words: pd.Series) -> str:
    return "[" + ", ".join("'" + str(word).replace("'", "''") + "'" for word in words) + "]"
