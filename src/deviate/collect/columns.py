"""The records of one run as columns, with names instead of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deviate.collect.processes import Process, run_processes
from deviate.collect.trainings import counted_before, looped_processes
from deviate.replicate.workspace.folders import RunFolder
from deviate.replicate.workspace.records import FIRST_DYNAMIC, TICK

#: What ticks of the main loop are called in the stored table; not a metric.
TICK_NAME = ""

SCHEMA = pa.schema(
    [
        ("metric", pa.dictionary(pa.int32(), pa.string())),
        # Position of the metric in the experiment; -1: reported by a framework and not foreseen.
        ("source", pa.int32()),
        ("iteration", pa.int32()),
        # Since the first process of the run started.
        ("elapsed_s", pa.float64()),
        ("value", pa.float64()),
        ("process", pa.dictionary(pa.int32(), pa.string())),
    ]
)


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


def run_table(folder: RunFolder, metrics: Sequence[str]) -> pa.Table:
    """Return the records of the processes that are the run, in the order they were written.

    The run has ended. `metrics` are the names of the experiment's metrics: the position is the id.
    """
    members = [process for process in run_processes(folder) if process.record_file is not None]
    names = RunNames(metrics, members)
    looped = looped_processes(members)
    # One process counts as it did; records of several are read twice.
    before = counted_before(looped) if len(looped) > 1 else {}
    tables = [
        _process_table(process, names, since_start(process, members), before.get(process.stem, 0))
        for process in members
    ]
    if not tables:
        return SCHEMA.empty_table()
    table = pa.concat_tables(tables).unify_dictionaries()
    return table if len(tables) == 1 else _by_time(table)


def since_start(process: Process, members: Iterable[Process]) -> float:
    """Return how much later than the first of the run's processes this one started, in seconds."""
    first = min((each.started for each in members if each.started is not None), default=None)
    return 0.0 if first is None or process.started is None else process.started - first


def _process_table(process: Process, names: RunNames, offset: float, before: int) -> pa.Table:
    records = process.records()
    records = records[records["id"] >= TICK]
    ids, positions = np.unique(records["id"], return_inverse=True)
    dynamic = process.dynamic_names()
    named = [names.of(int(identifier), dynamic) for identifier in ids]
    sources = np.array([source for source, _ in named], dtype=np.int32)
    columns = {
        "metric": _dictionary(positions, [name for _, name in named]),
        "source": sources[positions] if len(named) else np.empty(0, np.int32),
        "iteration": records["iteration"] + np.int32(before),
        "elapsed_s": records["elapsed"] + offset,
        "value": records["value"],
        "process": _dictionary(np.zeros(len(records)), [process.stem]),
    }
    return pa.Table.from_pydict(columns, schema=SCHEMA)


def _dictionary(positions: NDArray[np.generic], words: list[str]) -> pa.DictionaryArray:
    # Two ids may have one name (a metric reported from two places), and a dictionary must not repeat its words.
    unique = sorted(set(words))
    places = np.array([unique.index(word) for word in words], dtype=np.int32)
    indices = places[positions.astype(np.int64)] if len(words) else np.empty(0, np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(unique, pa.string()))


def _by_time(table: pa.Table) -> pa.Table:
    # Stable, so that records of one process with equal times keep the order they were written in.
    order = np.argsort(table.column("elapsed_s").to_numpy(), kind="stable")
    return table.take(pa.array(order))
