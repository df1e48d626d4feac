"""Who writes: one tool at a time an experiment, one at a time what the experiments of a workspace share.

An experiment is locked for as long as its runs go on, and a second tool is refused. What they share (their names, the
looks at them) is locked for the moment in which it is read and written, and a second tool waits. Who needs both locks
the workspace first.

The locks are the system's (``flock``): they go when their holder goes, however that ends. The files only say who holds
them, and stay: a lock whose file is deleted could be held twice.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from deviate.core.errors import WorkspaceBusy, WorkspaceUnusable
from deviate.core.shell_words import typed_line
from deviate.store.folders import ExperimentFolder, Workspace

#: Seconds that a tool waits for what experiments share: the copy of a large project takes its time.
MOST_WAITED = 60.0

#: Seconds between two tries.
TRY_EVERY = 0.05


class Holder(msgspec.Struct, frozen=True):
    """Who holds the lock."""

    pid: int
    command: str


@contextmanager
def locked(folder: ExperimentFolder, command: Sequence[str]) -> Iterator[None]:
    """Hold the lock of an experiment, which need not exist yet.

    The workspace is prepared. `command` is what this tool was called with, for whom it makes wait.

    Raises WorkspaceBusy if another tool holds it; names that tool. Raises WorkspaceUnusable if the lock cannot be
    written.
    """
    with _locked(folder.lock_file, f"experiment {folder.name!r}", command, wait_s=0.0):
        yield


@contextmanager
def locked_workspace(workspace: Workspace, command: Sequence[str], wait_s: float = MOST_WAITED) -> Iterator[None]:
    """Hold the lock of what experiments share; waits for another tool that holds it, at most for `wait_s`.

    Raises WorkspaceBusy if another tool holds it for longer. Raises WorkspaceUnusable if the lock cannot be written.
    """
    with _locked(workspace.lock_file, str(workspace.path), command, wait_s):
        yield


@contextmanager
def locked_looks(workspace: Workspace) -> Iterator[None]:
    """Hold the lock of the looks, so that none is made between reading the earlier ones and recording this one.

    Where it cannot be written nothing can be recorded either, and nothing is locked.
    """
    path = workspace.looks_lock_file
    try:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    except OSError:
        yield
        return
    with _locked(path, "the looks at these experiments", ["deviate", "compare"], MOST_WAITED):
        yield


@contextmanager
def _locked(path: Path, what: str, command: Sequence[str], wait_s: float) -> Iterator[None]:
    descriptor = _open(path)
    try:
        _acquire(descriptor, path, what, time.monotonic() + wait_s)
        # Held without a signature, too, where there is no room for one.
        with suppress(OSError):
            # Not truncated before the lock is held: the file may say who holds it.
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, msgspec.json.encode(Holder(os.getpid(), typed_line(command))), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        if path.parent.parent.is_dir():
            path.parent.mkdir(exist_ok=True)
        # Not inherited by trainings (PEP 446): one that outlives a killed tool must not keep the lock.
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise WorkspaceUnusable(
            f"{path} cannot be written: {error.strerror}", hint="give yourself the right to write there"
        ) from error


def _acquire(descriptor: int, path: Path, what: str, until: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise _busy(descriptor, what) from None
        except OSError as error:
            raise WorkspaceUnusable(
                f"{path} cannot be locked: {error.strerror}", hint="keep the project on a file system that has locks"
            ) from error
        time.sleep(TRY_EVERY)


def _busy(descriptor: int, what: str) -> WorkspaceBusy:
    try:
        holder = msgspec.json.decode(os.pread(descriptor, 1 << 16, 0), type=Holder)
    except msgspec.DecodeError:
        # It was acquired this moment and not yet signed.
        return WorkspaceBusy(f"another deviate works on {what}", hint="wait until it has ended")
    return WorkspaceBusy(
        f"another deviate works on {what}: process {holder.pid}, {holder.command}",
        hint="wait until it has ended, follow it with `deviate watch`, make another experiment with --name, or stop "
        f"it: kill {holder.pid}",
    )
