"""The processes of one run: which are *the run*, what each said, and how often it went through its main loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.store.folders import RunFolder
from deviate.store.integrity import read_sealed, sealed_size
from deviate.store.records import TICK, parse_events, rank_of
from deviate.store.run_files import parse_records, read_records


@dataclass(frozen=True)
class Process:
    """One process of a run that the runtime was started in."""

    #: What its files share: process id and start stamp.
    stem: str
    #: In the order they were written.
    events: list[dict[str, Any]]
    #: None where it wrote no record.
    record_file: Path | None
    #: How many bytes of that are of the run; None: all.
    sealed: int | None = None

    def records(self) -> NDArray[np.void]:
        """Return its records; none where it wrote none."""
        if self.record_file is None:
            return parse_records(b"")
        return read_records(self.record_file, self.sealed)

    @property
    def rank(self) -> int | None:
        """Its rank among the processes of a distributed training; None where it has none."""
        return rank_of(self.events)

    @property
    def started(self) -> float | None:
        """Unix seconds at which its runtime started; None where that was not written."""
        times = (event.get("time") for event in self.events if event["event"] == "start")
        return next((float(time) for time in times if isinstance(time, int | float)), None)

    def dynamic_names(self) -> dict[int, tuple[int | None, str]]:
        """Return the names learnt at run time: by id, the metric it belongs to (None: unforeseen) and the name."""
        return {
            event["id"]: (event.get("metric"), str(event["name"]))
            for event in self.events
            if event["event"] == "name" and isinstance(event.get("id"), int) and "name" in event
        }


def processes(folder: RunFolder) -> list[Process]:
    """Return every process of the run the runtime was started in, in the order they started."""
    outcome = folder.read_outcome()
    # What was written after the run had ended is not of the run. Where it goes on, files appear at any moment.
    sizes = {path: sealed_size(folder, path, outcome) for path in (*folder.record_files(), *folder.event_files())}
    records = {_stem(path): path for path, size in sizes.items() if size != 0 and path.suffix == ".bin"}
    events = {_stem(path): path for path, size in sizes.items() if size != 0 and path.suffix != ".bin"}
    started = [
        Process(
            stem,
            parse_events(read_sealed(folder, events[stem], outcome)) if stem in events else [],
            records.get(stem),
            sizes[records[stem]] if stem in records else None,
        )
        for stem in sorted(records.keys() | events.keys())
    ]
    return sorted(started, key=lambda process: (process.started or 0.0, process.stem))


def run_processes(folder: RunFolder) -> list[Process]:
    """Return the processes that are the run, see `reporting`."""
    return reporting(processes(folder))


def reporting(members: Iterable[Process]) -> list[Process]:
    """Return the processes of a run that are the run: rank 0, and those that have no rank.

    The other ranks of a distributed training report the same metrics once more, and would count twice.
    """
    return [process for process in members if process.rank in (None, 0)]


def _stem(path: Path) -> str:
    return path.stem.partition("-")[2]


class Trainings(msgspec.Struct, frozen=True, kw_only=True):
    """Trainings, or stages of one, that a run was seen to have."""

    #: Times that the main loop was begun, but for those that went on where it had been left.
    count: int = 0
    #: Whether processes went through it at the same time.
    together: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The main loop was begun."""

    #: The how many-th time in its process, from 1.
    number: int
    #: The number that it began with; None where it goes over something else.
    item: int | None


@dataclass(frozen=True)
class Looped:
    """A process that went through the main loop."""

    process: Process
    entries: list[Entry]

    @property
    def began(self) -> float:
        """Unix seconds at which it started."""
        return self.process.started or 0.0

    @cached_property
    def records(self) -> NDArray[np.void]:
        """What it recorded."""
        return self.process.records()

    @property
    def ended(self) -> float:
        """Unix seconds of its last record."""
        return self.began + (float(self.records["elapsed"].max()) if len(self.records) else 0.0)

    @cached_property
    def ticks(self) -> NDArray[np.int32]:
        """The iterations that it counted."""
        iterations: NDArray[np.int32] = self.records["iteration"][self.records["id"] == TICK]
        return iterations

    def overlaps(self, other: Looped) -> bool:
        """Whether one started before the other had recorded its last value."""
        return self.began < other.ended and other.began < self.ended


def looped_processes(members: Sequence[Process]) -> list[Looped]:
    """Return those of `members` that entered the main loop, in the order in which they started."""
    looped = (Looped(each, entries) for each in members if (entries := _entries(each)))
    return sorted(looped, key=lambda each: each.began)


def _entries(process: Process) -> list[Entry]:
    return [
        Entry(number=event["number"], item=event.get("item"))
        for event in process.events
        if event["event"] == "loop" and isinstance(event.get("number"), int)
    ]


def trainings_of(members: Sequence[Process]) -> Trainings:
    """Return how often the processes that are a run trained, as far as they told."""
    looped = looped_processes(members)
    count, first = 0, None
    for each in looped:
        # Of very many entries only some were written.
        count += each.entries[-1].number - len(each.entries)
        for entry in each.entries:
            if _gone_on(entry.item, first) is None:
                count, first = count + 1, entry.item
    together = any(one.overlaps(other) for index, one in enumerate(looped) for other in looped[:index])
    return Trainings(count=count, together=together)


def _gone_on(item: int | None, first: int | None) -> int | None:
    """Return how far a loop that begins with a number is in the training that began with the `first`.

    None where it goes on with no training.
    """
    return item - first if item is not None and first is not None and item > first else None


def counted_before(looped: Sequence[Looped]) -> dict[str, int]:
    """Return how many iterations came before those of each process that began after others had ended, by its stem.

    A process that resumes a training goes on with the iteration that it begins with: what another one did after its
    checkpoint is done again.
    """
    before: dict[str, int] = {}
    first, start = None, 0
    for index, each in enumerate(looped):
        # A forked child goes on counting where its parent was.
        earlier = looped[:index] if len(each.ticks) and each.ticks[0] == 0 else []
        done = [one for one in earlier if one.ended <= each.began and len(one.ticks)]
        shift = max((before[one.process.stem] + int(one.ticks[-1]) + 1 for one in done), default=0)
        item = each.entries[0].item
        if (resumed := _gone_on(item, first)) is not None:
            shift = min(shift, start + resumed)
        else:
            first, start = item, shift
        before[each.process.stem] = shift
    return before
