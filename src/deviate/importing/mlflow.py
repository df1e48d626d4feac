"""MLflow's local stores: the folder ``mlruns`` and the SQLite file."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from deviate.errors import NotImportable
from deviate.importing.foreign import ForeignResults, ForeignRun, Reading, in_order, seeded_label

META = "meta.yaml"

#: ``RunStatus`` of MLflow's protocol, as the folder store writes it.
_STATUS = {"1": "running", "2": "scheduled", "3": "finished", "4": "failed", "5": "killed"}

DELETED = "deleted"

SEEDS = ("seed", "random_seed", "random-seed")


def read_mlflow(roots: list[Path]) -> ForeignResults:
    """Read the runs of MLflow stores; each MLflow experiment is a group."""
    runs = [run for root in roots for run in (_from_database(root) if root.is_file() else _from_folder(root))]
    return ForeignResults(runs=in_order(runs))


def _from_folder(root: Path) -> Iterator[ForeignRun]:
    for meta_file in sorted(root.rglob(META)):
        folder, meta = meta_file.parent, _flat_yaml(meta_file)
        if not (folder / "metrics").is_dir() or meta.get("lifecycle_stage") == DELETED:
            continue
        start = _milliseconds(meta.get("start_time"))
        names = [path for path in sorted((folder / "metrics").rglob("*")) if path.is_file()]
        readings = [
            reading
            for path in names
            for reading in _metric_file(path, path.relative_to(folder / "metrics").as_posix(), start)
        ]
        yield ForeignRun(
            label=seeded_label(meta.get("run_name") or folder.name, _seed(folder)),
            readings=readings,
            group=_flat_yaml(folder.parent / META).get("name", ""),
            seconds=_seconds(start, _milliseconds(meta.get("end_time"))),
            status=_STATUS.get(meta.get("status", ""), meta.get("status", "")).lower(),
        )


def _flat_yaml(path: Path) -> dict[str, str]:
    """Return the plain entries of a ``meta.yaml``: MLflow writes one word a line, none of them nested."""
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = (line.partition(": ") for line in lines if not line.startswith((" ", "-")))
    return {key: value.strip().strip("'\"") for key, sign, value in pairs if sign}


def _metric_file(path: Path, name: str, start: float | None) -> Iterator[Reading]:
    """Yield the lines ``timestamp value step`` of one metric; a torn last line is passed over."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if len(words) >= 2:
            try:
                step = int(words[2]) if len(words) > 2 else 0
                yield Reading(name, step, float(words[1]), _since(start, float(words[0])))
            except ValueError:
                continue


def _seed(folder: Path) -> str | None:
    paths = (folder / "params" / name for name in SEEDS)
    return next((path.read_text(encoding="utf-8", errors="replace").strip() for path in paths if path.is_file()), None)


def _milliseconds(text: object) -> float | None:
    try:
        return float(str(text))
    except ValueError:
        return None


def _seconds(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (end - start) / 1000


def _since(start: float | None, moment: float) -> float:
    return math.nan if start is None else (moment - start) / 1000


_RUNS = """
SELECT runs.run_uuid, runs.name, runs.status, runs.start_time, runs.end_time, experiments.name,
       (SELECT value FROM params WHERE params.run_uuid = runs.run_uuid AND lower(key) IN ('seed', 'random_seed'))
FROM runs LEFT JOIN experiments ON experiments.experiment_id = runs.experiment_id
WHERE runs.lifecycle_stage <> 'deleted' ORDER BY runs.start_time, runs.run_uuid
"""

_METRICS = "SELECT key, step, value, is_nan, timestamp FROM metrics WHERE run_uuid = ? ORDER BY timestamp, step"


def _from_database(path: Path) -> Iterator[ForeignRun]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            for run, name, status, start, end, group, seed in database.execute(_RUNS).fetchall():
                readings = [
                    Reading(str(key), int(step), math.nan if is_nan else float(value), _since(start, moment))
                    for key, step, value, is_nan, moment in database.execute(_METRICS, (run,))
                ]
                yield ForeignRun(
                    label=seeded_label(str(name or run), seed),
                    readings=readings,
                    group=str(group or ""),
                    seconds=_seconds(start, end),
                    status=str(status or "").lower(),
                )
    except (sqlite3.Error, ValueError, TypeError) as error:
        # A column of SQLite takes words where numbers belong.
        raise NotImportable(
            f"{path} is no SQLite store of MLflow: {error}",
            hint="name the folder mlruns, or a file that mlflow.set_tracking_uri('sqlite:///FILE') named",
        ) from error
