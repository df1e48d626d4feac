"""Groups of examples as a table for other programs: one row per group and rate."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.groups import GroupStability
from deviate.inference.stability import Stability
from deviate.report.writers.csv_text import csv_text

_COLUMNS = (
    *("experiment", "variant", "column", "group", "examples", "rate", "mean", "sd", "ci_sd_low", "ci_sd_high"),
    *("range", "ratio", "floor", "p", "level"),
)


def groups_csv(facts: ExperimentFacts) -> str:
    """Return one row per variant, group and rate; what is unknown is empty."""
    return csv_text(group_table(facts))


def group_table(facts: ExperimentFacts) -> pd.DataFrame:
    """Return one row per variant, group and rate, all examples first; what is unknown is None or NaN."""
    rows = [
        {"experiment": facts.experiment, "variant": each.variant, **row, "level": facts.level}
        for each in facts.stabilities
        if each.groups is not None
        for row in _rows(each)
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _rows(facts: Stability) -> Iterator[dict[str, object]]:
    assert facts.groups is not None
    for group in (facts.groups.overall, *facts.groups.groups):
        yield from _rates(group)


def _rates(group: GroupStability) -> Iterator[dict[str, object]]:
    for name, rate in group.rates.items():
        yield {
            **{"column": group.column, "group": group.name, "examples": group.examples, "rate": name},
            **{"mean": rate.mean, "sd": rate.sd, "range": rate.range, "ratio": rate.ratio, "floor": rate.floor},
            **{"p": rate.p, "ci_sd_low": rate.interval.low, "ci_sd_high": rate.interval.high},
        }
