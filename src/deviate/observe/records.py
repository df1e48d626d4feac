"""The records of one run as columns, with names instead of ids, and all that its files say, read once.

`RunTallies` counts the values of each metric while the run goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.core.experiment import Experiment
from deviate.observe.database import Table
from deviate.observe.fingerprints import Fingerprint, joined_fingerprints
from deviate.observe.processes import Process, counted_before, looped_processes, processes, run_processes
from deviate.store.folders import ExperimentFolder, RunFolder
from deviate.store.integrity import damage, growth
from deviate.store.records import FIRST_DYNAMIC, TICK
from deviate.store.run_files import Completed, Outcome, RunInfo, read_on

#: What ticks of the main loop are called in the stored table; not a metric.
TICK_NAME = ""

#: The columns of a run's table with their types.
SCHEMA = {
    # Its name.
    "metric": np.int32,
    # Position of the metric in the experiment; -1: reported by a framework and not foreseen.
    "source": np.int32,
    "iteration": np.int32,
    # Since the first process of the run started.
    "elapsed_s": np.float64,
    "value": np.float64,
    # What the files of the process share.
    "process": np.int32,
}


class RunNames:
    """Names for the ids in the records of a run.

    A key that belongs to several metrics (``loss`` in the dictionaries ``train_stats`` and ``val_stats``), or that
    another metric is named, is told apart by its metric's name: ``val_stats/loss``.

    `metrics` are the names of the experiment's metrics: the position is the id. `processes` are those that are the run.
    """

    def __init__(self, metrics: Sequence[str], processes: Iterable[Process]) -> None:
        self.metrics = metrics
        self._owners: dict[str, set[int]] = {}
        for position, name in enumerate(metrics):
            self._owners.setdefault(name, set()).add(position)
        for process in processes:
            for metric, name in process.dynamic_names().values():
                if metric is not None:
                    self._owners.setdefault(name, set()).add(metric)

    def of(self, identifier: int, dynamic: Mapping[int, tuple[int | None, str]]) -> tuple[int, str]:
        """Return the metric's position in the experiment (-1: none) and its name.

        `identifier` is the id in the record, `dynamic` the names that the record's process learnt at run time.
        """
        if identifier == TICK:
            return -1, TICK_NAME
        if identifier >= FIRST_DYNAMIC:
            metric, name = dynamic.get(identifier, (None, f"unnamed {identifier}"))
            return (-1, name) if metric is None else (metric, self._told_apart(metric, name))
        known = 0 <= identifier < len(self.metrics)
        return (identifier, self.metrics[identifier]) if known else (-1, f"unnamed {identifier}")

    def _told_apart(self, metric: int, name: str) -> str:
        own = self.metrics[metric] if metric < len(self.metrics) else ""
        # A name with a placeholder was made to be filled: `{split} loss` of two places is one metric.
        clear = len(self._owners[name]) == 1 or own == name or "{" in own
        return name if clear else f"{own}/{name}"


def run_table(folder: RunFolder, metrics: Sequence[str]) -> Table:
    """Return the records of the processes that are the run, in the order they were written.

    The run has ended. `metrics` are the names of the experiment's metrics: the position is the id.
    """
    members = [process for process in run_processes(folder) if process.record_file is not None]
    names = RunNames(metrics, members)
    looped = looped_processes(members)
    # One process counts as it did; records of several are read twice.
    before = counted_before(looped) if len(looped) > 1 else {}
    words: dict[str, int] = {}
    tables = [
        _process_columns(place, process, names, words, since_start(process, members), before.get(process.stem, 0))
        for place, process in enumerate(members)
    ]
    columns = {
        name: np.concatenate([np.empty(0, kind), *(table[name] for table in tables)]) for name, kind in SCHEMA.items()
    }
    if len(tables) > 1:
        # Stable, so that records of one process with equal times keep the order they were written in.
        order = np.argsort(columns["elapsed_s"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
    return Table(columns, {"metric": list(words), "process": [process.stem for process in members]})


def since_start(process: Process, members: Iterable[Process]) -> float:
    """Return how much later than the first of the run's processes this one started, in seconds."""
    first = min((each.started for each in members if each.started is not None), default=None)
    return 0.0 if first is None or process.started is None else process.started - first


def _process_columns(
    place: int, process: Process, names: RunNames, words: dict[str, int], offset: float, before: int
) -> dict[str, NDArray[Any]]:
    """Return the columns of one process; names that are new are added to `words`."""
    records = process.records()
    records = records[records["id"] >= TICK]
    # np.unique would import numpy.ma.
    ids = np.sort(records["id"])
    ids = ids[np.diff(ids, prepend=ids[:1] - 1) > 0]
    dynamic = process.dynamic_names()
    named = [names.of(int(identifier), dynamic) for identifier in ids]
    # Two ids may have one name: a metric reported from two places.
    for word in sorted({name for _, name in named}):
        words.setdefault(word, len(words))
    positions = np.searchsorted(ids, records["id"])
    return {
        "metric": np.array([words[name] for _, name in named], np.int32)[positions],
        "source": np.array([source for source, _ in named], np.int32)[positions],
        "iteration": records["iteration"] + np.int32(before),
        "elapsed_s": records["elapsed"] + offset,
        "value": records["value"],
        "process": np.full(len(records), place, np.int32),
    }


# What the files of a run say, read once.


@dataclass(frozen=True)
class RunFiles:
    """A run with what its files said when they were read."""

    folder: RunFolder
    #: None where the run has not ended.
    outcome: Outcome | None
    #: None where it was not started.
    info: RunInfo | None
    #: All processes that the runtime was started in, with their events.
    processes: list[Process]
    #: How its files differ from what they were when it ended; empty where they are whole.
    damage: str = ""
    #: Files to which something was written since it ended, which is left out.
    grown: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The word a user types for the run."""
        return self.folder.run.folder

    @property
    def variant(self) -> str:
        """The variant it is a run of."""
        return self.folder.run.variant

    @property
    def index(self) -> int:
        """Its number among the runs of the variant."""
        return self.folder.run.index

    @property
    def completed(self) -> bool:
        """Whether it enters the statistics."""
        return isinstance(self.outcome, Completed) and not self.damage

    @cached_property
    def fingerprints(self) -> dict[str, Fingerprint]:
        """Its fingerprints by name; a factor that nothing was drawn for has none."""
        return joined_fingerprints(self.processes)


def read_run(folder: RunFolder) -> RunFiles:
    """Read the files of a run."""
    outcome = folder.read_outcome()
    damaged = damage(folder, outcome) if outcome is not None else ""
    return RunFiles(folder, outcome, folder.read_info(), processes(folder), damaged, tuple(growth(folder, outcome)))


def read_ended_runs(folder: ExperimentFolder) -> list[RunFiles]:
    """Read the runs of an experiment that have ended, however, by variant and index."""
    return [run for each in folder.runs() if (run := read_run(each)).outcome is not None]


def in_order(runs: Iterable[RunFiles], experiment: Experiment) -> list[RunFiles]:
    """Sort runs by the order in which variants were planned, and by index."""
    order = {name: position for position, name in enumerate(experiment.planned)}
    return sorted(runs, key=lambda run: (order.get(run.variant, len(order)), run.variant, run.index))


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
    """Counts, and last values, of each metric of a run that may still go on.

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
