"""What is kept of the files that a run writes: checkpoints, tables and logs, predictions."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from deviate.core.paths import real_path
from deviate.observe.trackers import goes_with_metrics, is_own_folder, tracker_of
from deviate.runs.snapshot.working_copy import State, state
from deviate.store.folders import CHECKPOINT, LOG_SUFFIXES, PREDICTIONS, ExperimentFolder, RunFolder

# Keep the files with numbers that a run wrote into its copy of the project: tables, logs, files of trackers.

#: Bytes of a file, and of all files of a run; how many files.
MAX_BYTES = 16 << 20
MAX_TOTAL = 64 << 20
MAX_FILES = 200

#: Folders of libraries and tools, whose files are no reports.
PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages"})


class WrittenFile(NamedTuple):
    """A file that a run wrote, by its path in the copy of the project."""

    path: Path
    size: int


def keep_written(copy: Path, folder: RunFolder, before: State) -> list[str]:
    """Copy the files with numbers that are not as they were `before` the run; say how many were too large.

    `copy` is the run's copy of the project.
    """
    kept, total = [], 0
    written = sorted(_files_written(copy, before), key=lambda each: (each.size, str(each.path)))
    for each in written[:MAX_FILES]:
        total += each.size
        if each.size <= MAX_BYTES and total <= MAX_TOTAL:
            kept.append(each.path)
    for path in kept:
        # Results are stored as UTF-8, which a name on disk need not be.
        target = folder.written / os.fsencode(path).decode("utf-8", "backslashreplace")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(copy / path, target)
    left = len(written) - len(kept)
    return (
        [f"Files that it wrote and that are too many or too large to be searched for metrics: {left}."] if left else []
    )


def written_states(copy: Path) -> State:
    """Return what the files that may hold numbers are like before a command is started."""
    return state(str(path) for path, _ in _files(copy))


def _files_written(copy: Path, before: State) -> Iterator[WrittenFile]:
    for path, beside_tracker in _files(copy):
        size = path.stat().st_size
        if size and not is_as_before(path, before) and _holds_numbers(path, beside_tracker):
            yield WrittenFile(path.relative_to(copy), size)


def is_as_before(path: Path, before: State) -> bool:
    """Tell whether a file was not written; that it is newer than the run would not say so, since clocks may be set."""
    return state([str(path)]).items() <= before.items()


def _files(copy: Path) -> Iterator[tuple[Path, bool]]:
    """Yield files, and whether each lies beside a tracker's own; links are passed over."""
    for parent, folders, names in os.walk(copy):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in PASSED_OVER]
        own = is_own_folder(Path(parent), names)
        if own:
            folders.clear()
        for name in names:
            path = Path(parent, name)
            if not name.startswith(".") and not path.is_symlink() and os.path.isfile(path):
                yield path, own


def _holds_numbers(path: Path, beside_tracker: bool) -> bool:
    if path.suffix.lower() in LOG_SUFFIXES:
        return not beside_tracker
    return goes_with_metrics(path) or tracker_of(path) is not None


#: What is kept of weights that Deviate captures itself; anything else, but for ``every:K``, is a pattern.
CAPTURED_WEIGHTS = ("none", "digest", "small", "final")

#: Of files that can be read.
WEIGHT_SUFFIXES = (".safetensors", ".pt", ".pth", ".ckpt", ".bin", ".npz", ".npy", ".h5", ".hdf5", ".keras")

#: Bytes of weights that a run keeps at most; beyond, it is their digest alone.
LIMIT = 2 << 30


def is_pattern(weights: str) -> bool:
    """Tell whether weights are those that the program writes to files."""
    return weights not in CAPTURED_WEIGHTS and not weights.startswith("every:")


def checkpoint_states(weights: str, cwd: Path) -> State:
    """Return what the files that the pattern matches are like before a run is started in `cwd`."""
    return state(map(str, cwd.glob(weights))) if is_pattern(weights) else {}


def keep_checkpoints(weights: str, cwd: Path, folder: RunFolder, before: State) -> list[str]:
    """Copy the files that are not as they were `before` the run in `cwd`, the last ones first as long as there is room.

    What a reader has to know: nothing was written, or not all is kept.
    """
    if not is_pattern(weights):
        return []
    written = sorted(
        _written(weights, cwd, folder, before), key=lambda path: (path.stat().st_mtime_ns, path.as_posix())
    )
    if not written:
        return [f"It wrote no file that --weights {weights!r} matches."]
    kept, room = 0, LIMIT
    for number, path in reversed(list(enumerate(written))):
        room -= path.stat().st_size
        if room < 0:
            break
        copy = folder.path / f"{CHECKPOINT}{number:05d}-{quote(path.relative_to(cwd).as_posix(), safe='')}"
        copy.unlink(missing_ok=True)
        shutil.copyfile(path, copy)
        kept += 1
    left = len(written) - kept
    return [f"{left} of {len(written)} checkpoints are not kept: a run keeps {LIMIT >> 20} MiB."] if left else []


def _written(weights: str, cwd: Path, folder: RunFolder, before: State) -> Iterator[Path]:
    for path in cwd.glob(weights):
        own = os.path.isfile(path) and Path(real_path(path)).is_relative_to(folder.work.resolve())
        if own and not is_as_before(path, before):
            yield path


def share_weights(experiment: ExperimentFolder, folder: RunFolder) -> None:
    """Store files of weights once that are equal to those of another run, as links to one file."""
    for path in folder.weight_files():
        kind = _kind(path)
        for other in experiment.runs_folder.glob(f"*/{kind}*"):
            if other.parent == folder.path or other.parent.name.startswith(".") or _kind(other) != kind:
                continue
            if other.stat().st_size == path.stat().st_size and filecmp.cmp(other, path, shallow=False):
                _link(other, path)
                break


def _kind(path: Path) -> str:
    """Return what names of the same weights of several runs begin with: of captured ones, all but the process."""
    return path.name if path.name.startswith(CHECKPOINT) else path.name.rsplit("-", 2)[0]


def _link(existing: Path, path: Path) -> None:
    aside = path.with_name(f"{path.name}.tmp")
    # Not every file system has links.
    with suppress(OSError):
        os.link(existing, aside)
        aside.replace(path)


# Keep the file of predictions that each run writes: ``--predictions preds.csv``.

#: What is kept of predictions that Deviate captures itself, ``:every``: of every pass; anything else names a file.
CAPTURED_PREDICTIONS = ("none", "labels", "scores", "labels:every", "scores:every")


def is_file(predictions: str) -> bool:
    """Tell whether predictions are those that the program writes to a file."""
    return predictions not in CAPTURED_PREDICTIONS


def keep_file(predictions: str, cwd: Path, folder: RunFolder) -> list[str]:
    """Copy the file that the run in `cwd` wrote into its folder; return what a reader has to know, if it wrote none."""
    if not is_file(predictions):
        return []
    written = cwd / predictions
    if not written.is_file():
        return [f"It wrote no {predictions}, which --predictions names."]
    shutil.copyfile(written, folder.path / f"{PREDICTIONS}{written.name}")
    return []
