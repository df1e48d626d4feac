"""Recipes over several tasks: interquartile means and more, as rliable has them; ranks, as Demšar compares them.

References
----------
.. [1] R. Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


#: Thresholds of a performance profile.
THRESHOLDS = 10


class ProfilePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the runs of all tasks whose value is above a threshold, in [0, 1]."""

    threshold: float
    a: Effect
    b: Effect


class OverTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides over the same tasks."""

    iqm_a: Effect
    iqm_b: Effect
    #: That of B less that of A.
    difference: Effect
    #: That a run of B has the higher value than one of A, ties counted half; mean over the tasks, in [0, 1].
    improvement: Effect
    #: Mean shortfall of the runs from the value that is enough, 0 where they have it; None where there is none.
    gap_a: Effect | None = None
    gap_b: Effect | None = None
    #: From the lowest value on.
    profile: list[ProfilePoint] = []


def over_tasks(
    a: Sequence[ArrayLike],
    b: Sequence[ArrayLike],
    rng: np.random.Generator,
    level: float = DEFAULT_LEVEL,
    resamples: int = RESAMPLES,
    enough: float | None = None,
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
    both = np.concatenate([*first, *second])
    thresholds = np.linspace(both.min(), both.max(), THRESHOLDS + 1)[:-1]

    def numbers(values: Floats) -> Floats:
        """Return interquartile mean, gap and profile of runs, along the last axis."""
        gap = np.zeros(values.shape[:-1]) if enough is None else enough - np.minimum(values, enough).mean(axis=-1)
        above = [(values > threshold).mean(axis=-1) for threshold in thresholds]
        return np.stack([scipy.stats.trim_mean(values, CUT, axis=-1), gap, *above], axis=-1)

    measured = [numbers(np.concatenate(side)) for side in (first, second)]
    drawn = [_resampled(side, rng, resamples, numbers) for side in (first, second)]
    of_a, of_b = (
        [_effect(float(value), column, level) for value, column in zip(values, table.T, strict=True)]
        for values, table in zip(measured, drawn, strict=True)
    )
    wins = [np.heaviside(np.subtract.outer(y, x), 0.5) for x, y in zip(first, second, strict=True)]
    improved = np.mean([_resampled_means(table, rng, resamples) for table in wins], axis=0)
    return OverTasks(
        iqm_a=of_a[0],
        iqm_b=of_b[0],
        difference=_effect(float(measured[1][0] - measured[0][0]), drawn[1][:, 0] - drawn[0][:, 0], level),
        improvement=_effect(float(np.mean([table.mean() for table in wins])), improved, level),
        gap_a=None if enough is None else of_a[1],
        gap_b=None if enough is None else of_b[1],
        profile=[
            ProfilePoint(threshold=float(threshold), a=a, b=b)
            for threshold, a, b in zip(thresholds, of_a[2:], of_b[2:], strict=True)
        ],
    )


class SignedRank(msgspec.Struct, frozen=True, kw_only=True):
    """Posterior probabilities that, over tasks like these, one side ranks before the other, or neither does."""

    a: float
    alike: float
    b: float
    #: Up to this difference of the means two sides are alike on a task.
    margin: float


#: Draws of the weights of the tasks, which tell a probability to 0.2 points.
DRAWS = 50_000


def signed_rank(
    differences: ArrayLike, rng: np.random.Generator, margin: float = 0.0, *, draws: int = DRAWS
) -> SignedRank:
    """Give the probabilities of the Bayesian signed rank test of the means of B less those of A on each task [2]_.

    The prior is a Dirichlet process of strength 0.5 at a task without any difference, as in baycomp.

    References
    ----------
    .. [2] A. Benavoli, F. Mangili, G. Corani, M. Zaffalon and F. Ruggeri, "A Bayesian Wilcoxon signed-rank test based
       on the Dirichlet process", ICML 2014.

    Examples
    --------
    >>> found = signed_rank([0.2, 0.4, 0.1, -0.1, 0.3, 0.5], np.random.default_rng(0))
    >>> round(found.b, 1), found.alike, round(found.a + found.b, 9)
    (1.0, 0.0, 1.0)
    """
    each = np.concatenate([[0.0], np.asarray(differences, np.float64)])
    sums = np.add.outer(each, each)
    weights = rng.dirichlet([0.5, *np.ones(each.size - 1)], draws)
    above, below = (((weights @ np.heaviside(sign * sums - 2 * margin, 0.5)) * weights).sum(axis=1) for sign in (1, -1))
    first = np.argmax([below, 1 - below - above if margin else np.zeros(draws), above], axis=0)
    a, alike, b = (np.bincount(first, minlength=3) / draws).tolist()
    return SignedRank(a=a, alike=alike, b=b, margin=margin)


def _resampled(
    tasks: Sequence[Floats], rng: np.random.Generator, resamples: int, numbers: Callable[[Floats], Floats]
) -> Floats:
    """Return numbers of resamples that draw runs within each task, shape ``(resamples, n_numbers)``."""
    at_once = max(1, VALUES_AT_ONCE // sum(runs.size for runs in tasks))
    parts = []
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        drawn = [runs[rng.integers(0, runs.size, (size, runs.size))] for runs in tasks]
        parts.append(numbers(np.concatenate(drawn, axis=1)))
    return np.concatenate(parts)


def _resampled_means(wins: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Return the mean of the table for other runs of both sides, by how often each run is drawn."""
    of_b, of_a = (rng.multinomial(n, np.full(n, 1 / n), resamples) for n in wins.shape)
    means: Floats = ((of_b @ wins) * of_a).sum(axis=1) / wins.size
    return means


