"""TensorBoard event files: scalars of ``tfevents`` files, a run a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec

from deviate.importing.foreign import ForeignResults, ForeignRun, Reading, digest_of, in_order
from deviate.importing.trainings import split_stored
from deviate.paths import files_below
from deviate.trackers.scalar import Scalar
from deviate.trackers.tensorboard import read_events, read_hparams, records
from deviate.trackers.wire import DamagedFileError

#: Part of the name of every event file.
MARK = "tfevents"

#: Names of folders that Keras makes in that of a run.
SPLITS = ("train", "validation", "val", "valid", "test", "eval")


def read_tensorboard(folders: list[Path]) -> ForeignResults:
    """Read the event files below `folders`.

    A folder with event files is a run, as TensorBoard has it, with two exceptions: ``train`` and ``validation`` folders
    (Keras) belong to the run that is the folder above, unless runs of other names are beside them, and so do the
    folders ``add_scalars`` makes. A folder without a scalar is a run that failed, unless other runs are above or below
    it. A folder whose files are copies of another one's counts once.
    """
    runs: dict[str, _RunEvents] = {}
    copies: dict[str, str] = {}
    seen: dict[str, Path] = {}
    for root in folders:
        below = [root] if os.path.isfile(root) else files_below(root, f"*{MARK}*")
        by_folder = {folder: [path for path in below if path.parent == folder] for folder in {p.parent for p in below}}
        for folder, files in sorted(by_folder.items()):
            # Event files hold the time of each value, so that no two of two runs are equal.
            first = seen.setdefault(digest_of(files), folder)
            if first != folder and any(path.stat().st_size for path in files):
                copies[_label(folder, root, folders)] = _label(first, root, folders)
                continue
            scalars, damage = _read_all(files)
            run, prefix = _owner(folder, {scalar.tag for scalar in scalars}, by_folder)
            events = runs.setdefault(_label(run, root, folders), _RunEvents(folder=run))
            events.files.extend(files)
            events.damage = events.damage or damage
            for path in files:
                events.settings.update(read_hparams(path))
            events.scalars.extend((prefix(scalar.tag), scalar) for scalar in scalars)
    around = {label: near for label, events in runs.items() if (near := _run_around(events, runs))}
    stored = [_run(label, events) for label, events in runs.items() if label not in around]
    return ForeignResults(
        runs=in_order(training for run in stored for training in split_stored(run, "step")),
        notes=[
            "Times are counted from the first event of each run; TensorBoard stores values as 32-bit floats.",
            *(f"{copy} is a copy of {label}, and is counted once." for copy, label in copies.items()),
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
    #: What the plugin of hyperparameters says was set.
    settings: dict[str, str] = {}


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


def _owner(folder: Path, tags: set[str], others: Iterable[Path]) -> tuple[Path, _Prefix]:
    """Return the folder that is the run, and the prefix of the tags of `folder` in it; `others` have events, too."""
    above = len(folder.parent.parts)
    beside = {path.parts[above] for path in others if folder.parent in path.parents}
    if folder.name.lower() in SPLITS and all(name.lower() in SPLITS or _is_tag(name, beside) for name in beside):
        return folder.parent, _Prefix(before=f"{folder.name}/")
    only = next(iter(tags)) if len(tags) == 1 else None
    if only is not None and folder.name.startswith(f"{only.replace('/', '_')}_"):
        return folder.parent, _Prefix(instead=folder.name)
    return folder, _Prefix()


def _is_tag(name: str, names: Iterable[str]) -> bool:
    """Tell whether a folder is one of several that ``add_scalars`` made: ``loss_train``, ``loss_val``."""
    stem, sign, last = name.rpartition("_")
    return (
        bool(sign) and last.lower() in SPLITS and any(other != name and other.startswith(f"{stem}_") for other in names)
    )


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
    return ForeignRun(label=label, readings=readings, settings=events.settings)
