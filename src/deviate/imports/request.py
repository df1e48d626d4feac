"""The request of an import: what to read, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from deviate.core.experiment import Direction
from deviate.source.config import STATISTICS_KEYS, TypedStatistics, says

Format = Literal["csv", "json", "tensorboard", "mlflow", "wandb", "log"]

#: Formats with what they are, for ``--help``.
FORMATS: dict[Format, str] = {
    "csv": "tables: long or wide, Keras CSVLogger, exports of TensorBoard, MLflow and wandb",
    "json": "lists of rows, JSON lines, a Keras history, trainer_state.json; the same in YAML",
    "tensorboard": "folders with event files",
    "mlflow": "a folder mlruns, or a SQLite store",
    "wandb": "a folder wandb, or .wandb files",
    "log": "text, read with --pattern",
}


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
    rows: Literal["runs", "iterations", ""] = ""
    #: Only rows with this value in this column.
    where: tuple[tuple[str, str], ...] = ()
    #: Values that differ in this column only are averaged.
    mean_over: tuple[str, ...] = ()
    #: Columns that are metrics, whatever their names say.
    wanted: tuple[str, ...] = ()
    #: Whether rows follow one another in time, as the lines of a log do: of several at one iteration the last counts.
    in_time: bool = False


#: What ``--set`` takes, by fields of the request and of `TableOptions`.
_COLUMNS = {"metric": "metric_column", "value": "value_column", "time": "time_column", "runs_of": "columns_are_runs"}
IMPORT_KEYS = ("aggregate", "direction", *_COLUMNS.values())


class ImportSettings(TypedStatistics, frozen=True, kw_only=True, rename={**STATISTICS_KEYS, **_COLUMNS}):
    """What is rarely said of an import."""

    metric: Annotated[str, says("COLUMN that names the metric, in a long table")] = ""
    value: Annotated[str, says("COLUMN that holds the value, in a long table")] = ""
    time: Annotated[str, says("COLUMN with the seconds since the run started")] = ""
    runs_of: Annotated[str, says("METRIC: read each column as one run of it")] = ""


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