def _effect(value: float, drawn: Floats, level: float) -> Effect:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Effect(value=value, interval=Interval(low=float(low), high=float(high), level=level, method=STRATIFIED))


# Three recipes or more, by their ranks on each task.


class RankedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Sides by their ranks on each task, 1 the best, ties shared."""

    tasks: list[str] = []
    #: Mean rank of each side.
    ranks: list[float]
    #: Friedman's statistic and its p, that no side ranks before another.
    statistic: float
    p: float
    #: p of every two sides by Nemenyi's test, adjusted over all of them, symmetric with a diagonal of 1.
    pairs: list[list[float]]


def ranked_tasks(means: ArrayLike, *, lower: bool = False) -> RankedTasks | None:
    """Rank sides on each task by Friedman's test and Nemenyi's [1]_; None where all sides are alike on every task.

    The tests are about other tasks like these. Both are asymptotic: with ten tasks or fewer p is rough.

    Parameters
    ----------
    means : array_like of float, shape (n_tasks, n_sides)
        Mean of the runs of each side; two tasks and three sides at least.
    lower : bool, optional
        Lower values are better.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.

    Examples
    --------
    >>> found = ranked_tasks([[1, 2, 3], [2, 3, 4], [1, 3, 2], [0, 1, 5]])
    >>> found.ranks, round(found.p, 4), round(found.pairs[0][2], 4)
    ([3.0, 1.75, 1.25], 0.0388, 0.0356)
    """
    table = np.asarray(means, np.float64)
    ranks = scipy.stats.rankdata(table if lower else -table, axis=1)
    tasks, sides = table.shape
    if (ranks == ranks[:, :1]).all():
        return None
    tested = scipy.stats.friedmanchisquare(*ranks.T)
    mean = ranks.mean(axis=0)
    apart = np.abs(np.subtract.outer(mean, mean)) * np.sqrt(12 * tasks / (sides * (sides + 1)))
    return RankedTasks(
        ranks=mean.tolist(),
        statistic=float(tested.statistic),
        p=float(tested.pvalue),
        pairs=scipy.stats.studentized_range.sf(apart, sides, np.inf).tolist(),
    )
