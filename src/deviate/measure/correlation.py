"""Whether runs are right on the same examples."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.intervals import DEFAULT_LEVEL
from deviate.measure.jackknife import METHOD_CORRECTED, Estimate, corrected_estimate, unknown
from deviate.measure.predictions import correctness
from deviate.measure.sample import Floats

#: Why there is no interval where the errors of runs never coincide, or the right answers do not.
NEVER_TOGETHER = "no example is {0} in two runs, so nothing shows how often runs are {0} together"


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

    The interval is that of `deviate.measure.jackknife.corrected_interval`. There is none where no example is wrong in
    two runs, or none is right: by simulation most intervals would miss then, and 88 to 99 % cover where there is one.

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
    mean = corrected_estimate(matrix, level)
    apart = _never_together(right[spread > 0])
    if mean.interval.known and apart:
        mean = msgspec.structs.replace(mean, interval=unknown(apart, level, METHOD_CORRECTED))
    return CorrectnessCorrelation(mean=mean, matrix=matrix, undefined=undefined, reason=reason)


def _never_together(right: Floats) -> str:
    counts = right.sum(axis=0)
    if (counts <= len(right) - 2).any():
        return "" if (counts >= 2).any() else NEVER_TOGETHER.format("right")
    return NEVER_TOGETHER.format("wrong")
