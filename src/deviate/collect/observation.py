"""The metrics that runs reported in text and that no metric of the source explains, as records beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from deviate.collect.identity import Series, numbers, read_series, table_series
from deviate.collect.measured import OBSERVED
from deviate.collect.mined import RunSeries, run_series
from deviate.collect.reported import ReportedNumber, digits, reported_numbers
from deviate.collect.runs import RunFiles
from deviate.replicate.workspace.folders import RunFolder

ROWS = pa.schema(
    [
        ("variant", pa.string()),
        ("run", pa.int64()),
        ("place", pa.int64()),
        ("metric", pa.string()),
        ("source", pa.int32()),
        ("iteration", pa.int32()),
        ("elapsed_s", pa.float64()),
        ("value", pa.float64()),
        ("process", pa.string()),
        ("position", pa.int64()),
    ]
)


@dataclass(frozen=True, eq=False)
class Observation:
    """What runs reported in text.

    Attributes
    ----------
    numbers : dict of str to list of ReportedNumber
        By variant, every number that its completed runs reported, with what became of it.
    rows : pyarrow.Table
        The values of observed metrics, with the columns of `ROWS`.
    """

    numbers: dict[str, list[ReportedNumber]]
    rows: pa.Table

    @cached_property
    def values(self) -> dict[str, dict[str, Series]]:
        """The values of observed metrics by run and name."""
        variants, indices = self.rows.column("variant").to_pylist(), numbers(self.rows.column("run"))
        runs = np.array([f"{variant}-{index}" for variant, index in zip(variants, indices, strict=True)])
        coded = self.rows.set_column(3, "metric", self.rows.column("metric").dictionary_encode())
        return {str(run): table_series(coded.filter(runs == run)) for run in np.unique(runs)}

    @property
    def names(self) -> list[tuple[str, int]]:
        """Names of the observed metrics, each with `OBSERVED`."""
        observed = {each.metric for numbers in self.numbers.values() for each in numbers if each.observed}
        return sorted((name, OBSERVED) for name in observed)


def observe(runs: Sequence[RunFiles], files: Sequence[Path], spare: Path) -> Observation:
    """Read what runs reported in text.

    Parameters
    ----------
    runs, files
        Runs in their order, and the file with the records of each; runs that did not complete are passed over.
    spare : Path
        Folder to write to where a run's folder cannot be written.
    """
    by_variant: dict[str, dict[str, list[RunSeries]]] = {}
    recorded: dict[str, dict[str, np.ndarray]] = {}
    for run, file in zip(runs, files, strict=True):
        if run.completed:
            by_variant.setdefault(run.variant, {})[run.name] = run_series(run.folder, spare)
            recorded[run.name] = {name: series.values for name, series in read_series(file).items()}
    numbers = {
        variant: reported_numbers(mined, {run: recorded[run] for run in mined}) for variant, mined in by_variant.items()
    }
    parts = [
        _rows(run, place, each, metric)
        for place, run in enumerate(runs)
        if run.completed
        for each, metric in _observed(by_variant[run.variant][run.name], numbers[run.variant])
    ]
    return Observation(numbers, pa.concat_tables(parts) if parts else ROWS.empty_table())


def reports_metric(folder: RunFolder) -> bool:
    """Tell whether a run that has ended reported a number in text that looks like a metric."""
    with TemporaryDirectory() as spare:
        mined = {folder.run.folder: run_series(folder, Path(spare))}
    return any(each.metric for each in reported_numbers(mined, {}))


def _observed(mined: Sequence[RunSeries], numbers: Sequence[ReportedNumber]) -> list[tuple[RunSeries, str]]:
    """Return the series of observed metrics; of those that were reported twice, the one with most digits."""
    by_key = {each.key: each.metric for each in numbers if each.observed}
    chosen: dict[str, RunSeries] = {}
    for each in sorted(mined, key=lambda each: -digits(each.series.slot)):
        if metric := by_key.get(each.series.slot.key):
            chosen.setdefault(metric, each)
    return [(series, metric) for metric, series in chosen.items()]


def _rows(run: RunFiles, place: int, mined: RunSeries, metric: str) -> pa.Table:
    values = mined.series.values
    count = len(values)
    columns = {
        "variant": [run.variant] * count,
        "run": np.full(count, run.index),
        "place": np.full(count, place),
        "metric": [metric] * count,
        "source": np.full(count, OBSERVED, np.int32),
        "iteration": mined.iterations.astype(np.int32),
        "elapsed_s": mined.seconds,
        "value": values,
        "process": [""] * count,
        "position": np.arange(count),
    }
    return pa.Table.from_pydict(columns, schema=ROWS)
