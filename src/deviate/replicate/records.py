"""The files a training process writes: fixed-size records and lines of JSON.

Both are appended while the training goes on and may end in the middle of an entry, because a process can be killed at
any moment. A torn end is dropped; everything before it is whole.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Metric id, iteration, seconds since the process's runtime started, exact value.
RECORD = np.dtype([("id", "<i4"), ("iteration", "<i4"), ("elapsed", "<f8"), ("value", "<f8")])

#: Id of the entry that says that the main loop begins an iteration.
TICK = -1

#: Ids from here on have names that were learnt at run time.
FIRST_DYNAMIC = 1_000_000


def parse_records(data: bytes) -> NDArray[np.void]:
    """Return the whole records in `data`, in the order they were written; a torn end is dropped.

    Returns
    -------
    ndarray of RECORD, shape (n_records,)
    """
    return np.frombuffer(data, dtype=RECORD, count=len(data) // RECORD.itemsize)


def read_records(path: Path) -> NDArray[np.void]:
    """Return the whole records of a file."""
    return parse_records(path.read_bytes())


def read_tail(path: Path, count: int) -> NDArray[np.void]:
    """Return the last whole records of a file that may still grow, at most `count` of them."""
    with path.open("rb") as file:
        whole = file.seek(0, 2) // RECORD.itemsize
        file.seek(max(0, whole - count) * RECORD.itemsize)
        return parse_records(file.read(min(whole, count) * RECORD.itemsize))


def parse_events(data: bytes) -> list[dict[str, Any]]:
    """Return the events in `data`, in the order they were written.

    Lines that are no JSON object with an ``event`` are dropped: the last one may be torn, and so may one in the middle
    where a process was killed and its pid and start stamp were used again.
    """
    return [event for line in data.split(b"\n") if (event := _parse_event(line)) is not None]


def _parse_event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def read_events(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file."""
    return parse_events(path.read_bytes())


def rank_of(events: list[dict[str, Any]]) -> int | None:
    """Return the rank a process learnt last; None where it never had one."""
    ranks = [event.get("rank") for event in events if event["event"] in ("start", "rank")]
    known = [rank for rank in ranks if isinstance(rank, int)]
    return known[-1] if known else None
