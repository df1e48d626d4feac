"""The scalars that a run logged with trackers, as series of slots: with the author's names and exact values."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from deviate.collect.observed.slots import Slot, SlotSeries, exact_precision
from deviate.collect.observed.sources import stable_names
from deviate.trackers.mlflow import metrics_folder, read_database, read_metric
from deviate.trackers.recognition import Tracker
from deviate.trackers.scalar import Scalar
from deviate.trackers.tensorboard import read_events
from deviate.trackers.wandb import read_logged
from deviate.trackers.wire import DamagedFileError

#: Of MLflow and wandb, which store text, a step may have any number of digits.
LARGEST_STEP = 1 << 62


class LoggedSeries(NamedTuple):
    """The values of a slot, with the author's step and the Unix seconds of each; NaN where the tracker stored none."""

    series: SlotSeries
    steps: np.ndarray
    moments: np.ndarray


class _Log(NamedTuple):
    """What one writer of a tracker wrote: its place, which tells it from others of the run, and its scalars."""

    place: PurePath
    scalars: list[Scalar]

    @property
    def begun(self) -> float:
        return min((each.wall_time for each in self.scalars if math.isfinite(each.wall_time)), default=math.inf)


def logged_series(files: Mapping[Path, Tracker]) -> list[LoggedSeries]:
    """Return what is in the files of trackers, tracker by tracker; a damaged file has none.

    TensorBoard writes a series into a folder, which is part of its name as far as folders of the run differ: ``train``
    and ``validation`` of Keras. Runs of MLflow and wandb, of which one training mostly makes one, are numbered.
    """
    series = []
    for source, (trackers, read) in _READERS.items():
        own = [path for path, tracker in files.items() if tracker in trackers]
        logs = sorted((log for log in read(own) if log.scalars), key=lambda log: (log.begun, log.place))
        series += _series(source, logs)
    return series


def _series(source: str, logs: Sequence[_Log]) -> list[LoggedSeries]:
    points: dict[str, list[Scalar]] = {}
    for log, place in zip(logs, _names([log.place for log in logs]), strict=True):
        for scalar in log.scalars:
            points.setdefault(_name(place, scalar.tag), []).append(scalar)
    return [_one(source, name, scalars) for name, scalars in points.items()]


def _names(places: Sequence[PurePath]) -> list[str]:
    """Return places as far as they differ, under names that other runs have as well."""
    common = os.path.commonpath(places) if places else ""
    return stable_names(os.path.relpath(place, common or ".") for place in places)


def _name(place: str, tag: str) -> str:
    """Return the name of a series; `place` is ``.`` where there is one log, and ``. #2`` of a second one."""
    folder, number = place.partition(" #")[::2]
    # `add_scalars` of PyTorch makes a folder for each of its series, called by their common tag and their own name.
    if PurePath(folder).name.startswith(f"{tag.replace('/', '_')}_"):
        own = folder
    else:
        own = tag if folder == "." else f"{folder}/{tag}"
    return f"{own} #{number}" if number else own


def _one(source: str, name: str, scalars: Sequence[Scalar]) -> LoggedSeries:
    values = np.array([each.value for each in scalars], dtype=np.float64)
    words = name.partition(" #")[0]
    slot = Slot(source=source, template=name, position=0, name=name, words=words, exact=True)
    return LoggedSeries(
        SlotSeries(slot, values, np.arange(len(values)), exact_precision(values)),
        np.array([float(min(max(each.step, -LARGEST_STEP), LARGEST_STEP)) for each in scalars]),
        np.array([each.wall_time for each in scalars], dtype=np.float64),
    )


def _tensorboard(paths: Iterable[Path]) -> Iterator[_Log]:
    """Yield the logs of event files: one a folder, whose files go on after one another."""
    folders: dict[Path, list[Scalar]] = {}
    for path in sorted(paths):
        folders.setdefault(path.parent, []).extend(_undamaged(read_events, path))
    return (_Log(folder, scalars) for folder, scalars in folders.items())


def _wandb(paths: Iterable[Path]) -> Iterator[_Log]:
    return (_Log(PurePath(), _undamaged(read_logged, path)) for path in paths)


def _mlflow(paths: Iterable[Path]) -> Iterator[_Log]:
    """Yield the logs of MLflow: of the folder of each run, and of each run in a database."""
    runs: dict[Path, list[Scalar]] = {}
    for path in sorted(paths):
        folder = metrics_folder(path)
        if folder is None:
            yield from (_Log(PurePath(), run) for run in _stored(path))
        else:
            runs.setdefault(folder, []).extend(read_metric(path, path.relative_to(folder).as_posix()))
    yield from (_Log(PurePath(), scalars) for scalars in runs.values())


def _stored(path: Path) -> list[list[Scalar]]:
    try:
        return [run.scalars for run in read_database(path)]
    except DamagedFileError:
        return []


def _undamaged(read: Callable[[Path], Iterator[Scalar]], path: Path) -> list[Scalar]:
    try:
        return list(read(path))
    except DamagedFileError:
        return []


#: By what the slots are said to be of: whose files these are, and what reads them.
_READERS: dict[str, tuple[tuple[Tracker, ...], Callable[[Iterable[Path]], Iterator[_Log]]]] = {
    "TensorBoard": (("TensorBoard",), _tensorboard),
    "MLflow": (("MLflow", "MLflow database"), _mlflow),
    "wandb": (("wandb",), _wandb),
}
