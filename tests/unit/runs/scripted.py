"""Executors and trainings that follow a script, and a clock that only they move."""

from __future__ import annotations

import json
import signal
import struct
from collections.abc import Callable
from pathlib import Path

from deviate.runs.executors.executor import Handle, Launch, Slot
from deviate.runs.executors.supervise import Followers, Supervisor


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class ScriptedTraining:
    """Ends after `seconds`, or by one of the signals in `obeys`; its followers by one in `followers_obey`."""

    def __init__(
        self, clock: Clock, *, seconds: float = 1e9, status: int = 0, obeys=(signal.SIGKILL,), followers_obey=None
    ) -> None:
        self.clock, self.until, self.status = clock, clock.now + seconds, status
        self.obeys, self.followers_obey = obeys, followers_obey
        self.signals: list[tuple[float, int]] = []
        self.ended: int | None = None
        #: What outlives the command, at a time; by default a helper that does nothing.
        self.follows: Callable[[float], Followers] = lambda now: Followers(names=("helper",))

    def poll(self) -> int | None:
        if self.ended is None and self.clock.now >= self.until:
            self.ended = self.status
        return self.ended

    def signal(self, number: int) -> None:
        self.signals.append((self.clock.now, number))
        if self.ended is None and number in self.obeys:
            self.ended = -number
        if self.followers_obey is not None and number in self.followers_obey:
            self.followers_obey = None

    def followers(self) -> Followers:
        return Followers() if self.followers_obey is None else self.follows(self.clock.now)

    def gpu_memory(self) -> None:
        return None

    def usage(self) -> None:
        return None


class ScriptedExecutor:
    """Starts what `script` returns for a launch; waiting moves the clock."""

    name = "scripted"

    def __init__(self, clock: Clock, script: Callable[[Launch], ScriptedTraining], jobs: int = 1) -> None:
        self.clock, self.script, self.jobs = clock, script, jobs
        self.launches: list[Launch] = []
        self.leftovers: list[Path] = []
        self.handles: list[Handle] = []
        self.most_at_once = 0
        self._trainings: list[ScriptedTraining] = []
        self._supervisor = Supervisor(clock)

    def slot(self, index: int) -> Slot:
        return Slot(index=index, cores=(index,), threads=1)

    def start(self, launch: Launch) -> Handle:
        self.launches.append(launch)
        self._trainings.append(self.script(launch))
        self.most_at_once = max(self.most_at_once, sum(each.poll() is None for each in self._trainings))
        return self._supervisor.watch(Handle(launch.runtime_file, pid=4711, created=1.0), self._trainings[-1], launch)

    def poll(self, handle: Handle) -> bool:
        return handle in self._supervisor and self._supervisor.poll(handle)

    def end(self, handle: Handle, *, at_once: bool = False) -> int:
        if handle in self._supervisor:
            return self._supervisor.end(handle, at_once=at_once)
        self.leftovers.append(handle.run)
        self.handles.append(handle)
        return 1 if handle.pid is not None else 0

    def wait(self, seconds: float) -> None:
        self.clock.now += seconds


def write_training(launch: Launch, values: dict[int, list[float]] | None = None) -> None:
    """Write what the runtime of a training writes: that it started, and records."""
    order = json.loads(launch.runtime_file.read_text())
    folder = Path(order["records"])
    (folder / "events-1-1.jsonl").write_text(json.dumps({"event": "start", "pid": 1, "time": 5.0, "rank": None}) + "\n")
    records = [
        struct.pack("<iidd", key, iteration, float(iteration), value)
        for key, listed in (values or {}).items()
        for iteration, value in enumerate(listed)
    ]
    (folder / "records-1-1.bin").write_bytes(b"".join(records))
