"""The processes of one run: which of them are *the run*, and what each of them said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deviate.store.folders import RunFolder
from deviate.store.integrity import read_sealed, sealed_size
from deviate.store.records import parse_events, rank_of
from deviate.store.slots import parse_records, read_records


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
