"""Distances of weights as a table for other programs: one row per layer at the end, and one a kept moment."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.weights import WeightFacts
from deviate.measure.jackknife import Estimate
from deviate.report.writers.csv_text import csv_text

_COLUMNS = ("experiment", "variant", "iteration", "file", "layer", "elements", "distance", "ci_low", "ci_high", "level")


def weights_csv(facts: ExperimentFacts) -> str:
    """Return one row per variant and kept moment, then of the final weights one for all and one for each layer.

    The final weights have neither iteration nor file, all weights as one vector no layer; what is unknown is empty.
    """
    rows = [
        {"experiment": facts.experiment, "variant": each.variant, **row, "level": facts.level}
        for each in facts.weights
        for row in _rows(each)
    ]
    return csv_text(pd.DataFrame(rows, columns=list(_COLUMNS)).astype({"iteration": "Int64", "elements": "Int64"}))


def _rows(facts: WeightFacts) -> Iterator[dict[str, object]]:
    for each in facts.moments:
        yield {"iteration": each.iteration, "file": each.file, **_distance(each.distance)}
    if facts.distance is not None:
        yield {"elements": facts.elements, **_distance(facts.distance)}
    for layer in facts.layers:
        yield {"layer": layer.name, "elements": layer.elements, **_distance(layer.distance)}


def _distance(distance: Estimate) -> dict[str, object]:
    return {"distance": distance.value, "ci_low": distance.interval.low, "ci_high": distance.interval.high}
