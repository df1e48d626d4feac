"""How the records of a run become one number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from deviate.core.errors import BadOption
from deviate.core.experiment import Direction

#: Aggregates without a parameter; ``at ITERATION`` takes the last value reported in that iteration. ``area`` is the
#: area under the learning curve by the trapezium rule, divided by its length in iterations: a mean height, in the unit
#: of the metric, that rewards learning early and that runs of unequal length can be compared by.
SIMPLE = ("last", "best", "mean", "max", "min", "area")

_AT = re.compile(r"at \d+")


class Aggregated(NamedTuple):
    """The records of a metric in a run, or in a pass of its evaluation; `max` and `min` pass over NaN."""

    variant: str
    run: int
    metric: str
    source: int
    last: float
    mean: float
    max: float | None
    min: float | None
    reports: int


class SampleRow(NamedTuple):
    """The number of a metric in one run."""

    variant: str
    run: int
    metric: str
    aggregate: str
    value: float


def check_aggregate(text: str) -> str:
    """Return `text` if it is an aggregate.

    Raises
    ------
    BadOption
        If it is not.
    """
    if text in SIMPLE or _AT.fullmatch(text):
        return text
    raise BadOption(
        f"{text!r} is no aggregate; expected {', '.join(SIMPLE)} or 'at ITERATION'",
        hint="type for example: best, or: at 9",
    )


def pick(rows: Iterable[Aggregated], aggregate: str, direction: Direction | None) -> Iterator[SampleRow]:
    """Yield one number per run, by ``last``, ``best``, ``mean``, ``max`` or ``min``.

    ``best`` is the maximum or minimum by the direction, and NaN where none is known: then no value is better than
    another.
    """
    best = None if direction is None else {"higher": "max", "lower": "min"}[direction]
    column = best if aggregate == "best" else check_aggregate(aggregate)
    for row in rows:
        value = None if column is None else getattr(row, column)
        yield SampleRow(row.variant, row.run, row.metric, aggregate, math.nan if value is None else value)
