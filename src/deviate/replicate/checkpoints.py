"""Keep the checkpoints that each run writes (``--weights 'checkpoints/*.pt'``), and equal files of weights once."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from deviate.paths import real_path
from deviate.replicate.snapshot.link_watch import State, state
from deviate.replicate.workspace.folders import WEIGHTS, ExperimentFolder, RunFolder
from deviate.replicate.written_files import is_as_before

#: What is kept of weights that Deviate captures itself; anything else, but for ``every:K``, is a pattern.
CAPTURED = ("none", "digest", "final")

#: Of files that can be read.
SUFFIXES = (".safetensors", ".pt", ".pth", ".ckpt", ".bin", ".npz", ".npy", ".h5", ".hdf5", ".keras")

#: Bytes of weights that a run keeps at most; beyond, it is their digest alone.
LIMIT = 2 << 30

#: How names of copies begin; a number in the order of writing follows, then the path in the run's folder.
CHECKPOINT = f"{WEIGHTS}checkpoint-"


def is_pattern(weights: str) -> bool:
    """Tell whether weights are those that the program writes to files."""
    return weights not in CAPTURED and not weights.startswith("every:")


def states(weights: str, cwd: Path) -> State:
    """Return what the files that the pattern matches are like before a run is started in `cwd`."""
    return state(map(str, cwd.glob(weights))) if is_pattern(weights) else {}


def keep_checkpoints(weights: str, cwd: Path, folder: RunFolder, before: State) -> list[str]:
    """Copy the files that are not as they were `before` the run in `cwd`, the last ones first as long as there is room.

    Returns
    -------
    list of str
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
