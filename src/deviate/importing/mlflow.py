"""MLflow's local stores: the folder ``mlruns`` and the SQLite file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from deviate.errors import NotImportable
from deviate.importing.foreign import ForeignResults, ForeignRun, Reading, digest_of, in_order, seed_of, seeded_label
from deviate.importing.trainings import split_stored
from deviate.paths import files_below
from deviate.trackers.mlflow import META, METRICS, read_database, read_metric
from deviate.trackers.scalar import Scalar
from deviate.trackers.wire import DamagedFileError

#: ``RunStatus`` of MLflow's protocol, as the folder store writes it.
_STATUS = {"1": "running", "2": "scheduled", "3": "finished", "4": "failed", "5": "killed"}

DELETED = "deleted"


def read_mlflow(roots: list[Path]) -> ForeignResults:
    """Read the runs of MLflow stores; each MLflow experiment is a group."""
    metas = [path for root in roots if os.path.isdir(root) for path in files_below(root, META)]
    # A copy of a store has the same moments in it, so that each run counts once.
    by_digest = {digest_of([path, *_metric_files(path.parent)]): path for path in reversed(metas)}
    once = set(by_digest.values())
    folders = [run for path in metas if path in once for run in _from_folder(path)]
    databases = [run for root in roots if os.path.isfile(root) for run in _from_database(root)]
    runs = in_order(training for run in (*folders, *databases) for training in split_stored(run, "step"))
    return ForeignResults(runs=runs)


def _metric_files(folder: Path) -> list[Path]:
    return files_below(folder / METRICS, "*") if os.path.isdir(folder / METRICS) else []


def _from_folder(meta_file: Path) -> Iterator[ForeignRun]:
    folder, meta = meta_file.parent, _flat_yaml(meta_file)
    # A run that logged nothing lacks the folder of metrics in a copy made by Git.
    # A model that MLflow 3 logs has a folder of metrics, too.
    is_run = "model_id" not in meta and (os.path.isdir(folder / METRICS) or not {"run_id", "run_uuid"}.isdisjoint(meta))
    if is_run and meta.get("lifecycle_stage") != DELETED:
        start, settings = _milliseconds(meta.get("start_time")), _params(folder / "params")
        files = _metric_files(folder)
        scalars = [
            scalar for path in files for scalar in read_metric(path, path.relative_to(folder / METRICS).as_posix())
        ]
        yield ForeignRun(
            label=seeded_label(meta.get("run_name") or folder.name, seed_of(settings)),
            settings=settings,
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


def _params(folder: Path) -> dict[str, str]:
    paths = sorted(files_below(folder, "*")) if os.path.isdir(folder) else []
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace").strip()
        for path in paths
    }


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
                label=seeded_label(run.name, seed_of(run.params)),
                settings=run.params,
                readings=_readings(run.scalars, run.start),
                group=run.experiment,
                seconds=_seconds(run.start, run.end),
                status=run.status,
            )
    except (DamagedFileError, TypeError) as error:
        raise NotImportable(
            f"{path} is no SQLite store of MLflow: {error}",
            hint="export the table of it that holds the results to CSV, and import that; of MLflow name the folder "
            "mlruns, or a file that mlflow.set_tracking_uri('sqlite:///FILE') named",
        ) from error
