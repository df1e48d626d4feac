"""How far the completed runs of each variant agree in what they reported."""

from __future__ import annotations

import tempfile
from pathlib import Path

from deviate.collect.identity import Identity, compare_runs
from deviate.collect.measured import measured_metrics
from deviate.collect.parquet import run_parquet
from deviate.collect.tables import included_runs
from deviate.replicate.workspace import ExperimentFolder

#: Kinds of metrics that differ between any two runs: they measure the machine.
MACHINES = ("speed", "resource")


def identities(folder: ExperimentFolder, recorded: list[tuple[str, int]]) -> dict[str, Identity]:
    """Return, by variant, how far its completed runs agree; variants with fewer than two have no entry.

    Parameters
    ----------
    folder : ExperimentFolder
        Where the runs are.
    recorded : list of (name, source)
        What `recorded_names` gives.
    """
    experiment = folder.read_experiment()
    names = [metric.name for metric in experiment.metrics]
    passed_over = [metric.name for metric in measured_metrics(experiment, recorded) if metric.kind in MACHINES]
    tables: dict[str, dict[str, Path]] = {}
    with tempfile.TemporaryDirectory() as spare:
        for run in included_runs(folder):
            tables.setdefault(run.run.variant, {})[run.run.folder] = run_parquet(run, names, Path(spare))
        return {name: compare_runs(runs, passed_over) for name, runs in tables.items() if len(runs) > 1}
