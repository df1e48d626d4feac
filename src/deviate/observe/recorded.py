"""What runs recorded, in memory: by variant, run and metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deviate.observe.identity import RunValues, Series
from deviate.observe.tables import Tables


def values_by_run(tables: Tables) -> dict[str, dict[int, RunValues]]:
    """Return what each run recorded, by variant and index: its training, and its evaluations, pass after pass."""
    evaluated = _evaluated(tables)
    by_variant: dict[str, dict[int, RunValues]] = {}
    for run in tables.runs:
        values = {**tables.observation.values_of(run.name), **evaluated.get(run.name, {})}
        by_variant.setdefault(run.variant, {})[run.index] = values
    return by_variant


def _evaluated(tables: Tables) -> dict[str, dict[str, Series]]:
    passes: dict[str, dict[str, list[Series]]] = {}
    for each in tables.evaluated:
        recorded = [
            (one.place, each.step.prefix + metric, series)
            for one in each.passes
            for metric, series in one.records.series.items()
        ]
        for place, metric, series in [*recorded, *((one.place, one.metric, one.recorded) for one in each.series)]:
            passes.setdefault(tables.runs[place].name, {}).setdefault(metric, []).append(series)
    return {run: {metric: _joined(parts) for metric, parts in every.items()} for run, every in passes.items()}


def _joined(parts: Sequence[Series]) -> Series:
    return Series(
        iterations=np.concatenate([part.iterations for part in parts]),
        values=np.concatenate([part.values for part in parts]),
        positions=np.concatenate([part.positions for part in parts]),
    )
