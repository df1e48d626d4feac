"""Which metric a reader asks for first, and in which order the others follow."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from deviate.experiment import Direction, Kind
from deviate.report.parts import MetricReport

#: What a reader wants to know first: how good the model is, on data it was not trained on.
_KINDS = {"quality": 0, "loss": 1, "resource": 3, "speed": 4}
_UNFORESEEN = 2
_SPLITS = (r"(?<![a-z])test", r"(?<![a-z])(val|eval|dev|held)", r"", r"(?<![a-z])tr(ai)?n")

#: The order of `ordered`, for people.
ORDER = (
    "Order: the metric that says most about the model, further measures of quality, losses, other values, resources "
    "and times; within each by CV, largest first."
)


class Named(Protocol):
    """A metric, whether it was measured already or not."""

    @property
    def name(self) -> str:
        """As the program or the user calls it."""

    @property
    def kind(self) -> Kind:
        """What it is a measure of."""

    @property
    def direction(self) -> Direction | None:
        """Which values are better; None: not known."""


Metric = TypeVar("Metric", bound=Named)


def group(kind: Kind, direction: Direction | None) -> int:
    """Give the place of a kind of metric: quality, loss, what nobody foresaw, resource, time.

    Examples
    --------
    >>> group("quality", "higher"), group("loss", "lower"), group("quality", None), group("speed", "lower")
    (0, 1, 2, 4)
    """
    return _KINDS[kind] if direction else max(_KINDS[kind], _UNFORESEEN)


def split(name: str) -> int:
    """Give the place of the data that a metric is of: test, validation, not said, training.

    Examples
    --------
    >>> split("test acc"), split("val_loss"), split("f1"), split("train acc")
    (0, 1, 2, 3)
    """
    found = (place for place, pattern in enumerate(_SPLITS) if pattern and re.search(pattern, name, re.IGNORECASE))
    return next(found, _SPLITS.index(""))


def place(metric: Named) -> tuple[int, int]:
    """Give the place of a metric among others: quality before loss, test before validation before training."""
    return group(metric.kind, metric.direction), split(metric.name)


def first_asked(metrics: Iterable[Metric]) -> Metric:
    """Choose the metric a reader asks for first, see `place`."""
    return min(metrics, key=place)


def main_first(metrics: Sequence[Metric]) -> list[Metric]:
    """Return all metrics, those that a reader asks for first before the others."""
    return sorted(metrics, key=place)


def by_cv(metrics: Iterable[MetricReport]) -> list[MetricReport]:
    """Return metrics by CV, largest first; those without CV after, as they were."""
    return sorted(metrics, key=lambda metric: _cv(metric), reverse=True)


def ordered(measured: Mapping[str, Sequence[MetricReport]]) -> dict[str, list[MetricReport]]:
    """Put the metrics of all variants in one order, see `ORDER`.

    Parameters
    ----------
    measured : mapping from variant to MetricReports
        In the order of the experiment, which is kept where nothing else tells.

    Returns
    -------
    dict of str to list of MetricReport
        Of the CVs of a metric in several variants the largest counts, so that its place is the same in all of them.
    """
    every = [metric for metrics in measured.values() for metric in metrics]
    reported = [metric for metric in every if metric.n and metric.kind != "speed"]
    main = first_asked(by_cv(reported)) if reported else None
    largest: dict[tuple[str, str], float] = {}
    for metric in every:
        largest[_key(metric)] = max(largest.get(_key(metric), -math.inf), _cv(metric))
    places = {key: place for place, key in enumerate(largest)}

    def rank(metric: MetricReport) -> tuple[bool, int, float, int]:
        key = _key(metric)
        other = main is None or key != _key(main)
        return other, group(metric.kind, metric.direction), -largest[key], places[key]

    return {variant: sorted(metrics, key=rank) for variant, metrics in measured.items()}


def _key(metric: MetricReport) -> tuple[str, str]:
    return metric.name, metric.aggregate


def _cv(metric: MetricReport) -> float:
    return -math.inf if metric.spread.cv is None else metric.spread.cv
