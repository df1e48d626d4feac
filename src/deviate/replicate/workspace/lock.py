"""One tool at a time writes a workspace.

The lock is the system's (``flock``): it goes when its holder goes, however that ends. The file only says who holds it.
"""

from __future__ import annotations

import fcntl
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from deviate.errors import WorkspaceBusy, WorkspaceUnusable
from deviate.replicate.workspace.folders import Workspace


class Holder(msgspec.Struct, frozen=True):
    """Who holds the lock."""

    pid: int
    command: str


@contextmanager
def locked(workspace: Workspace, command: Sequence[str]) -> Iterator[None]:
    """Hold the workspace's lock.

    The workspace is prepared. `command` is what this tool was called with, for whom it makes wait.

    Raises
    ------
    WorkspaceBusy
        If another tool holds it; names that tool.
    WorkspaceUnusable
        If the lock cannot be written.
    """
    descriptor = _open(workspace)
    try:
        _acquire(descriptor, workspace)
        # Not truncated before the lock is held: the file may say who holds it.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(Holder(os.getpid(), shlex.join(command))), 0)
        yield
    finally:
        os.close(descriptor)


def _open(workspace: Workspace) -> int:
    try:
        # Not inherited by trainings (PEP 446): one that outlives a killed tool must not keep the workspace locked.
        return os.open(workspace.lock_file, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise WorkspaceUnusable(
            f"{workspace.lock_file} cannot be written: {error.strerror}",
            hint="give yourself the right to write there",
        ) from error


def _acquire(descriptor: int, workspace: Workspace) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _busy(descriptor, workspace) from None
    except OSError as error:
        raise WorkspaceUnusable(
            f"{workspace.lock_file} cannot be locked: {error.strerror}",
            hint="keep the project on a file system that has locks",
        ) from error


def _busy(descriptor: int, workspace: Workspace) -> WorkspaceBusy:
    try:
        holder = msgspec.json.decode(os.pread(descriptor, 1 << 16, 0), type=Holder)
    except msgspec.DecodeError:
        # It was acquired this moment and not yet signed.
        return WorkspaceBusy(f"another deviate works on {workspace.path}", hint="wait until it has ended")
    return WorkspaceBusy(
        f"another deviate works on {workspace.path}: process {holder.pid}, {holder.command}",
        hint=f"wait until it has ended, or stop it: kill {holder.pid}",
    )
