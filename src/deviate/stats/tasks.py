"""Two recipes over several tasks: interquartile means and the probability of improvement, as rliable has them.

References
----------
.. [1] R. Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike

from deviate.stats.intervals import DEFAULT_LEVEL, RESAMPLES, VALUES_AT_ONCE, Interval
from deviate.stats.results import Effect
from deviate.stats.spread import Floats, finite_sample

#: Share of the values that the interquartile mean leaves out at each end.
CUT = 0.25

STRATIFIED = "percentile bootstrap, stratified by task"


class OverTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides over the same tasks."""

    iqm_a: Effect
    iqm_b: Effect
    #: That of B less that of A.
    difference: Effect
    #: That a run of B has the higher value than one of A, ties counted half; mean over the tasks, in [0, 1].
    improvement: Effect


def over_tasks(
    a: Sequence[ArrayLike],
    b: Sequence[ArrayLike],
    rng: np.random.Generator,
    level: float = DEFAULT_LEVEL,
    resamples: int = RESAMPLES,
) -> OverTasks:
    """Compare two sides over tasks whose values are on one scale; `a` and `b` hold the runs of each task.

    The interquartile mean is that of all runs of all tasks without the lowest and the highest quarter. Resamples draw
    runs within each task, so that intervals are about other runs on the same tasks. They cover less often than they
    promise where a task has few runs.

    Examples
    --------
    >>> a, b = [[0.1, 0.2, 0.3], [0.5, 0.6, 0.9]], [[0.2, 0.4, 0.6], [0.8, 1.0, 1.1]]
    >>> both = over_tasks(a, b, np.random.default_rng(0))
    >>> round(both.iqm_a.value, 3), round(both.iqm_b.value, 3), round(both.improvement.value, 3)
    (0.4, 0.7, 0.861)
    """
    first, second = ([finite_sample(runs) for runs in side] for side in (a, b))
    iqms = [interquartile_mean(np.concatenate(side)) for side in (first, second)]
    drawn = [_resampled_iqms(side, rng, resamples) for side in (first, second)]
    wins = [np.heaviside(np.subtract.outer(y, x), 0.5) for x, y in zip(first, second, strict=True)]
    improved = np.mean([_resampled_means(table, rng, resamples) for table in wins], axis=0)
    return OverTasks(
        iqm_a=_effect(iqms[0], drawn[0], level),
        iqm_b=_effect(iqms[1], drawn[1], level),
        difference=_effect(iqms[1] - iqms[0], drawn[1] - drawn[0], level),
        improvement=_effect(float(np.mean([table.mean() for table in wins])), improved, level),
    )


def interquartile_mean(values: Floats) -> float:
    """Return the mean without the lowest and the highest quarter."""
    return float(scipy.stats.trim_mean(values, CUT))


def _resampled_iqms(tasks: Sequence[Floats], rng: np.random.Generator, resamples: int) -> Floats:
    at_once = max(1, VALUES_AT_ONCE // sum(runs.size for runs in tasks))
    parts = []
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        drawn = [runs[rng.integers(0, runs.size, (size, runs.size))] for runs in tasks]
        parts.append(scipy.stats.trim_mean(np.concatenate(drawn, axis=1), CUT, axis=1))
    return np.concatenate(parts)


def _resampled_means(wins: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Return the mean of the table for other runs of both sides, by how often each run is drawn."""
    of_b, of_a = (rng.multinomial(n, np.full(n, 1 / n), resamples) for n in wins.shape)
    means: Floats = ((of_b @ wins) * of_a).sum(axis=1) / wins.size
    return means


def _effect(value: float, drawn: Floats, level: float) -> Effect:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Effect(value=value, interval=Interval(low=float(low), high=float(high), level=level, method=STRATIFIED))
