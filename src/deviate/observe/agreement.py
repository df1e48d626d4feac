"""How far the completed runs of each variant agree in what they reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deviate.core.experiment import Experiment, Metric
from deviate.lexicon.words import meaning_of
from deviate.observe.derived import RunRecords
from deviate.observe.identity import Identity, RunValues, Series, compare_runs, table_series
from deviate.observe.metrics import MACHINES, measured_metrics
from deviate.observe.observation import Observation
from deviate.observe.records import RunFiles, run_table
from deviate.store.folders import RunFolder


def record_tables(experiment: Experiment, runs: Iterable[RunFiles]) -> list[RunRecords]:
    """Return the records of runs."""
    names = [metric.name for metric in experiment.metrics]
    return [RunRecords(run.folder, names) for run in runs]


def recorded_names(records: Iterable[RunRecords]) -> list[tuple[str, int]]:
    """Return the names of metrics that have records, each with its index in the experiment (-1: unforeseen)."""
    return sorted({pair for each in records for pair in each.names})


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
