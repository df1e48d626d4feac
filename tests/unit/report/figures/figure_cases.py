"""Records of learning curves for the documents of `report_cases`, and charts taken apart."""

from __future__ import annotations

import numpy as np
import pandas as pd

from deviate.facts.experiment import ExperimentFacts


def records_of(document: ExperimentFacts, iterations: int = 12, seed: int = 0, **changes: float) -> pd.DataFrame:
    """Make records of every run; `changes` are values at the last iteration by run (``algo_3``)."""
    rng = np.random.default_rng(seed)
    rows = []
    for variant in document.variants:
        for metric in variant.metrics:
            for run in metric.runs if metric.kind != "speed" else []:
                noise = 0 if variant.variant == "control" else rng.standard_normal(iterations)
                values = np.exp(-np.arange(iterations) / 2) * (1 + 0.01 * noise * (np.arange(iterations) > 2))
                values[-1] = changes.get(f"run_{run}", values[-1])
                rows += [
                    (variant.variant, run, metric.name, step, float(step), float(value))
                    for step, value in enumerate(values)
                ]
    return pd.DataFrame(rows, columns=["variant", "run", "metric", "iteration", "elapsed_s", "value"])


def layers_of(spec: dict) -> list[dict]:
    """Return the single views of a chart, however they are nested."""
    return [view for layer in spec["layer"] for view in (layers_of(layer) if "layer" in layer else [layer])]


def drawn(spec: dict) -> list[str]:
    """Return data set and mark of each view that has something to draw."""
    return [
        f"{view['data']['name']} {view['mark']['type']}"
        for view in layers_of(spec)
        if spec["datasets"][view["data"]["name"]]
    ]
