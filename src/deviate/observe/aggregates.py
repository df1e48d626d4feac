"""How the records of a run become one number."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from deviate.core.errors import BadOption
from deviate.core.experiment import Direction

#: Aggregates without a parameter; ``at ITERATION`` takes the last value reported in that iteration. ``area`` is the
#: area under the learning curve by the trapezium rule, divided by its length in iterations: a mean height, in the unit
#: of the metric, that rewards learning early and that runs of unequal length can be compared by.
SIMPLE = ("last", "best", "mean", "max", "min", "area")

_AT = re.compile(r"at \d+")


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


def pick(table: pd.DataFrame, aggregate: str, direction: Direction | None) -> pd.DataFrame:
    """Return one value per run.

    Parameters
    ----------
    table : DataFrame
        One row per run with ``variant``, ``run`` and the columns ``last``, ``mean``, ``max`` and ``min``; the latter
        two pass over NaN.
    aggregate : {'last', 'best', 'mean', 'max', 'min'}
        ``best`` is the maximum or minimum by `direction`, and NaN where no direction is known: then no value is better
        than another.
    direction : {'higher', 'lower'}, optional
        Which values are better.

    Returns
    -------
    DataFrame
        Columns ``variant``, ``run`` and ``value``.
    """
    column = _best(direction) if aggregate == "best" else check_aggregate(aggregate)
    values = np.nan if column is None else table[column].astype(float)
    return table[["variant", "run"]].assign(value=values)


def _best(direction: Direction | None) -> str | None:
    return None if direction is None else {"higher": "max", "lower": "min"}[direction]
