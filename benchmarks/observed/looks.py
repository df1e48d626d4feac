"""Time what a look at a printed line costs a program, and what passing its text on costs between looks.

    python benchmarks/observed/looks.py

In this process, the cheapest of many repeats each, since the machine does other things as well.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import IO

INJECTED = Path(__file__).parents[2] / "src" / "deviate" / "runtime" / "injected"

LINES, REPEATS, FRAMES = 500, 200, 20


def main() -> None:
    """Print the costs."""
    sys.path.insert(0, str(INJECTED))
    from deviate_runtime.reports import MOST, Reports

    with tempfile.TemporaryFile("w") as file:
        events = SimpleNamespace(write=lambda event: None)
        process = SimpleNamespace(config={"overlay": str(Path(__file__).parent)}, started=-float("inf"), events=events)
        bare = min(line_ns(file) for _ in range(REPEATS))
        reports = Reports(process, {0: file.buffer.tell})
        reports.watch(0, file)
        reports.look_at = float("inf")
        watched = min(line_ns(file) for _ in range(REPEATS))

        def look(depth: int) -> int:
            if depth:
                return look(depth - 1)
            reports.left, reports.look_at = MOST, 0.0
            began = time.perf_counter_ns()
            reports.note(0)
            return time.perf_counter_ns() - began

        looks = min(look(FRAMES) for _ in range(REPEATS))
    print(f"a line of 8 writes: {bare:.0f} ns bare, {watched:.0f} ns watched between two looks")
    print(f"a look through {FRAMES} frames: {looks / 1000:.1f} µs")


def line_ns(file: IO[str]) -> float:
    """Return nanoseconds for a line that print() writes in eight parts."""
    began = time.perf_counter_ns()
    for step in range(LINES):
        print("step", step, "loss", 0.5, file=file)
    return (time.perf_counter_ns() - began) / LINES


if __name__ == "__main__":
    main()
