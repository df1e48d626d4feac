"""Keep snapshots on a disk of the machine, where several runs are made of one: each is copied there once.

FOLDER/.snapshots/DIGEST/lock       held by whoever writes or copies the snapshot
FOLDER/.snapshots/DIGEST/partial/   what a worker writes, or a killed one left
FOLDER/.snapshots/DIGEST/whole/     the snapshot; there once it is written and was compared with its digests
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from deviate.errors import WorkspaceUnusable
from deviate.replicate.snapshot.manifest import Snapshot, require_whole
from deviate.replicate.workspace.folders import ExperimentFolder

#: Below the folder: snapshots, and ends of the names of those that are being removed.
_SNAPSHOTS = ".snapshots"
_REMOVED = ".removed"

#: Seconds after which a snapshot goes that no run was made of.
UNUSED = 24 * 3600.0


@contextmanager
def kept_snapshot(folder: Path, snapshot: Snapshot, experiment: ExperimentFolder) -> Iterator[Path]:
    """Keep the snapshot of an experiment below `folder`; return where it is, which nobody changes meanwhile.

    Where this disk does not take it, that is in the experiment.

    Raises
    ------
    WorkspaceUnusable
        If that of the experiment was damaged.
    """
    with ExitStack() as held:
        yield _hold(folder / _SNAPSHOTS, snapshot, experiment, held)


def _hold(folder: Path, snapshot: Snapshot, experiment: ExperimentFolder, held: ExitStack) -> Path:
    try:
        place = folder / _digest(snapshot, experiment)
        _clear(place)
        lock = _locked(place)
        held.callback(os.close, lock)
        whole = _whole(place, snapshot, experiment)
        # From here on others may copy it, too.
        fcntl.flock(lock, fcntl.LOCK_SH)
    except OSError:
        return experiment.snapshot
    return whole if os.path.isdir(whole) else experiment.snapshot


def _digest(snapshot: Snapshot, experiment: ExperimentFolder) -> str:
    """Digest all that a copy of the snapshot has: contents, modes and times of files, and where links lead."""
    lines = []
    for item in snapshot.items:
        if (digest := snapshot.digests.get(item.path)) is not None:
            status = (experiment.snapshot / item.path).stat()
            lines.append(f"file {item.path!r} {digest} {status.st_mode} {status.st_mtime_ns}")
        elif item.kind != "left out":
            lines.append(f"{item.kind} {item.path!r} {item.target!r}")
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


def _locked(place: Path) -> int:
    """Hold a snapshot alone; return the open lock, whose time says when a run was made of it."""
    while True:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            # Who waits may get the lock of one that was removed.
            if os.path.samestat(os.fstat(lock), os.stat(place / "lock")):
                os.utime(lock)
                return lock
        os.close(lock)


def _whole(place: Path, snapshot: Snapshot, experiment: ExperimentFolder) -> Path:
    """Return the snapshot below `place`, copied where it is missing or was damaged."""
    whole, partial = place / "whole", place / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    if os.path.isdir(whole):
        with suppress(WorkspaceUnusable):
            require_whole(snapshot, experiment, whole)
            return whole
        shutil.rmtree(whole)
    try:
        shutil.copytree(experiment.snapshot, partial, symlinks=True)
        require_whole(snapshot, experiment, partial)
        partial.rename(whole)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return whole


def _clear(place: Path) -> None:
    """Remove the snapshots beside `place` that are not used any more."""
    for other in place.parent.iterdir() if os.path.isdir(place.parent) else ():
        if other.suffix == _REMOVED:
            shutil.rmtree(other, ignore_errors=True)
        elif other != place:
            with suppress(OSError):
                _remove_unused(other)


def _remove_unused(place: Path) -> None:
    with (place / "lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock.fileno()).st_mtime >= UNUSED:
            # At no moment half of it is taken for the whole.
            aside = place.with_suffix(_REMOVED)
            place.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
