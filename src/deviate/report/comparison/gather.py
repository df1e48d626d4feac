"""Gather the samples of one side from its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from deviate.collect.aggregates import check_aggregate
from deviate.collect.events import environment
from deviate.collect.fingerprints import fingerprints
from deviate.collect.measured import MeasuredMetric, measured_metrics
from deviate.collect.tables import included_runs, recorded_names, samples
from deviate.errors import BadOption
from deviate.replicate.workspace import ExperimentFolder, RunFolder
from deviate.report.comparison.inputs import Side, SideMetric
from deviate.report.names import same_name

#: Parts of an environment that another project, another moment or Deviate itself makes differ.
_EXPECTED = ("git", "argv", "cwd", "executable", "variables", "cores")


def gather_side(
    folder: ExperimentFolder, variant: str, label: str, *, assumed: bool = False, aggregates: Mapping[str, str]
) -> Side:
    """Read the runs of one variant.

    Parameters
    ----------
    folder : ExperimentFolder
        Where they are.
    variant : str
        Which runs.
    label : str
        What the user typed.
    assumed : bool, optional
        The user did not name the variant.
    aggregates : mapping of str to str
        Aggregates by metric, where they should differ from the experiment's.
    """
    for aggregate in aggregates.values():
        check_aggregate(aggregate)
    experiment = folder.read_experiment()
    known = measured_metrics(experiment, recorded_names(folder))
    names = [metric.name for metric in known]
    # A metric that this side does not have may be one of another's.
    chosen = {name: text for asked, text in aggregates.items() if (name := same_name(asked, names)) is not None}
    frame = samples(folder, chosen)
    rows = frame[frame["variant"] == variant]
    runs = [run for run in included_runs(folder) if run.run.variant == variant]
    found = (_metric(metric, rows[rows["metric"] == metric.name], len(runs)) for metric in known)
    ended = [run for run in folder.runs() if run.run.variant == variant and run.read_outcome() is not None]
    return Side(
        label=label,
        experiment=folder.name,
        variant=variant,
        completed=len(runs),
        ended=len(ended),
        metrics=[metric for metric in found if metric is not None],
        environment=_environment(runs),
        prints={run.run.index: fingerprints(run) for run in runs},
        assumed=assumed,
    )


def _metric(known: MeasuredMetric, rows: pd.DataFrame, completed: int) -> SideMetric | None:
    if rows.empty:
        return None
    values = rows["value"].to_numpy(dtype=float)
    finite = np.isfinite(values)
    return SideMetric(
        name=known.name,
        aggregate=str(rows["aggregate"].iloc[0]),
        kind=known.kind,
        unit=known.unit,
        direction=known.direction,
        values=values[finite].tolist(),
        runs=rows["run"].to_numpy(dtype=int)[finite].tolist(),
        excluded=completed - int(finite.sum()),
    )


def side_metric(side: Side, name: str, option: str) -> SideMetric:
    """Return the metric of a side by its name.

    Raises
    ------
    BadOption
        If the side has none of that name.
    """
    meant = same_name(name, [metric.name for metric in side.metrics])
    found = next((metric for metric in side.metrics if metric.name == meant), None)
    if found is None:
        names = ", ".join(metric.name for metric in side.metrics) or "none"
        raise BadOption(f"{option}: no metric {name!r} in {side.label}", hint=f"metrics of {side.label}: {names}")
    return found


def _environment(runs: list[RunFolder]) -> dict[str, str]:
    for run in runs:
        if found := environment(run):
            return {name: text for name, text in _flat(found) if not name.startswith(_EXPECTED)}
    return {}


def _flat(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Write nested parts as ``libraries.torch``."""
    flat: list[tuple[str, str]] = []
    for name, value in found.items():
        if isinstance(value, Mapping):
            flat += [(f"{name}.{inner}", text) for inner, text in _flat(value)]
        else:
            flat.append((name, str(value)))
    return flat
