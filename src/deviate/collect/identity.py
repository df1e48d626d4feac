"""Which runs reported the very same values, bit by bit, and where the first difference is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from deviate.collect.columns import TICK_NAME


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first value in which a run is not as the one it is compared with."""

    run: str
    #: The run it is compared with.
    other: str
    metric: str
    #: Of the main loop, from 0; -1 before it.
    iteration: int
    #: None: one of them reported no more values.
    value: float | None
    other_value: float | None


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """How far runs agree in the values they reported."""

    #: Names of the runs.
    runs: list[str]
    #: Values of the first run that were compared; those that measure time or resources are not.
    values: int
    #: Of each run that is not as the first, in the order of the runs.
    differences: list[Difference] = []
    #: The runs put together that reported the same.
    classes: list[list[str]] = []

    @property
    def identical(self) -> bool:
        """Tell whether all runs reported the same."""
        return not self.differences


class Series:
    """The values of one metric of one run, in the order they were reported.

    Parameters
    ----------
    iterations : ndarray of int32, shape (n,)
        Of the main loop.
    values : ndarray of float64, shape (n,)
        Compared by their bits: NaN is as NaN, and 0 is not as -0.
    positions : ndarray of int64, shape (n,)
        Places among all records of the run.
    """

    def __init__(
        self, iterations: NDArray[np.int32], values: NDArray[np.float64], positions: NDArray[np.int64]
    ) -> None:
        self.iterations = iterations
        self.values = values
        self.positions = positions

    def digest(self) -> bytes:
        """Return what is equal for equal series."""
        return hashlib.blake2b(self.iterations.tobytes() + self.values.tobytes(), digest_size=16).digest()

    def first_difference(self, other: Series) -> int | None:
        """Return the place of the first value that differs; None where there is none."""
        common = min(len(self.values), len(other.values))
        bits, others = self.values[:common].view(np.int64), other.values[:common].view(np.int64)
        places = np.flatnonzero((bits != others) | (self.iterations[:common] != other.iterations[:common]))
        if len(places):
            return int(places[0])
        return common if len(self.values) != len(other.values) else None


def compare_runs(tables: Mapping[str, Path], passed_over: Sequence[str] = ()) -> Identity:
    """Compare each run with the first.

    Parameters
    ----------
    tables : mapping of str to Path
        Parquet files of the runs' records by the runs' names; at least one.
    passed_over : sequence of str, optional
        Metrics that are not compared.
    """
    names = list(tables)
    reference = read_series(tables[names[0]], passed_over)
    together: dict[bytes, list[str]] = {_digest(reference): [names[0]]}
    differences = []
    for name in names[1:]:
        found = read_series(tables[name], passed_over)
        group = together.setdefault(_digest(found), [])
        group.append(name)
        if group[0] != names[0]:
            differences.append(_first(name, found, names[0], reference))
    values = sum(len(series.values) for series in reference.values())
    return Identity(runs=names, values=values, differences=differences, classes=list(together.values()))


def _digest(found: Mapping[str, Series]) -> bytes:
    parts = [metric.encode() + b"\0" + found[metric].digest() for metric in sorted(found)]
    return hashlib.blake2b(b"".join(parts), digest_size=16).digest()


def read_series(path: Path, passed_over: Sequence[str] = ()) -> dict[str, Series]:
    """Return the values of a run's table by metric."""
    table = pq.read_table(path, columns=["metric", "iteration", "value"])
    if not len(table):
        return {}
    column = table.column("metric").unify_dictionaries().combine_chunks()
    words = column.dictionary.to_pylist()
    indices = column.indices.to_numpy(zero_copy_only=False)
    iterations = table.column("iteration").to_numpy()
    values = table.column("value").to_numpy()
    found = {}
    for place, word in enumerate(words):
        positions = np.flatnonzero(indices == place)
        if word != TICK_NAME and word not in passed_over and len(positions):
            found[word] = Series(iterations[positions], values[positions], positions)
    return found


def _first(run: str, found: Mapping[str, Series], other: str, reference: Mapping[str, Series]) -> Difference:
    """Return the difference that was reported first, as the run that is compared with goes on."""
    empty = Series(np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64))
    candidates = []
    for metric in {**reference, **found}:
        ours, theirs = found.get(metric, empty), reference.get(metric, empty)
        place = theirs.first_difference(ours)
        if place is not None:
            longer = theirs if place < len(theirs.values) else ours
            candidates.append((int(longer.positions[place]), metric, place, int(longer.iterations[place])))
    _, metric, place, iteration = min(candidates)
    return Difference(
        run=run,
        other=other,
        metric=metric,
        iteration=iteration,
        value=_value(found.get(metric, empty), place),
        other_value=_value(reference.get(metric, empty), place),
    )


def _value(series: Series, place: int) -> float | None:
    return float(series.values[place]) if place < len(series.values) else None
