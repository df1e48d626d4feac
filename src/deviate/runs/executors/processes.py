"""The processes of one run, also those whose parents ended: how to find and end them, what they took, their limits."""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from deviate.runs.environment import RUNTIME_VARIABLE
from deviate.runs.executors.executor import Handle, Launch
from deviate.store.folders import RECORDS
from deviate.store.run_files import Cause
from deviate.store.slots import used_size

#: Seconds that processes of a killed tool get to end by themselves.
GRACE = 3.0

#: Systems say in whole seconds when they were booted. None gives a process id out again within this time.
TOLERANCE = 2.0


#: Names of the files that a command prints into, in the folder of its run.
OUTPUTS = ("stdout.log", "stderr.log")

#: PR_SET_CHILD_SUBREAPER of ``linux/prctl.h``.
_SET_CHILD_SUBREAPER = 36


def name_process(run: Path, pid: int) -> Handle:
    """Return the handle of a run by the process it began with."""
    # A child that is not yet waited for is there, if only as a zombie.
    with suppress(psutil.Error):
        return Handle(run, pid=pid, created=created_at(pid))
    return Handle(run, pid=pid)


def created_at(pid: int) -> float:
    """Return when a process was created, in seconds since the boot: a clock that is set moves the time of day alone."""
    boot = psutil.boot_time()
    return psutil.Process(pid).create_time() - boot


def find_processes(handle: Handle, session: int | None = None) -> list[psutil.Process]:
    """Return the living processes of a run, see `scan`."""
    return scan(handle, session)[0]


def scan(handle: Handle, session: int | None = None) -> tuple[list[psutil.Process], set[int]]:
    """Return the living processes of a run, and all that ended and that this process has still to wait for.

    The run's own variable is in the environment of each process it starts, also of those whose parent is gone or that
    made a session of their own. A process that cleared its environment is found by the session it is in, as long as the
    leader of the session lives to prove whose it is, or the caller knows that `session` is still the run's; by what it
    prints into; and by its parent.
    """
    own, marks = os.getpid(), _marks(handle, session)
    others = {process.pid: process for process in psutil.process_iter() if process.pid != own}
    found: set[int] = set()
    children: dict[int, set[int]] = {}
    ended: dict[int, set[int]] = {}
    for process in others.values():
        # Any may end while it is looked at.
        with suppress(psutil.Error), process.oneshot():
            lives = process.status() != psutil.STATUS_ZOMBIE
            (children if lives else ended).setdefault(process.ppid(), set()).add(process.pid)
            if _belongs(process, marks):
                found.add(process.pid)
    waiting = list(found)
    while waiting:
        fresh = children.get(waiting.pop(), set()) - found
        found |= fresh
        waiting.extend(fresh)
    return [others[pid] for pid in sorted(found)], ended.get(own, set())


def adopt_orphans(*, adopt: bool) -> None:
    """Have processes become children of this one when their parents end: it hears then how they end.

    Only Linux can do that.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def session_of(pid: int) -> int | None:
    """Return the session of a process; None where it is gone."""
    with suppress(OSError):
        return os.getsid(pid)
    return None


def is_of(handle: Handle, pid: int) -> bool:
    """Tell whether a living process is one of a run by what it shows itself, see `find_processes`."""
    with suppress(psutil.Error):
        return _belongs(psutil.Process(pid), _marks(handle, None))
    return False


def is_process(pid: int | None, created: float | None) -> bool:
    """Tell whether process `pid` is the one that was created at `created`, not a later one with its id, and lives."""
    if pid is None or created is None:
        return False
    with suppress(psutil.Error):
        return abs(created_at(pid) - created) <= TOLERANCE and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def is_alive(host: str, pid: int | None, created: float | None) -> bool | None:
    """Tell whether the process that a run began with lives; None where that cannot be seen from here."""
    if pid is None or created is None or host != socket.gethostname():
        return None
    return is_process(pid, created)


class _Marks(NamedTuple):
    """What the processes of a run have."""

    runtime_file: str
    session: int | None
    #: The files that the command prints into, as the system names them.
    outputs: frozenset[str]
    folder: str


def _marks(handle: Handle, session: int | None) -> _Marks:
    proven = handle.pid if is_process(handle.pid, handle.created) else session
    folder = os.path.realpath(handle.run.parent)
    outputs = frozenset(os.path.join(folder, name) for name in OUTPUTS)
    return _Marks(str(handle.run), proven, outputs, folder)


def _belongs(process: psutil.Process, marks: _Marks) -> bool:
    # Processes of others cannot be looked into, and any may end while it is looked at: neither is the run's.
    with suppress(psutil.Error, OSError):
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if marks.session is not None and os.getsid(process.pid) == marks.session:
            return True
        if process.environ().get(RUNTIME_VARIABLE) == marks.runtime_file or _prints(process.pid) & marks.outputs:
            return True
        # Somebody who looks around in a run's folder is no child of this process.
        return process.ppid() == os.getpid() and process.cwd().startswith(marks.folder + os.sep)
    return False


def _prints(pid: int) -> set[str]:
    """Return the files that a process has as standard output and standard error."""
    with suppress(OSError):
        return {os.readlink(f"/proc/{pid}/fd/{number}") for number in (1, 2)}
    return set()


def end_processes(processes: Iterable[psutil.Process], grace: float = GRACE) -> int:
    """End `processes`, kindly at first; return how many there were."""
    listed = list(processes)
    send(listed, signal.SIGTERM)
    _, living = psutil.wait_procs(listed, timeout=grace)
    send(living, signal.SIGKILL)
    psutil.wait_procs(living, timeout=grace)
    return len(listed)


def resident(processes: Iterable[psutil.Process]) -> int:
    """Return the bytes of resident memory of `processes` together; what they share counts for each."""
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def send(processes: Iterable[psutil.Process], number: int) -> None:
    """Send a signal to each of `processes` that is still there."""
    for process in processes:
        # psutil makes sure that the id has not been given to another process.
        with suppress(psutil.Error):
            process.send_signal(number)


#: Bytes of the unit in which the system counts memory.
UNIT = 1 if sys.platform == "darwin" else 1024


class Usage(NamedTuple):
    """What a command took, with all it started and waited for."""

    #: Seconds of all cores together, of the program and of the system for it; None: not known.
    cpu_seconds: float | None
    #: Bytes of resident memory that the largest of its processes held at most; None: not known.
    peak_memory: int | None


class Started:
    """A process that was started, and is waited for with what it took."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid
        self.returncode: int | None = None
        self.usage: Usage | None = None
        #: The system counts what this process held as the child's, which began as a copy of it.
        self._floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT
        self._seen: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        if self.returncode is None:
            self._seen = max(filter(None, (self._seen, *map(peak_of, family(self.pid)))), default=None)
            try:
                pid, status, used = os.wait4(self.pid, os.WNOHANG)
            except ChildProcessError:
                self.returncode = self._process.poll()
                return self.returncode
            if pid:
                self.usage = Usage(used.ru_utime + used.ru_stime, self._peak(used.ru_maxrss * UNIT))
                # Popen would wait for the process once more if its return code were not set.
                self.returncode = self._process.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def _peak(self, counted: int) -> int | None:
        """Return the peak; one that this process may have reached is taken from the looks alone."""
        return counted if counted > self._floor else self._seen


