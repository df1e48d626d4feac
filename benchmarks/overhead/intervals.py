"""The median of paired figures, with an interval that needs no distribution."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from scipy.stats import binom


def summary(values: Sequence[float]) -> dict[str, float]:
    """Return median, its 95 % interval from order statistics, and range."""
    ordered = sorted(values)
    outside = max(int(binom.ppf(0.025, len(ordered), 0.5)) - 1, 0)
    interval = {"low": ordered[outside], "high": ordered[-1 - outside]}
    return {"median": statistics.median(ordered), **interval, "min": ordered[0], "max": ordered[-1]}
