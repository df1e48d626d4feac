"""When runs reached their best value, or a bar: samples like those of any metric, in iterations and in seconds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from deviate.collect.measured import MeasuredMetric
from deviate.errors import BadOption
from deviate.experiment import Direction
from deviate.measure.reach import Reached, reached_best, reached_threshold
from deviate.results.options import Bar
from deviate.shell_words import typed_word

#: What the samples are called in the column of aggregates: there is one value per run, and nothing was chosen.
FIRST = "first"


def reach_names(bar: Bar) -> tuple[str, str]:
    """Return the names of the samples: iterations and seconds."""
    where = bar.text if bar.bar is not None else f"best {bar.metric}"
    return f"iterations to {where}", f"seconds to {where}"


def reach_metrics(bars: Iterable[Bar]) -> list[MeasuredMetric]:
    """Return the metrics that the samples are of."""
    pairs = (reach_names(bar) for bar in bars)
    return [
        MeasuredMetric(name=name, aggregate=FIRST, direction="lower", kind="speed", unit=unit)
        for pair in pairs
        for name, unit in zip(pair, ("", "s"), strict=True)
    ]


def reach_samples(records: pd.DataFrame, bars: Iterable[Bar], directions: dict[str, Direction | None]) -> pd.DataFrame:
    """Return the samples; a run that never got there has NaN, and the report says which these are.

    Iterations are counted as they were recorded: the first one is 0, and a value reported in it is reached "at 0".

    Raises
    ------
    BadOption
        If for a metric without a bar no direction is known.
    """
    rows = []
    for bar in bars:
        direction = _direction(bar, directions.get(bar.metric))
        chosen = records[records["metric"] == bar.metric]
        for (variant, run), part in chosen.groupby(["variant", "run"], sort=False):
            reached = _reached(part, bar, direction)
            for name, value in zip(reach_names(bar), (reached.iteration, reached.seconds), strict=True):
                if name.startswith("seconds") and part["elapsed_s"].isna().all():
                    continue
                rows.append((variant, run, name, FIRST, np.nan if value is None else float(value)))
    return pd.DataFrame(rows, columns=["variant", "run", "metric", "aggregate", "value"])


def _direction(bar: Bar, known: Direction | None) -> Direction:
    if bar.sign is not None:
        return "higher" if bar.sign.startswith(">") else "lower"
    if known is None:
        raise BadOption(
            f"no direction is known for {bar.metric!r}, so no value is its best",
            hint=f"type a bar: --reach {typed_word(f'{bar.metric}>=0.9')}",
        )
    return known


def _reached(part: pd.DataFrame, bar: Bar, direction: Direction) -> Reached:
    iterations, values, elapsed = part["iteration"], part["value"], part["elapsed_s"]
    if bar.bar is None:
        return reached_best(iterations, values, direction, elapsed)
    return reached_threshold(iterations, values, bar.bar, direction, elapsed)
