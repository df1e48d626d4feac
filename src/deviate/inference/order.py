"""The order in which the metrics of an experiment are listed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from deviate.inference.metric import MetricSpread
from deviate.results.order import group, main_metric


def by_cv(metrics: Iterable[MetricSpread]) -> list[MetricSpread]:
    """Return metrics by CV, largest first; those without CV after, as they were."""
    return sorted(metrics, key=lambda metric: _cv(metric), reverse=True)


def ordered(measured: Mapping[str, Sequence[MetricSpread]]) -> dict[str, list[MetricSpread]]:
    """Put the metrics of all variants in one order, see `ORDER`; where nothing else tells it is that of the experiment.

    Of the CVs of a metric in several variants the largest counts, so that its position is the same in all of them.
    """
    every = [metric for metrics in measured.values() for metric in metrics]
    reported = [metric for metric in every if metric.n and metric.kind != "speed"]
    main = main_metric(reported) if reported else None
    largest: dict[tuple[str, str], float] = {}
    for metric in every:
        largest[_key(metric)] = max(largest.get(_key(metric), -math.inf), _cv(metric))
    positions = {key: position for position, key in enumerate(largest)}

    def rank(metric: MetricSpread) -> tuple[bool, int, float, int]:
        key = _key(metric)
        other = main is None or key != _key(main)
        return other, group(metric.kind, metric.direction), -largest[key], positions[key]

    return {variant: sorted(metrics, key=rank) for variant, metrics in measured.items()}


def _key(metric: MetricSpread) -> tuple[str, str]:
    return metric.name, metric.aggregate


def _cv(metric: MetricSpread) -> float:
    return -math.inf if metric.spread.cv is None else metric.spread.cv
