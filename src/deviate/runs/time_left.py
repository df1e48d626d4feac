"""How long the runs that are still to be made will take: one estimate, for whoever shows it."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence

from deviate.core.experiment import Run
from deviate.runs.events import RunEnded, RunProgress, RunShared, RunStarted
from deviate.store.run_files import Completed


def seconds_left(took: Sequence[float], going: Sequence[float], waiting: int, slots: int) -> float | None:
    """Estimate the seconds until the last run has ended; None where no run has completed.

    A run takes the mean of those that completed. Those under way go on for what is left of it, and those that wait go
    to the slot that is free first.

    Parameters
    ----------
    took : sequence of float
        Seconds of each run that completed.
    going : sequence of float
        Seconds for which each run under way has gone on.
    waiting : int
        Runs that are still to be started.
    slots : int
        Runs that go on side by side.

    Examples
    --------
    >>> seconds_left([10.0, 12.0], going=[5.0], waiting=2, slots=2)
    17.0
    """
    if not took:
        return None
    mean = sum(took) / len(took)
    ends = [max(mean - seconds, 0.0) for seconds in going]
    ends += [0.0] * min(max(slots, 1) - len(ends), waiting)
    heapq.heapify(ends)
    for _ in range(waiting):
        heapq.heapreplace(ends, ends[0] + mean)
    return max(ends, default=0.0)


class TimeLeft:
    """Follows the events of the runs of one call."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.ended = 0
        self.total = 0
        self._clock = clock
        #: Runs that go on side by side.
        self.jobs = 1
        #: Seconds of each run that completed.
        self.took: list[float] = []
        #: Of runs that were trained before, and are evaluated now.
        self._evaluated: list[float] = []
        self._going: dict[Run, tuple[float, float]] = {}

    def observe(self, event: object) -> None:
        """Take in one event."""
        match event:
            case RunStarted():
                if event.number == 1:
                    # A round of several begins.
                    self.took += event.took
                    self.ended = 0
                self.total, self.jobs = event.total, max(event.jobs, 1)
                self._going[event.run] = (self._clock(), 0.0)
            case RunProgress():
                self._going[event.run] = (self._clock(), event.seconds)
            case RunShared():
                self.total = max(self.total - 1, self.ended)
            case RunEnded():
                self._end(event)

    def _end(self, event: RunEnded) -> None:
        self.ended += 1
        begun, before = self._going.pop(event.run, (self._clock(), 0.0))
        if not isinstance(event.outcome, Completed):
            return
        if event.trained:
            self.took.append(event.outcome.seconds or 0.0)
        else:
            self._evaluated.append(before + self._clock() - begun)

    def going(self) -> list[float]:
        """Return the seconds for which each run under way has gone on."""
        now = self._clock()
        return [now - at + seconds for at, seconds in self._going.values()]

    def left(self) -> float | None:
        """Return the seconds left; None before a run has completed."""
        going = self.going()
        waiting = max(self.total - self.ended - len(going), 0)
        return seconds_left(self._evaluated or self.took, going, waiting, self.jobs)


def left_together(parts: Sequence[TimeLeft], unbegun: int) -> float | None:
    """Return the seconds left of experiments that share their slots, with so many runs of others that wait for them."""
    took = [seconds for part in parts for seconds in part.took]
    going = [seconds for part in parts for seconds in part.going()]
    waiting = sum(max(part.total - part.ended, 0) for part in parts) + unbegun - len(going)
    return seconds_left(took, going, waiting, max((part.jobs for part in parts), default=1))
