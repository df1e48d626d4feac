"""Which runs reported the very same values, bit by bit, and where the first difference is."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.observe.database import Table
from deviate.observe.records import TICK_NAME


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
    #: False: nothing shows in which iteration it was reported, as it stands in a file or no main loop was seen.
    placed: bool = True
    #: True: the iteration is the last of both runs, so what was reported after the loop is of it, too.
    last: bool = False
    #: True: neither run had reported anything in an earlier iteration of the main loop.
    opening: bool = False
    #: What an iteration is called.
    word: str = "iteration"


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


@dataclass(frozen=True, eq=False)
class Series:
    """The values of one metric of one run, in the order they were reported; arrays of shape ``(n,)``."""

    #: Of the main loop.
    iterations: NDArray[np.int32]
    #: Compared by their bits: NaN is as NaN, and 0 is not as -0.
    values: NDArray[np.float64]
    #: Places among all records of the run.
    positions: NDArray[np.int32]
    #: False: nothing shows in which iterations they were reported.
    placed: bool = True
    #: False: read from text or of a tracker, so that iterations follow from lines and clocks, and are not compared.
    counted: bool = True

    @property
    def is_placed(self) -> bool:
        """Whether the iterations are known: values that all stand in one, not before all, may be of after the loop."""
        at = self.iterations[[0, -1]].tolist() if self.placed and len(self.iterations) else []
        return bool(at) and (at[0] < 0 or at[0] != at[-1])

    def digest(self) -> bytes:
        """Return what is equal for equal series."""
        iterations = self.iterations.tobytes() if self.counted else b""
        return hashlib.blake2b(iterations + self.values.tobytes(), digest_size=16).digest()

    def head(self, count: int) -> Series:
        """Return the first values."""
        return replace(
            self,
            iterations=self.iterations[:count],
            values=self.values[:count],
            positions=self.positions[:count],
        )

    def first_difference(self, other: Series) -> int | None:
        """Return the place of the first value that differs; None where there is none."""
        common = min(len(self.values), len(other.values))
        bits, others = self.values[:common].view(np.int64), other.values[:common].view(np.int64)
        differ = bits != others
        if self.counted and other.counted:
            differ |= self.iterations[:common] != other.iterations[:common]
        places = np.flatnonzero(differ)
        if len(places):
            return int(places[0])
        return common if len(self.values) != len(other.values) else None


#: The values of a run's metrics, by name.
RunValues = Mapping[str, Series]


def compare_runs(runs: Mapping[str, RunValues], passed_over: Collection[str] = (), word: str = "iteration") -> Identity:
    """Compare each run with the first.

    `runs` are the values of runs by the runs' names, at least one. Metrics in `passed_over` are not compared. `word` is
    what an iteration is called.
    """
    names = list(runs)
    compared = {
        name: {metric: series for metric, series in values.items() if metric not in passed_over}
        for name, values in runs.items()
    }
    reference = compared[names[0]]
    together: dict[bytes, list[str]] = {_digest(reference): [names[0]]}
    differences = []
    for name in names[1:]:
        group = together.setdefault(_digest(compared[name]), [])
        group.append(name)
        if group[0] != names[0]:
            differences.append(_first(name, compared[name], names[0], reference, ended=True, word=word))
    values = sum(len(series.values) for series in reference.values())
    return Identity(runs=names, values=values, differences=differences, classes=list(together.values()))


def _digest(series: Mapping[str, Series]) -> bytes:
    parts = [metric.encode() + b"\0" + series[metric].digest() for metric in sorted(series)]
    return hashlib.blake2b(b"".join(parts), digest_size=16).digest()


def table_series(table: Table) -> dict[str, Series]:
    """Return the values of a table of records by metric."""
    metric, iterations, values = (table.columns[name] for name in ("metric", "iteration", "value"))
    series = {}
    for index, word in enumerate(table.words["metric"]):
        positions = np.flatnonzero(metric == index).astype(np.int32)
        if word != TICK_NAME and len(positions):
            series[word] = Series(iterations[positions], values[positions], positions)
    return series


def first_difference(
    run: str,
    series: Mapping[str, Series],
    other: str,
    reference: Mapping[str, Series],
    *,
    ended: bool,
    word: str = "iteration",
) -> Difference | None:
    """Return the first value in which a run is not as the other; None where there is none.

    Unless both have `ended`, they are compared as far as both went. `word` is what an iteration is called.
    """
    if not ended:
        common = {metric: min(len(series[metric].values), len(reference[metric].values)) for metric in series.keys()
                  & reference.keys()}  # fmt: skip
        series = {metric: series[metric].head(count) for metric, count in common.items()}
        reference = {metric: reference[metric].head(count) for metric, count in common.items()}
    if _digest(series) == _digest(reference):
        return None
    return _first(run, series, other, reference, ended=ended, word=word)


def _first(
    run: str, series: Mapping[str, Series], other: str, reference: Mapping[str, Series], *, ended: bool, word: str
) -> Difference:
    """Return the difference that was reported first, as far as it shows, as the run that is compared with goes on."""
    empty = Series(np.empty(0, np.int32), np.empty(0), np.empty(0, np.int32))
    candidates = []
    for metric in {**reference, **series}:
        ours, theirs = series.get(metric, empty), reference.get(metric, empty)
        index = theirs.first_difference(ours)
        if index is not None:
            longer = theirs if index < len(theirs.values) else ours
            place = int(longer.iterations[index]), int(longer.positions[index])
            candidates.append((not longer.placed, not longer.is_placed, *place, metric, index))
    _, unplaced, iteration, _, metric, index = min(candidates)
    seen = np.concatenate([each.iterations for each in (*series.values(), *reference.values())])
    reached = int(seen.max(initial=-1))
    return Difference(
        word=word,
        run=run,
        other=other,
        metric=metric,
        iteration=iteration,
        value=_value(series.get(metric, empty), index),
        other_value=_value(reference.get(metric, empty), index),
        placed=reached >= 0 and not unplaced,
        last=ended and iteration == reached,
        opening=not bool(((seen >= 0) & (seen < iteration)).any()),
    )


def _value(series: Series, index: int) -> float | None:
    return float(series.values[index]) if index < len(series.values) else None
