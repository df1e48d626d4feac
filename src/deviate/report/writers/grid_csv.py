"""A grid as a table for other programs: one row per metric and cell; what is unknown is empty."""

from __future__ import annotations

import pandas as pd

from deviate.inference.grid.facts import Grid
from deviate.report.writers.csv_text import csv_text


def grid_csv(grid: Grid) -> str:
    """Return the settings of each cell, and what its runs gave in each metric."""
    rows = [
        {
            "experiment": cell.experiment,
            **{f"setting.{key}": value for key, value in cell.settings.items()},
            "metric": metric.name,
            "aggregate": metric.aggregate,
            "unit": metric.unit,
            "claimed": metric.claimed,
            "n": cell.n,
            "mean": cell.mean,
            "sd": cell.sd,
            "mean_low": cell.ci_mean.low,
            "mean_high": cell.ci_mean.high,
            "rank": cell.rank,
            "lowest": cell.lowest,
            "highest": cell.highest,
            "may_be_best": cell.may_be_best,
        }
        for metric in grid.metrics
        for cell in metric.cells
    ]
    return csv_text(pd.DataFrame(rows))
