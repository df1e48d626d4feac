"""MLflow's local stores: the files of a run's folder, and the tables of the SQLite file."""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from deviate.observe.trackers.tensorboard import DamagedFileError, Scalar

#: Beside the folder ``metrics`` of a run.
META, METRICS = "meta.yaml", "metrics"

#: The tag of a run that names the one it is a part of.
PARENT = "mlflow.parentRunId"

SQLITE = b"SQLite format 3\0"

#: How a file of the folder ``metrics`` begins: ``timestamp value step``, and what later versions add.
_LINE = re.compile(rb"\d{12,14} \S+(?: -?\d+(?: [^\n]*)?)?\n")


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the SQLite store, as far as a column holds what it should; times are Unix milliseconds."""

    identity: str
    name: str
    status: str
    start: float | None
    end: float | None
    experiment: str
    #: Parameters by name.
    params: dict[str, str]
    scalars: list[Scalar]


def metrics_folder(path: Path) -> Path | None:
    """Return the folder ``metrics`` of a run that a file lies in or below; a key with slashes makes folders."""
    return next((each for each in path.parents if each.name == METRICS and (each.parent / META).is_file()), None)


def is_metric_file(path: Path, head: bytes) -> bool:
    """Tell by its place and first bytes whether a file holds the values of one metric."""
    return metrics_folder(path) is not None and _LINE.match(head) is not None


def read_metric(path: Path, tag: str) -> Iterator[Scalar]:
    """Yield the lines ``timestamp value step`` of one metric; a torn last line is passed over."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if len(words) >= 2:
            try:
                yield Scalar(tag, int(words[2]) if len(words) > 2 else 0, float(words[0]) / 1000, float(words[1]))
            except ValueError:
                continue


def is_database(path: Path, head: bytes) -> bool:
    """Tell whether a file is a SQLite file with MLflow's tables."""
    if not head.startswith(SQLITE):
        return False
    try:
        with closing(open_database(path)) as database:
            database.execute("SELECT run_uuid, key, value, step, timestamp, is_nan FROM metrics LIMIT 1")
            return True
    except sqlite3.Error:
        return False


_RUNS = """
SELECT runs.run_uuid, runs.name, runs.status, runs.start_time, runs.end_time, experiments.name
FROM runs LEFT JOIN experiments ON experiments.experiment_id = runs.experiment_id
WHERE runs.lifecycle_stage <> 'deleted' ORDER BY runs.start_time, runs.run_uuid
"""

#: A table of a database may be a query that has no end: most values that are read, bytes of one, and seconds of the
#: processor for all. MLflow allows 8,000 characters.
MOST_VALUES, LARGEST, MOST_SECONDS = 2_500_000, 1 << 20, 30.0

#: Steps of SQLite's machine between two looks at the clock: some milliseconds.
_STEPS = 100_000

#: Parameters of one run that are read.
MOST_PARAMS = 1_000

_PARENTS = "SELECT DISTINCT value FROM tags WHERE key = ?"
_PARAMS = "SELECT key, value FROM params WHERE run_uuid = ?"
_METRICS = "SELECT key, step, value, is_nan, timestamp FROM metrics WHERE run_uuid = ? ORDER BY timestamp, step"


def read_database(path: Path) -> Iterator[StoredRun]:
    """Yield the runs of a SQLite store, in the order in which they started.

    Raises DamagedFileError if it is none (a column of SQLite takes words where numbers belong), or has no end.
    """
    try:
        with closing(open_database(path)) as database:
            yield from _runs(database)
    except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
        raise DamagedFileError(str(error)) from error


def read_parents(path: Path) -> set[str]:
    """Return the runs of a SQLite store that others name as theirs."""
    with suppress(sqlite3.Error), closing(open_database(path)) as database:
        return {str(parent) for (parent,) in database.execute(_PARENTS, (PARENT,)).fetchmany(MOST_VALUES)}
    return set()


def _runs(database: sqlite3.Connection) -> Iterator[StoredRun]:
    left = MOST_VALUES
    for run, name, status, start, end, experiment in database.execute(_RUNS).fetchmany(left):
        rows = database.execute(_METRICS, (run,)).fetchmany(left + 1)
        left -= len(rows)
        if left < 0:
            raise DamagedFileError(f"it has more than {MOST_VALUES:,} values")
        yield StoredRun(
            identity=str(run),
            name=str(name or run),
            status=str(status or "").lower(),
            start=start,
            end=end,
            experiment=str(experiment or ""),
            params={str(key): str(value) for key, value in database.execute(_PARAMS, (run,)).fetchmany(MOST_PARAMS)},
            scalars=[
                Scalar(str(key), int(step), moment / 1000, math.nan if is_nan else float(value))
                for key, step, value, is_nan, moment in rows
            ],
        )


def open_database(path: Path) -> sqlite3.Connection:
    """Open a SQLite file of others: nothing is written, and no query is without an end."""
    database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
    late = time.process_time() + MOST_SECONDS
    database.set_progress_handler(lambda: time.process_time() > late, _STEPS)
    return database
