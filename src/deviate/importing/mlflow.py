"""MLflow's local stores: the folder ``mlruns`` and the SQLite file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from deviate.errors import NotImportable
from deviate.importing.foreign import ForeignResults, ForeignRun, Reading, in_order, seeded_label
from deviate.paths import files_below
from deviate.trackers.mlflow import META, METRICS, read_database, read_metric
from deviate.trackers.scalar import Scalar
from deviate.trackers.wire import DamagedFileError

#: ``RunStatus`` of MLflow's protocol, as the folder store writes it.
_STATUS = {"1": "running", "2": "scheduled", "3": "finished", "4": "failed", "5": "killed"}

DELETED = "deleted"

SEEDS = ("seed", "random_seed", "random-seed")


def read_mlflow(roots: list[Path]) -> ForeignResults:
    """Read the runs of MLflow stores; each MLflow experiment is a group."""
    runs = [run for root in roots for run in (_from_database(root) if os.path.isfile(root) else _from_folder(root))]
    return ForeignResults(runs=in_order(runs))


def _from_folder(root: Path) -> Iterator[ForeignRun]:
    for meta_file in files_below(root, META):
        folder, meta = meta_file.parent, _flat_yaml(meta_file)
        if not os.path.isdir(folder / METRICS) or meta.get("lifecycle_stage") == DELETED:
            continue
        start = _milliseconds(meta.get("start_time"))
        files = files_below(folder / METRICS, "*")
        scalars = [
            scalar for path in files for scalar in read_metric(path, path.relative_to(folder / METRICS).as_posix())
        ]
        yield ForeignRun(
            label=seeded_label(meta.get("run_name") or folder.name, _seed(folder)),
            readings=_readings(scalars, start),
            group=_flat_yaml(folder.parent / META).get("name", ""),
            seconds=_seconds(start, _milliseconds(meta.get("end_time"))),
            status=_STATUS.get(meta.get("status", ""), meta.get("status", "")).lower(),
        )


def _flat_yaml(path: Path) -> dict[str, str]:
    """Return the plain entries of a ``meta.yaml``: MLflow writes one word a line, none of them nested."""
    if not os.path.isfile(path):
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = (line.partition(": ") for line in lines if not line.startswith((" ", "-")))
    return {key: value.strip().strip("'\"") for key, sign, value in pairs if sign}


def _readings(scalars: Iterable[Scalar], start: float | None) -> list[Reading]:
    """Return scalars with the seconds since `start`, in Unix milliseconds."""
    return [
        Reading(each.tag, each.step, each.value, math.nan if start is None else round(each.wall_time - start / 1000, 3))
        for each in scalars
    ]


def _seed(folder: Path) -> str | None:
    paths = (folder / "params" / name for name in SEEDS)
    return next(
        (path.read_text(encoding="utf-8", errors="replace").strip() for path in paths if os.path.isfile(path)), None
    )


def _milliseconds(text: object) -> float | None:
    try:
        return float(str(text))
    except ValueError:
        return None


def _seconds(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (end - start) / 1000


def _from_database(path: Path) -> Iterator[ForeignRun]:
    try:
        for run in read_database(path):
            yield ForeignRun(
                label=seeded_label(run.name, run.seed),
                readings=_readings(run.scalars, run.start),
                group=run.experiment,
                seconds=_seconds(run.start, run.end),
                status=run.status,
            )
    except (DamagedFileError, TypeError) as error:
        raise NotImportable(
            f"{path} is no SQLite store of MLflow: {error}",
            hint="name the folder mlruns, or a file that mlflow.set_tracking_uri('sqlite:///FILE') named",
        ) from error
