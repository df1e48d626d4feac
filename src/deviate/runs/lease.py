"""One worker at a time makes a run: it holds a lease in the run's folder, and says again and again that it lives.

The lease with the highest number counts. One is acquired by linking a file onto the next number, which fails where
another worker was quicker, also on file systems that machines share.
"""

from __future__ import annotations

import datetime
import os
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil

from deviate.core.errors import WorkspaceUnusable
from deviate.core.experiment import SCHEMA
from deviate.runs.executors.processes import created_at, is_process
from deviate.store.files import read_json, write_json
from deviate.store.folders import RunFolder

#: Seconds between two beats, and without one after which the lease of another machine is taken over.
BEAT_EVERY = 15.0
STALE = 120.0

#: Seconds for a beat to reach another machine.
SEEN_WITHIN = 5.0

#: Seconds between two looks at a lease that seems to be left.
LOOK_EVERY = 0.5

#: How names of leases begin.
_PREFIX = "lease-"


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes a run: ``worker/lease-N.json``."""

    schema: int = SCHEMA
    host: str
    #: Tells the running system, and the name space of its process ids, from others with the same name.
    system: str
    pid: int
    #: In seconds since the boot.
    created: float
    #: Local time in ISO 8601.
    start: str
    beat: str


class LeaseHeld(Exception):  # noqa: N818
    """Another worker makes the run."""

    def __init__(self, holder: Holder) -> None:
        super().__init__(f"process {holder.pid} of {holder.host}")
        self.holder = holder


@dataclass
class Lease:
    """What this process holds."""

    path: Path
    holder: Holder
    _beaten: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def is_held(self) -> bool:
        """Tell whether no other worker has taken over."""
        return _latest(self.path.parent) == self.path

    def beat(self) -> None:
        """Say that the holder lives; a lease that was lost is left alone."""
        # The folder goes with the last lease.
        with self._lock, suppress(FileNotFoundError):
            if self.is_held():
                write_json(self.path, msgspec.structs.replace(self.holder, beat=_now()))

    def beat_if_due(self) -> None:
        """Say that the holder lives, if it did not lately."""
        if time.monotonic() - self._beaten >= BEAT_EVERY:
            self._beaten = time.monotonic()
            self.beat()

    def release(self) -> None:
        """Have no worker make the run any more: whoever comes late finds no job."""
        with self._lock:
            if not self.is_held():
                return
            folder = self.path.parent
            (folder / RunFolder.JOB).unlink(missing_ok=True)
            for path in folder.glob(f"{_PREFIX}*"):
                path.unlink(missing_ok=True)
        # Another worker may be about to look for a job.
        with suppress(OSError):
            folder.rmdir()


def acquire(run: RunFolder) -> Lease:
    """Take the lease of a run.

    Raises LeaseHeld if another worker holds it, or was quicker. Raises WorkspaceUnusable if somebody may hold it, see
    `live_holder`.
    """
    folder = run.worker
    folder.mkdir(parents=True, exist_ok=True)
    if (holder := live_holder(run)) is not None:
        raise LeaseHeld(holder)
    latest = _latest(folder)
    if latest is not None and _still_beats(latest):
        raise LeaseHeld(read_json(latest, Holder))
    number = 1 + (int(latest.stem.removeprefix(_PREFIX)) if latest else 0)
    lease = Lease(folder / f"{_PREFIX}{number:06d}.json", _this_process())
    aside = folder / f".{uuid.uuid4().hex}.tmp"
    write_json(aside, lease.holder)
    try:
        os.link(aside, lease.path)
    except FileExistsError:
        raise LeaseHeld(read_json(lease.path, Holder)) from None
    finally:
        aside.unlink()
    return lease


def live_holder(run: RunFolder) -> Holder | None:
    """Return who makes a run now; None where nobody does, or who did has not been heard of for `STALE` seconds.

    Raises WorkspaceUnusable if the lease was damaged in the last `STALE` seconds: somebody may make the run.
    """
    latest = _latest(run.worker)
    try:
        holder: Holder | None = read_json(latest, Holder) if latest else None
        if latest is None or holder is None:
            return None
        if holder.system == _system():
            # What this process held, and left behind, is nobody else's.
            return holder if holder.pid != os.getpid() and is_process(holder.pid, holder.created) else None
        # Of a clock that was set back since, the last beat lies ahead, for longer than anybody can wait.
        return holder if abs(_age(latest)) < STALE else None
    except FileNotFoundError:
        # It was released in between.
        return None
    except WorkspaceUnusable as problem:
        if latest is None or not _is_fresh(latest):
            return None
        # Whoever lives writes the file anew with the next beat.
        raise WorkspaceUnusable(
            f"{problem.message}; so it is unknown whether a worker makes {run.run.folder}",
            hint=f"type the same command again in {STALE:.0f} seconds: a lease that nobody renews counts no more",
        ) from problem


def _still_beats(path: Path) -> bool:
    """Tell whether the lease of another machine is renewed that seems to be left.

    To one whose file system's clock was set, every lease looks so until its next beat.
    """
    # The next beat would mend one that is damaged.
    with suppress(WorkspaceUnusable):
        if read_json(path, Holder).system == _system():
            return False
    before, until = _changed(path), time.monotonic() + BEAT_EVERY + SEEN_WITHIN
    while before is not None and time.monotonic() < until:
        time.sleep(LOOK_EVERY)
        if (now := _changed(path)) != before:
            return now is not None
    return False


def _changed(path: Path) -> tuple[int, int] | None:
    """Return what each beat changes; None where the lease is gone."""
    with suppress(FileNotFoundError):
        status = path.stat()
        return status.st_ino, status.st_mtime_ns
    return None


@contextmanager
def beating(lease: Lease) -> Iterator[None]:
    """Let a lease beat, whatever this thread does meanwhile."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT_EVERY):
            # A disk that is full, or away for a moment: the next beat may succeed.
            with suppress(OSError):
                lease.beat()

    thread = threading.Thread(target=beat, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _latest(folder: Path) -> Path | None:
    return max(folder.glob(f"{_PREFIX}*.json"), default=None)


def _is_fresh(path: Path) -> bool:
    """Tell whether a lease is there, and was renewed lately."""
    try:
        return abs(_age(path)) < STALE
    except FileNotFoundError:
        return False


def _age(path: Path) -> float:
    """Return the seconds since a file was written, both by the clock of the file system: those of machines differ."""
    try:
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            now = os.fstat(probe.fileno()).st_mtime
    except OSError:
        now = time.time()
    return now - path.stat().st_mtime


def _this_process() -> Holder:
    own, now = os.getpid(), _now()
    return Holder(host=socket.gethostname(), system=_system(), pid=own, created=created_at(own), start=now, beat=now)


def _system() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{socket.gethostname()} {psutil.boot_time():.0f}"


def _now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
