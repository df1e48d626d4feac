"""The SQLite files of trackio, one for each project: a row of metrics is a JSON object."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from deviate.core.errors import NotImportable
from deviate.core.paths import files_below
from deviate.imports.foreign import ForeignResults, ForeignRun, Reading, in_order, seed_of, seeded_label
from deviate.imports.rows import flat
from deviate.observe.trackers.mlflow import MOST_VALUES, open_database

_COLUMNS = {"run_name", "step", "timestamp", "metrics"}


def is_trackio(path: Path) -> bool:
    """Tell whether a file is a SQLite file with trackio's table."""
    with suppress(sqlite3.Error), closing(open_database(path)) as database:
        return _columns(database, "metrics") >= _COLUMNS
    return False


def read_trackio(roots: list[Path]) -> ForeignResults:
    """Read the runs of trackio's files; each project is a group."""
    files = [file for root in roots for file in ([root] if os.path.isfile(root) else files_below(root, "*.db"))]
    return ForeignResults(runs=in_order(run for file in files for run in _runs(file)))


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(name) for _, name, *_ in database.execute(f"PRAGMA table_info({table})")}


def _runs(path: Path) -> Iterator[ForeignRun]:
    try:
        with closing(open_database(path)) as database:
            # Runs had no id in early versions, and files of those no table of settings.
            own = "run_id" if "run_id" in _columns(database, "metrics") else "run_name"
            query = f"SELECT {own}, run_name, step, metrics FROM metrics ORDER BY id"
            readings: dict[tuple[str, str], list[Reading]] = {}
            rows = database.execute(query).fetchmany(MOST_VALUES + 1)
            if len(rows) > MOST_VALUES:
                raise NotImportable(
                    f"{path} has more than {MOST_VALUES:,} rows", hint="export the runs that matter as a table"
                )
            for run, name, step, metrics in rows:
                readings.setdefault((str(run), str(name)), []).extend(_readings(int(step), json.loads(metrics)))
            query = f"SELECT {own}, config FROM configs"
            configs = dict(database.execute(query).fetchmany(MOST_VALUES)) if _columns(database, "configs") else {}
            for (run, name), each in readings.items():
                config = flat(json.loads(configs.get(run, "{}")))
                settings = {key: str(value) for key, value in config.items() if key and not key.startswith("_")}
                label = seeded_label(name, seed_of(settings))
                yield ForeignRun(identity=run, label=label, readings=each, group=path.stem, settings=settings)
    except (sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise NotImportable(f"{path} is no file of trackio: {error}", hint="name the file of a project") from error


def _readings(step: int, metrics: object) -> Iterator[Reading]:
    """Yield the numbers of a row; what is not finite is a word in it."""
    for name, value in flat(metrics).items():
        if name and (isinstance(value, int | float) or value in ("NaN", "Infinity", "-Infinity")):
            yield Reading(name, step, float(value))
