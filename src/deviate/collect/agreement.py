"""How far the completed runs of each variant agree in what they reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from deviate.analyse.naming.words import meaning_of
from deviate.collect.columns import TICK_NAME, run_table
from deviate.collect.derived import DerivedTable
from deviate.collect.identity import Identity, RunValues, Series, compare_runs, metric_indices, numbers, table_series
from deviate.collect.measured import MACHINES, measured_metrics
from deviate.collect.observation import Observation
from deviate.collect.parquet import run_parquet
from deviate.collect.runs import RunFiles
from deviate.experiment import Experiment, Metric
from deviate.replicate.workspace.folders import RunFolder


def record_tables(experiment: Experiment, runs: Iterable[RunFiles]) -> list[DerivedTable]:
    """Return the records of runs."""
    names = [metric.name for metric in experiment.metrics]
    return [run_parquet(run.folder, names) for run in runs]


def recorded_names(files: Iterable[DerivedTable]) -> list[tuple[str, int]]:
    """Return the names of metrics that have records, each with its index in the experiment (-1: unforeseen)."""
    pairs: set[tuple[str, int]] = set()
    for file in files:
        table = file.read(["metric", "source"])
        if len(table):
            words, indices = metric_indices(table)
            sources = numbers(table.column("source")).astype(np.int64) + 1
            width = int(sources.max()) + 1
            # Counted, since millions of pairs take seconds to be sorted.
            present = np.flatnonzero(np.bincount(indices.astype(np.int64) * width + sources)).tolist()
            pairs.update((words[pair // width], pair % width - 1) for pair in present)
    return sorted(pair for pair in pairs if pair[0] != TICK_NAME)


def identities(
    experiment: Experiment, runs: Sequence[RunFiles], recorded: Iterable[tuple[str, int]], observation: Observation
) -> dict[str, Identity]:
    """Return, by variant, how far its runs agree; variants with fewer than two have no entry.

    `runs` have completed; `recorded` are the `recorded_names` of their tables, and `observation` has their values.
    """
    measured = measured_metrics(experiment, [*recorded, *observation.names], observation.metrics)
    passed_over = {metric.name for metric in measured if metric.kind in MACHINES}
    by_variant: dict[str, dict[str, RunValues]] = {}
    for run in runs:
        by_variant.setdefault(run.variant, {})[run.name] = observation.values_of(run.name)
    return {name: compare_runs(values, passed_over) for name, values in by_variant.items() if len(values) > 1}


def repeatable_series(folder: RunFolder, metrics: Sequence[Metric]) -> dict[str, Series]:
    """Return the values that a run recorded so far by metric, without those that measure the machine."""
    series = table_series(run_table(folder, [metric.name for metric in metrics]))
    return {name: each for name, each in series.items() if is_repeatable(name, metrics)}


def is_repeatable(name: str, metrics: Sequence[Metric]) -> bool:
    """Tell whether runs that do the same report the same under a name: it measures neither time nor the machine."""
    meaning = meaning_of(name)
    kind = next((metric.kind for metric in metrics if metric.name == name), None)
    return (kind or (meaning.kind if meaning is not None else "quality")) not in MACHINES
