"""Which iteration of the main loop reported a number: by how much had been printed when it began, or by the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deviate.collect.columns import since_start
from deviate.collect.processes import Process
from deviate.collect.trainings import counted_before, looped_processes
from deviate.replicate.workspace.records import STDERR, STDOUT, TICK

#: Ids of the notes on each stream.
STREAMS = {"stdout": STDOUT, "stderr": STDERR}


@dataclass(frozen=True)
class Marks:
    """How much of a stream there was when iterations of the main loop began.

    Attributes
    ----------
    sizes : ndarray of int64, shape (n_notes,)
        Bytes, ascending; only of iterations before which something was printed.
    iterations : ndarray of int64, shape (n_notes + 1,)
        The iteration that printed up to each size; last the one that printed the rest. -1: before the main loop.
    seconds : ndarray of float64, shape (n_notes + 1,)
        When that iteration began, in seconds since the run's first process started; 0 before the main loop.
    """

    sizes: NDArray[np.int64]
    iterations: NDArray[np.int64]
    seconds: NDArray[np.float64]

    def at(self, offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return iteration and seconds of what begins at `offsets`, in bytes from the beginning of the stream."""
        places = np.searchsorted(self.sizes, offsets, side="right")
        return self.iterations[places], self.seconds[places]


#: Where no main loop was seen.
NO_MARKS = Marks(np.empty(0, np.int64), np.array([-1]), np.zeros(1))


@dataclass(frozen=True)
class Clock:
    """When iterations of the main loop began.

    Attributes
    ----------
    begun : ndarray of float64, shape (n_iterations,)
        Unix seconds, ascending.
    iterations : ndarray of int64, shape (n_iterations + 1,)
        The iteration before each of these moments, and after the last; -1: before the main loop.
    started : float or None
        Unix seconds at which the run's first process started; None where none was heard of.
    """

    begun: NDArray[np.float64]
    iterations: NDArray[np.int64]
    started: float | None

    def at(
        self, moments: NDArray[np.float64], steps: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return iteration and seconds since the run's start of what was logged at `moments` as of `steps`.

        Steps that go with the iterations, but for moments at which one was about to begin, count them exactly. NaN, the
        moment of what belongs to no step, is the end of the run.
        """
        later = np.where(np.isnan(moments), np.inf, moments)
        seen = self.iterations[np.searchsorted(self.begun, later, side="right")]
        known = moments[np.isfinite(moments)]
        start = self.started if self.started is not None else known.min() if len(known) else 0.0
        seconds = np.where(np.isnan(moments), float(known.max(initial=start)), moments) - start
        ahead = steps - seen
        offset = np.round(np.median(ahead))
        if len(self.begun) and np.all(np.abs(ahead - offset) <= 1):
            return np.clip(steps - offset, -1, self.iterations.max()).astype(np.int64), seconds
        return seen, seconds


class Timeline(NamedTuple):
    """What tells the iteration of a number: marks by stream, and the clock."""

    marks: dict[str, Marks]
    clock: Clock


def read_timeline(members: list[Process]) -> Timeline:
    """Return marks and clock of the process that went through most iterations of the main loop.

    With it are those that did so before or after it, and not beside it.
    """
    read = [(process, process.records()) for process in members if process.record_file]
    looped = [(process, records, int((records["id"] == TICK).sum())) for process, records in read]
    started = min((each.started for each in members if each.started is not None), default=None)
    if not looped or not max(count for _, _, count in looped):
        return Timeline(dict.fromkeys(STREAMS, NO_MARKS), Clock(np.empty(0), np.array([-1]), started))
    process, records, _ = max(looped, key=lambda each: each[2])
    records = _in_sequence(process, records, members)
    ticks = records[records["id"] == TICK]
    begun = np.maximum.accumulate(ticks["elapsed"]) + (started or 0.0)
    return Timeline(
        {name: _marks(records, identity) for name, identity in STREAMS.items()},
        Clock(begun, np.append(-1, ticks["iteration"]).astype(np.int64), started),
    )


def _in_sequence(longest: Process, records: NDArray[np.void], members: list[Process]) -> NDArray[np.void]:
    """Return the records of a process with those of others that do not overlap it, as of one: iterations go on."""
    looped = looped_processes(members)
    own = next((each for each in looped if each.process is longest), None)
    if own is None or len(looped) == 1:
        return _shifted(records, since_start(longest, members))
    chain = [own]
    for each in looped:
        if each is not own and not any(each.overlaps(other) for other in chain):
            chain.append(each)
    chain.sort(key=lambda each: each.began)
    before = counted_before(chain)
    parts = [_shifted(each.records, since_start(each.process, members), before[each.process.stem]) for each in chain]
    return np.concatenate(parts)


def _shifted(records: NDArray[np.void], later: float, before: int = 0) -> NDArray[np.void]:
    shifted = records.copy()
    shifted["elapsed"] += later
    shifted["iteration"] += np.int32(before)
    return shifted


def _marks(records: NDArray[np.void], identity: int) -> Marks:
    ticks = records[records["id"] == TICK]
    notes = records[records["id"] == identity]
    # What an iteration finds printed, the one before has printed.
    iterations = np.append(notes["iteration"] - 1, ticks["iteration"][-1]).astype(np.int64)
    # A forked child goes on counting where its parent was.
    begun, seconds = np.maximum.accumulate(np.append(-1, ticks["iteration"])), np.append(0.0, ticks["elapsed"])
    return Marks(notes["value"].astype(np.int64), iterations, seconds[np.searchsorted(begun, iterations)])
