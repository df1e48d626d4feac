"""What the user may want otherwise of the runs of an experiment; whether the clock was set."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from deviate.runs.containers import ContainerWish


class ReplicateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user may want otherwise."""

    #: Seconds a run may take.
    timeout: float | None = None
    #: Seconds a run may neither record nor print anything.
    stall: float | None = None
    #: GiB of memory that the processes of a run may hold together.
    memory: float | None = None
    #: Make runs again that failed, ran for too long or were not instrumented.
    retry_failed: bool = False
    #: Make runs again that were ended from outside.
    retry_killed: bool = False
    #: Exit statuses with which a training has ended well, beside 0.
    accept_status: tuple[int, ...] = ()
    #: What the first run of a fresh experiment does before others start: one iteration of its main loop, with values
    #: recorded, or all. Where it records nothing, the caller stops there.
    probe: Literal["nothing", "iteration", "run"] = "run"
    #: Keep the work folder of completed runs: it holds what they saved. Those of other runs are always kept.
    keep_work: bool = True
    #: Have operations without a deterministic form end the run, where the implementation is held fixed.
    strict: bool = False
    #: Start no run on a machine that is not like that of the first one.
    same_hardware: bool = False
    #: Start runs in a container.
    container: ContainerWish | None = None
    #: What readers of the results have to know of these runs.
    warnings: tuple[str, ...] = ()


# Notice that the clock of the machine was set while a command ran.

#: Seconds that a clock is set by at least: less is what keeps it right.
LEAST = 2.0

#: Goes on while the machine sleeps, where the system has such a clock.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def clock_offset() -> float:
    """Return by how many seconds the time of day is ahead of a clock that nobody sets."""
    return time.time() - time.clock_gettime(_STEADY)


def clock_warnings(before: float) -> list[str]:
    """Return a warning where the clock was set since its offset was `before`."""
    moved = clock_offset() - before
    if abs(moved) < LEAST:
        return []
    way = "forward" if moved > 0 else "back"
    return [
        f"The clock of its machine was set {way} by {abs(moved):.0f} s during this run: times that the program takes "
        "from the time of day are wrong, and the order of its files may be."
    ]
