"""Which metric a reader asks for first, and in which order the others follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from deviate.experiment import Direction, Kind

#: What a reader wants to know first: how good the model is, on data it was not trained on.
_KINDS = {"quality": 0, "loss": 1, "resource": 3, "speed": 4}
_UNFORESEEN = 2
_SPLITS = (r"(?<![a-z])test", r"(?<![a-z])(val|eval|dev|held)", r"", r"(?<![a-z])tr(ai)?n")


_EVALUATION = re.compile(r"eval\w*(-\d+)?: ", re.IGNORECASE)


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
    """Rank a kind of metric: quality, loss, what was not foreseen, resource, time.

    Examples
    --------
    >>> group("quality", "higher"), group("loss", "lower"), group("quality", None), group("speed", "lower")
    (0, 1, 2, 4)
    """
    return _KINDS[kind] if direction else max(_KINDS[kind], _UNFORESEEN)


def split(name: str) -> int:
    """Rank the data that a metric is of: test, validation, not named, training.

    Examples
    --------
    >>> split("test acc"), split("val_loss"), split("f1"), split("train acc")
    (0, 1, 2, 3)

    What a script of evaluation is called says nothing of the data.

    >>> split("evaluate-2: f1"), split("evaluate: test f1")
    (2, 0)
    """
    name = name[match.end() :] if (match := _EVALUATION.match(name)) else name
    ranks = (rank for rank, pattern in enumerate(_SPLITS) if pattern and re.search(pattern, name, re.IGNORECASE))
    return next(ranks, _SPLITS.index(""))


def rank(metric: Named) -> tuple[int, int]:
    """Rank a metric among others: quality before loss, test before validation before training."""
    return group(metric.kind, metric.direction), split(metric.name)


def main_metric(metrics: Iterable[Metric]) -> Metric:
    """Choose the metric a reader asks for first, see `rank`."""
    return min(metrics, key=rank)


def main_first(metrics: Sequence[Metric]) -> list[Metric]:
    """Return all metrics, those that a reader asks for first before the others."""
    return sorted(metrics, key=rank)
