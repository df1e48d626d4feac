"""Limits that a command is held to while it runs, beside its time: silence and memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from deviate.replicate.executors.executor import Launch
from deviate.replicate.workspace.folders import RECORDS
from deviate.replicate.workspace.run_files import Cause
from deviate.replicate.workspace.slots import used_size

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
