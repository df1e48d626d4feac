"""The files a training process writes: fixed-size records and lines of JSON.

Both are appended while the training goes on and may end in the middle of an entry, because a process can be killed at
any moment. A torn end is dropped; everything before it is whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deviate.store.folders import RunFolder
from deviate.store.slots import read_on, read_records, read_tail

#: Id of the entry that says that the main loop begins an iteration.
TICK = -1

#: Ids of how many bytes of the run's output there were, noted where they are more than in the iteration before.
STDOUT, STDERR = -2, -3

#: Ids from here on have names that were learnt at run time.
FIRST_DYNAMIC = 1_000_000


def count_values(path: Path) -> int:
    """Return how many values and iterations a file has; notes on the output do not count, which runs may differ in."""
    return int((read_records(path)["id"] >= TICK).sum())


def has_values(folder: RunFolder) -> bool:
    """Tell whether a run recorded a value of a metric, and not iterations alone."""
    return any((read_records(path)["id"] > TICK).any() for path in folder.record_files())


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


class LiveSeries:
    """The values of one metric in a file that may still grow; each `read` takes in what was added."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._taken = 0
        #: The latest iteration that began; None before the first.
        self.iteration: int | None = None
        #: The last value of each iteration.
        self.values: dict[int, float] = {}

    def read(self, metric: int | None) -> None:
        """Take in the whole records that were added; `metric` is the id of the metric, None where there is none."""
        if self.path.stat().st_size < self._taken:
            # The run was made again.
            self._taken, self.iteration, self.values = 0, None, {}
        records, self._taken = read_on(self.path, self._taken)
        begun = records["iteration"][records["iteration"] >= 0]
        if begun.size:
            self.iteration = max(int(begun.max()), self.iteration or 0)
        wanted = records[(records["id"] == metric) & (records["iteration"] >= 0)] if metric is not None else records[:0]
        self.values |= zip(wanted["iteration"].tolist(), wanted["value"].tolist(), strict=True)


def metric_id(name: str, metrics: Sequence[str]) -> int | None:
    """Return the id by which records name a metric; `metrics` are the names of the experiment's metrics, in order."""
    return list(metrics).index(name) if name in metrics else None


#: Records looked at, from the end: more than most programs report in one iteration; and where a metric is not among
#: them, as it is not of a program that prints each 1000th epoch.
TAIL, FARTHER = 1000, 20_000


class Progressed(NamedTuple):
    """How far a run is."""

    #: That under way, from 0; None before the first one.
    iteration: int | None
    values: dict[str, float]
    #: The latest iteration in which a value was recorded.
    reported: int | None


def read_progress(folder: RunFolder, metrics: Sequence[str]) -> Progressed:
    """Return the current iteration, the latest value of each metric, and the iteration of the latest value.

    The run may go on. `metrics` are the names of the experiment's metrics: the position is the id.
    """
    iteration: int | None = None
    reported: int | None = None
    values: dict[str, float] = {}
    for path in folder.record_files():
        events = _events(path)
        if rank_of(events) not in (None, 0):
            continue
        names = {event.get("id"): str(event.get("name")) for event in events if event["event"] == "name"}
        latest, latest_values, last_reported = _latest(path, len(metrics))
        values |= {_name(key, metrics, names): value for key, value in latest_values.items()}
        iteration = latest if iteration is None else max(iteration, latest or 0)
        reported = last_reported if reported is None else max(reported, last_reported or 0)
    return Progressed(iteration, values, reported)


def _events(record_file: Path) -> list[dict[str, object]]:
    path = record_file.with_name(record_file.name.replace("records-", "events-", 1)).with_suffix(".jsonl")
    return read_events(path) if path.is_file() else []


def _latest(path: Path, metrics: int) -> tuple[int | None, dict[int, float], int | None]:
    records = read_tail(path, TAIL)
    found = {each for each in records["id"].tolist() if each > TICK}
    if len(records) == TAIL and not (found and found.issuperset(range(metrics))):
        records = read_tail(path, FARTHER)
    if not len(records):
        return None, {}, None
    # The first of equal ids in reverse order is the last one written.
    ids, positions = np.unique(records["id"][::-1], return_index=True)
    values = {int(key): float(records["value"][::-1][position]) for key, position in zip(ids, positions, strict=True)}
    last = int(records["iteration"][-1])
    reported = int(records["iteration"][records["id"] > TICK].max(initial=-1))
    latest = {key: value for key, value in values.items() if key > TICK}
    return (last if last >= 0 else None), latest, (reported if reported >= 0 else None)


def _name(key: int, metrics: Sequence[str], names: dict[object, str]) -> str:
    if key >= FIRST_DYNAMIC:
        return names.get(key, f"unnamed {key}")
    return metrics[key] if 0 <= key < len(metrics) else f"unnamed {key}"
