"""How far the predicted values of runs lie apart, for regression."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.stats.intervals import DEFAULT_LEVEL
from deviate.stats.pairs import Estimate, pair_estimate
from deviate.stats.predictions import checked_values


class ValueDifferences(msgspec.Struct, frozen=True, kw_only=True):
    """Differences between runs of the values predicted for the same examples."""

    #: Mean over pairs of the mean absolute difference, in the unit of the values.
    absolute: Estimate
    #: Mean over pairs of the share of examples that differ by more than the tolerance, in [0, 1]; None without one.
    beyond: Estimate | None
    #: Mean absolute difference of each pair, shape ``(n_runs, n_runs)``, symmetric with a diagonal of 0.
    matrix: Any


def value_differences(
    values: ArrayLike, tolerance: float | None = None, level: float = DEFAULT_LEVEL
) -> ValueDifferences:
    """Measure how far predicted values lie apart, over all pairs of runs; the churn of a regression.

    ``mean_i(abs(value_ri - value_si))``, averaged over the pairs r < s, with the interval of
    `deviate.stats.pairs.jackknife_interval`.

    Parameters
    ----------
    tolerance : float, optional
        0 or more, in the unit of the values: differences up to it do not count as churn.

    Examples
    --------
    >>> measured = value_differences([[1.0, 2.0], [1.5, 2.0]], tolerance=0.1)
    >>> measured.absolute.value, measured.beyond.value
    (0.25, 0.5)
    """
    rows = checked_values(values)
    if tolerance is not None and not tolerance >= 0:
        raise ValueError(f"a tolerance is 0 or more; got {tolerance}")
    absolute, beyond = np.zeros((2, len(rows), len(rows)))
    for r in range(len(rows)):
        for s in range(r):
            apart = np.abs(rows[r] - rows[s])
            absolute[r, s] = absolute[s, r] = apart.mean()
            if tolerance is not None:
                beyond[r, s] = beyond[s, r] = np.count_nonzero(apart > tolerance) / apart.size
    return ValueDifferences(
        absolute=pair_estimate(absolute, level, (0.0, math.inf)),
        beyond=None if tolerance is None else pair_estimate(beyond, level),
        matrix=absolute,
    )
