"""Which iteration of the main loop printed a line, by how much had been printed when each iteration began."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deviate.collect.columns import since_start
from deviate.collect.processes import Process
from deviate.replicate.workspace.records import STDERR, STDOUT, TICK, parse_records

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


def read_marks(members: list[Process]) -> dict[str, Marks]:
    """Return the marks of each stream, of the process that went through most iterations of the main loop."""
    read = [(process, parse_records(process.record_file.read_bytes())) for process in members if process.record_file]
    looped = [(process, records, int((records["id"] == TICK).sum())) for process, records in read]
    if not looped or not max(count for _, _, count in looped):
        return dict.fromkeys(STREAMS, NO_MARKS)
    process, records, _ = max(looped, key=lambda each: each[2])
    later = since_start(process, members)
    return {name: _marks(records, identity, later) for name, identity in STREAMS.items()}


def _marks(records: NDArray[np.void], identity: int, later: float) -> Marks:
    ticks = records[records["id"] == TICK]
    notes = records[records["id"] == identity]
    # What an iteration finds printed, the one before has printed.
    iterations = np.append(notes["iteration"] - 1, ticks["iteration"][-1]).astype(np.int64)
    # A forked child goes on counting where its parent was.
    begun, seconds = np.append(-1, ticks["iteration"]), np.append(0.0, ticks["elapsed"] + later)
    return Marks(notes["value"].astype(np.int64), iterations, seconds[np.searchsorted(begun, iterations)])
