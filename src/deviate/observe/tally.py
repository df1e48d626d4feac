"""How many values came of each metric, counted while the run goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from deviate.observe.processes import run_processes
from deviate.observe.records import RunNames
from deviate.store.folders import RunFolder
from deviate.store.records import TICK
from deviate.store.slots import read_on

#: Records read at once.
CHUNK = 1 << 16


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How many values came, the first and the last of them."""

    count: int
    first: float
    last: float

    def joined(self, later: Tally) -> Tally:
        """Return the tally of these values and of `later` ones."""
        return Tally(count=self.count + later.count, first=self.first, last=later.last)


class GrowingRecords:
    """The values of each metric id in a record file that may still grow; a look reads on where the last one ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tallies: dict[int, Tally] = {}
        self._read = 0

    def look(self) -> dict[int, Tally]:
        """Return the tallies of all whole records that are there now."""
        for identifier, tally in self._new():
            before = self.tallies.get(identifier)
            self.tallies[identifier] = before.joined(tally) if before else tally
        return self.tallies

    def _new(self) -> Iterator[tuple[int, Tally]]:
        while True:
            # A torn end is no record; it is read again, whole, at the next look.
            records, end = read_on(self.path, self._read, CHUNK)
            if end == self._read:
                return
            self._read = end
            for identifier in np.unique(records["id"]):
                values = records["value"][records["id"] == identifier]
                yield int(identifier), Tally(count=len(values), first=float(values[0]), last=float(values[-1]))


class RunTallies:
    """What came of each metric of a run that may still go on.

    `metrics` are the names of the experiment's metrics: the position is the id.
    """

    def __init__(self, folder: RunFolder, metrics: Sequence[str]) -> None:
        self.folder = folder
        self.metrics = metrics
        #: Iterations of the main loop that were begun; of several processes, by the one that is farthest.
        self.iterations = 0
        self._files: dict[Path, GrowingRecords] = {}

    def look(self) -> dict[tuple[str, int], Tally]:
        """Return what came so far, by name and position of the metric it belongs to (-1: not foreseen)."""
        tallies: dict[tuple[str, int], Tally] = {}
        processes = run_processes(self.folder)
        names = RunNames(self.metrics, processes)
        for process in processes:
            if process.record_file is None:
                continue
            dynamic = process.dynamic_names()
            for identifier, tally in self._look_at(process.record_file).items():
                if identifier == TICK:
                    self.iterations = max(self.iterations, tally.count)
                if identifier <= TICK:
                    continue
                source, name = names.of(identifier, dynamic)
                before = tallies.get((name, source))
                tallies[name, source] = before.joined(tally) if before else tally
        return tallies

    def _look_at(self, path: Path) -> dict[int, Tally]:
        return self._files.setdefault(path, GrowingRecords(path)).look()