def peak_of(pid: int) -> int | None:
    """Return the bytes of resident memory that a living process held at most; None where the system does not say."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    return None


def family(pid: int) -> Iterator[int]:
    """Yield a process and all that it started, where the system says so: a shell holds nothing of a training."""
    yield pid
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from family(int(child))


class GpuPeak:
    """The most GPU memory that a command's processes were seen to hold; `measure` returns what they hold now."""

    #: Seconds between two looks.
    LOOK_EVERY = 1.0

    def __init__(self, measure: Callable[[], int | None]) -> None:
        self._measure = measure
        self._looked = -math.inf
        self.bytes: int | None = None

    def look(self, now: float) -> None:
        """Measure, at most every `LOOK_EVERY` seconds."""
        if now - self._looked < self.LOOK_EVERY:
            return
        self._looked = now
        if (held := self._measure()) is not None:
            self.bytes = max(held, self.bytes or 0)


# Limits that a command is held to while it runs, beside its time: silence and memory.

#: Seconds between two looks.
LOOK_EVERY = 1.0

#: Seconds without records, output and processor time after which what goes on is ended: a helper (a server of logs, a
#: tracker of resources), and a process that trained, or may be about to.
HELPER_QUIET = 10.0
TRAINING_QUIET = 60.0

#: Given the time in seconds, says why the command is to be ended; None: it is not.
Limit = Callable[[float], Cause | None]


def heard(launch: Launch) -> tuple[int, int]:
    """Return how many bytes a command has recorded, and how many it has printed."""
    kinds = ("records-*", "events-*", "predictions-*", "weights-*")
    recorded = (path for kind in kinds for path in launch.runtime_file.parent.glob(kind))
    return sum(map(_size, recorded)), sum(map(_size, (launch.stdout, launch.stderr)))


class Silence:
    """Ends a command that neither records nor prints anything for so many seconds."""

    def __init__(self, launch: Launch, seconds: float, now: float) -> None:
        self._launch = launch
        self._seconds, self._heard, self._looked = seconds, now, now
        self._size = heard(launch)

    def __call__(self, now: float) -> Cause | None:
        """Look at what was written, at most every `LOOK_EVERY` seconds."""
        if now - self._looked < min(LOOK_EVERY, self._seconds):
            return None
        self._looked = now
        if (size := heard(self._launch)) != self._size:
            self._size, self._heard = size, now
        return "stall" if now - self._heard >= self._seconds else None


def _size(path: Path) -> int:
    # A file that is being written aside may be renamed in between.
    with suppress(FileNotFoundError):
        return used_size(path) if path.name.startswith(RECORDS) else path.stat().st_size
    return 0


class Memory:
    """Ends a command whose processes hold more than so many bytes of memory, which `measure` returns."""

    def __init__(self, measure: Callable[[], int], most: float, now: float) -> None:
        self._measure, self._most, self._looked = measure, most, now

    def __call__(self, now: float) -> Cause | None:
        """Measure, at most every `LOOK_EVERY` seconds."""
        if now - self._looked < LOOK_EVERY:
            return None
        self._looked = now
        return "memory" if self._measure() > self._most else None
