"""What commands took of the machine, and the limits they are held to."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from deviate.runs.executors.executor import Launch
from deviate.store.folders import RECORDS
from deviate.store.run_files import Cause
from deviate.store.slots import used_size

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
