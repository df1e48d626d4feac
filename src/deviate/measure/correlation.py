"""Whether runs are right on the same examples."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.intervals import DEFAULT_LEVEL
from deviate.measure.jackknife import SIGNED, Estimate, pair_estimate
from deviate.measure.predictions import correctness


class CorrectnessCorrelation(msgspec.Struct, frozen=True, kw_only=True):
    """Correlation of correctness over examples, for pairs of runs."""

    #: Mean over the pairs that have a correlation, in [-1, 1].
    mean: Estimate
    #: Correlation of each pair, shape ``(n_runs, n_runs)``, symmetric, NaN where there is none.
    matrix: Any
    #: Pairs without a correlation, left out of the mean.
    undefined: int
    #: Why they have none; empty where all have one.
    reason: str = ""


def correctness_correlation(
    labels: ArrayLike, targets: ArrayLike, level: float = DEFAULT_LEVEL
) -> CorrectnessCorrelation:
    """Measure the pairwise correlation of correctness: Pearson's coefficient of the 0 and 1 of two runs, which is phi.

    ``(n * n_11 - n_r * n_s) / sqrt(n_r (n - n_r) * n_s (n - n_s))`` where n_11 examples are right in both runs, n_r in
    run r, and n_s in run s. A run that is right, or wrong, on all examples has no correlation with any other.

    Examples
    --------
    >>> measured = correctness_correlation([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]], [0, 0, 0, 0])
    >>> round(float(measured.matrix[0, 1]), 4), measured.undefined
    (0.5774, 2)
    """
    right = correctness(labels, targets).astype(np.float64)
    examples = right.shape[1]
    hits = right.sum(axis=1)
    spread = np.sqrt(hits * (examples - hits))
    scale = spread[:, None] * spread
    matrix = np.full(scale.shape, np.nan)
    np.divide(examples * (right @ right.T) - hits[:, None] * hits, scale, out=matrix, where=scale > 0)
    undefined = int(np.isnan(matrix[np.triu_indices(len(matrix), 1)]).sum())
    reason = f"{undefined} pairs have a run that is right, or wrong, on all examples" if undefined else ""
    return CorrectnessCorrelation(
        mean=pair_estimate(matrix, level, SIGNED), matrix=matrix, undefined=undefined, reason=reason
    )
