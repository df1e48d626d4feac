"""The request of an import: what to read, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from deviate.core.experiment import Direction
from deviate.source.config import STATISTICS_KEYS, TypedStatistics, says

Format = Literal["csv", "json", "tensorboard", "mlflow", "wandb", "trackio", "log"]

Rows = Literal["runs", "iterations"]


class TableOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to read a table; an empty field is inferred from the names of the columns."""

    #: Columns that together tell the runs apart.
    run: tuple[str, ...] = ()
    iteration: str = ""
    #: Columns of a long table that hold the metric's name and its value.
    metric: str = ""
    value: str = ""
    #: Seconds since the run started.
    time: str = ""
    #: Each value of this column is an experiment of its own.
    experiment: str = ""
    #: Every column but the iteration is a run of this metric.
    runs_of: str = ""
    #: What a row is, where no column tells.
    rows: Rows | Literal[""] = ""
    where: tuple[tuple[str, str], ...] = ()
    #: Values that differ in this column only are averaged.
    mean_over: tuple[str, ...] = ()
    #: Columns that are metrics, whatever their names say.
    wanted: tuple[str, ...] = ()
    #: Whether rows follow one another in time, as the lines of a log do: of several at one iteration the last counts.
    in_time: bool = False


#: What ``--set`` takes, by fields of the request and of `TableOptions`.
_COLUMNS = {
    "iteration": "iteration_column", "metric": "metric_column", "value": "value_column", "time": "time_column",
    "runs_of": "columns_are_runs",
}  # fmt: skip
IMPORT_KEYS = ("format", "rows", "where", "mean_over", *_COLUMNS.values(), "aggregate", "direction", "replace")


class ImportSettings(TypedStatistics, frozen=True, kw_only=True, rename={**STATISTICS_KEYS, **_COLUMNS}):
    """What is rarely said of an import."""

    format: Annotated[Format, says("of the files: csv, json, tensorboard, mlflow, wandb, trackio or log")] | None = None
    rows: Annotated[Rows, says("what a row is, if no column tells: runs or iterations")] | None = None
    where: Annotated[dict[str, str], says("COLUMN=VALUE: take only these rows, such as fold=0")] = {}  # noqa: RUF012
    mean_over: Annotated[tuple[str, ...], says("COLUMN to average over within each run, such as fold")] = ()
    iteration: Annotated[str, says("COLUMN that counts epochs or steps")] = ""
    metric: Annotated[str, says("COLUMN that names the metric, in a long table")] = ""
    value: Annotated[str, says("COLUMN that holds the value, in a long table")] = ""
    time: Annotated[str, says("COLUMN with the seconds since the run started")] = ""
    runs_of: Annotated[str, says("METRIC, or COLUMN that names metrics: the others are runs")] = ""
    replace: Annotated[bool, says("true: replace what was imported under this name before")] = False


class ImportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The paths to import, and the options of the import."""

    paths: list[Path]
    project: Path
    #: None: named after the first file.
    name: str | None = None
    format: Format | None = None
    table: TableOptions = TableOptions()
    #: Templates or regular expressions for lines of a log.
    patterns: tuple[str, ...] = ()
    #: Only these; empty: all.
    metrics: tuple[str, ...] = ()
    directions: dict[str, Direction] = {}
    aggregates: dict[str, str] = {}
    #: Take the place of an experiment of that name that was imported before.
    replace: bool = False
    #: What the user typed, to be shown again.
    command: list[str] = []
