"""Notice that the clock of the machine was set while a command ran."""

from __future__ import annotations

import time

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
