"""TensorBoard event files: scalars of ``tfevents`` files, a run a folder."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import msgspec

from deviate.analyse.naming.words import split_of
from deviate.importing.foreign import ForeignResults, ForeignRun, Reading, in_order
from deviate.paths import files_below
from deviate.trackers.scalar import Scalar
from deviate.trackers.tensorboard import read_events, records
from deviate.trackers.wire import DamagedFileError

#: Part of the name of every event file.
MARK = "tfevents"


def read_tensorboard(folders: list[Path]) -> ForeignResults:
    """Read the event files below `folders`.

    A folder with event files is a run, as TensorBoard has it, with two exceptions: ``train`` and ``validation`` folders
    (Keras) belong to the run that is the folder above, and so do the folders ``add_scalars`` makes. A folder without a
    scalar is a run that failed, unless other runs are above or below it.
    """
    runs: dict[str, _RunEvents] = {}
    for root in folders:
        below = [root] if os.path.isfile(root) else files_below(root, f"*{MARK}*")
        for folder in sorted({path.parent for path in below}):
            files = [path for path in below if path.parent == folder]
            scalars, damage = _read_all(files)
            run, prefix = _owner(folder, {scalar.tag for scalar in scalars})
            events = runs.setdefault(_label(run, root, folders), _RunEvents(folder=run))
            events.files.extend(files)
            events.damage = events.damage or damage
            events.scalars.extend((prefix(scalar.tag), scalar) for scalar in scalars)
    around = {label: near for label, events in runs.items() if (near := _run_around(events, runs))}
    return ForeignResults(
        runs=in_order(_run(label, events) for label, events in runs.items() if label not in around),
        notes=[
            "Times are counted from the first event of each run; TensorBoard stores values as 32-bit floats.",
            *(f"{label} is not a separate run, but belongs to {near}: {_why_silent(runs[label].files)}."
              for label, near in around.items()),
        ],
    )  # fmt: skip


class _RunEvents(msgspec.Struct):
    """The event files of one run, and the scalars in them by name."""

    folder: Path
    files: list[Path] = []
    scalars: list[tuple[str, Scalar]] = []
    #: What is damaged; empty where nothing is.
    damage: str = ""


def _read_all(files: list[Path]) -> tuple[list[Scalar], str]:
    """Return the scalars of event files, or what is damaged: then none of them counts."""
    try:
        return [scalar for path in files for scalar in read_events(path)], ""
    except DamagedFileError as error:
        return [], f"the event file is damaged: {error}"


def _run_around(events: _RunEvents, runs: dict[str, _RunEvents]) -> str:
    """Name the run that a folder without scalars is above or below; empty where it has some, or stands alone."""
    if events.scalars or events.damage:
        return ""
    others = ((label, other.folder) for label, other in runs.items() if other.scalars)
    near = (label for label, folder in others if folder in events.folder.parents or events.folder in folder.parents)
    return next(near, "")


def _why_silent(files: list[Path]) -> str:
    if all(path.stat().st_size == 0 for path in files):
        return "the event file is empty"
    if not any(True for path in files for _ in records(path.read_bytes())):
        return "the event file is corrupt"
    return "no scalar in the event file"


class _Prefix(msgspec.Struct, frozen=True):
    """How a tag is named in its run."""

    before: str = ""
    instead: str = ""

    def __call__(self, tag: str) -> str:
        return self.instead or f"{self.before}{tag}"


def _owner(folder: Path, tags: set[str]) -> tuple[Path, _Prefix]:
    """Return the folder that is the run, and the prefix of the tags of `folder` in it."""
    if folder.name.lower() in ("train", "validation", "val", "valid", "test", "eval") and split_of(folder.name):
        return folder.parent, _Prefix(before=f"{folder.name}/")
    only = next(iter(tags)) if len(tags) == 1 else None
    if only is not None and folder.name.startswith(f"{only.replace('/', '_')}_"):
        return folder.parent, _Prefix(instead=folder.name)
    return folder, _Prefix()


def _label(run: Path, root: Path, roots: list[Path]) -> str:
    base = root.parent if os.path.isfile(root) else root
    inside = run.relative_to(base).as_posix() if run.is_relative_to(base) else "."
    if len(roots) == 1:
        return inside if inside != "." else run.resolve().name
    return str(PurePosixPath(root.as_posix()) / inside)


def _run(label: str, events: _RunEvents) -> ForeignRun:
    if events.damage or not events.scalars:
        return ForeignRun(label=label, readings=[], broken=events.damage or _why_silent(events.files))
    ordered = sorted(events.scalars, key=lambda pair: pair[1].wall_time)
    start = ordered[0][1].wall_time
    readings = [Reading(name, scalar.step, scalar.value, scalar.wall_time - start) for name, scalar in ordered]
    return ForeignRun(label=label, readings=readings)
