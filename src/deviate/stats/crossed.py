"""A difference of mean scores that is of runs and of test examples: one interval that holds both."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from deviate.stats.intervals import DEFAULT_LEVEL, Interval
from deviate.stats.results import Effect, Tested, outcome
from deviate.stats.spread import Floats

METHOD = "crossed t"


class Crossed(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of the mean scores of two recipes on examples that both were evaluated on."""

    runs_a: int
    runs_b: int
    examples: int
    #: Whether runs of one index were paired.
    paired: bool
    #: Mean of A less that of B; its interval is for other runs on other examples.
    difference: Effect
    #: Standard error with runs and examples, from runs alone with these examples held, and from examples alone.
    se: float | None = None
    se_runs: float | None = None
    se_examples: float | None = None
    df: float | None = None
    #: Of the examples, which are drawn as wholes; None where each is drawn by itself.
    clusters: int | None = None


def crossed_difference(
    a: ArrayLike,
    b: ArrayLike,
    level: float = DEFAULT_LEVEL,
    pairs: Sequence[tuple[int, int]] = (),
    clusters: ArrayLike | None = None,
) -> Crossed:
    """Give the difference of two mean scores with an interval for other runs on other examples.

    Runs are crossed with examples [1]_, and both sides have the same examples. With m the mean squares of an analysis
    of variance of runs by examples, the variance of the difference is ``V_runs + V_examples - V_rest``: the variance of
    the means of runs over their number, for each side; that of the examples' differences over their number; and what
    both hold, ``m_rest / (runs * examples)`` for each side, once. It is taken to be no less than each of the first two.
    The interval is Student's t with the degrees of freedom of Satterthwaite [2]_. The product bootstrap [1]_ estimates
    the sum without ``- V_rest``, and more.

    Parameters
    ----------
    a, b : array_like, shape (n_runs, n_examples)
        The score of each run on each example: 1 where it is right and else 0, or any other.
    level : float
        Confidence level, in (0, 1).
    pairs : sequence of (int, int), optional
        Runs of A and of B that belong together; others are left out. Two or more, else runs are not paired.
    clusters : array_like of int, shape (n_examples,), optional
        Examples of one cluster, such as a patient, are drawn together: each cluster counts as one, with its weight.

    References
    ----------
    .. [1] A. B. Owen and D. Eckles, "Bootstrapping data arrays of arbitrary order", Annals of Applied Statistics 6(3),
       2012.
    .. [2] F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics
       Bulletin 2(6), 1946.

    Examples
    --------
    >>> found = crossed_difference([[1, 1, 0, 1], [1, 1, 1, 1]], [[1, 0, 0, 1], [0, 1, 0, 1]])
    >>> found.difference.value, round(found.se_runs, 3), round(found.se_examples, 3), round(found.se, 3)
    (0.375, 0.125, 0.125, 0.125)
    """
    first, second = np.asarray(a, float), np.asarray(b, float)
    paired = len(pairs) > 1
    if paired:
        first, second = (side[list(at)] for side, at in zip((first, second), zip(*pairs, strict=True), strict=True))
    sides = [first - second] if paired else [first, second]
    examples = first.shape[1]
    value = float(first.mean() - second.mean())
    known = Crossed(
        runs_a=len(first),
        runs_b=len(second),
        examples=examples,
        paired=paired,
        difference=Effect(value=value, interval=Interval(level=level, method=METHOD)),
        clusters=None if clusters is None else int(np.unique(clusters).size),
    )
    if clusters is not None:
        sides = [_by_cluster(side, clusters) for side in sides]
        first, second = (_by_cluster(side, clusters) for side in (first, second))
        examples = first.shape[1]
    if min(len(first), len(second), examples) < 2:
        return _without_interval(known, "an interval for other runs needs two runs or more of each")
    of_examples = float((first.mean(axis=0) - second.mean(axis=0)).var(ddof=1)) / examples
    of_runs = [float(side.mean(axis=1).var(ddof=1)) / len(side) for side in sides]
    rest = [_rest(side) for side in sides]
    variance = max(sum(of_runs) + of_examples - sum(rest), sum(of_runs), of_examples)
    if variance <= 0:
        return _without_interval(known, "the difference is the same in all runs and on all examples")
    squares = [
        (of_examples**2, examples - 1),
        *((part**2, len(side) - 1) for part, side in zip(of_runs, sides, strict=True)),
        *((part**2, (len(side) - 1) * (examples - 1)) for part, side in zip(rest, sides, strict=True)),
    ]
    df = variance**2 / sum(square / degrees for square, degrees in squares)
    half = float(special.stdtrit(df, (1 + level) / 2)) * math.sqrt(variance)
    interval = Interval(low=value - half, high=value + half, level=level, method=METHOD)
    return msgspec.structs.replace(
        known,
        difference=Effect(value=value, interval=interval),
        se=math.sqrt(variance),
        se_runs=math.sqrt(sum(of_runs)),
        se_examples=math.sqrt(of_examples),
        df=df,
    )


def _by_cluster(scores: Floats, clusters: ArrayLike) -> Floats:
    """Return the scores of clusters, whose mean is that of the examples, however unequal clusters are."""
    found, places = np.unique(clusters, return_inverse=True)
    mean = scores.mean()
    totals = np.stack([np.bincount(places, weights=run - mean) for run in scores])
    by_cluster: Floats = mean + totals * found.size / scores.shape[1]
    return by_cluster


def _without_interval(known: Crossed, reason: str) -> Crossed:
    interval = msgspec.structs.replace(known.difference.interval, reason=reason)
    return msgspec.structs.replace(known, difference=Effect(value=known.difference.value, interval=interval))


def _rest(scores: Floats) -> float:
    """Return the mean square of the interaction of runs and examples, over the number of scores."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    runs, examples = scores.shape
    return float((centred**2).sum()) / float((runs - 1) * (examples - 1) * scores.size)


def mcnemar(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test whether two trained models are right on the same share of examples, by McNemar's exact test [1]_.

    It is of these two models. It says nothing of other runs of their recipes.

    Parameters
    ----------
    a, b : array_like of bool, shape (n_examples,)
        Where each is right.

    References
    ----------
    .. [1] Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
       Psychometrika 12(2), 1947.

    Examples
    --------
    >>> mcnemar([1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 0, 1]).p
    0.125
    """
    only_a, only_b = (int((np.asarray(x, bool) & ~np.asarray(y, bool)).sum()) for x, y in ((a, b), (b, a)))
    if not only_a + only_b:
        return Tested(reason="the two are right on the same examples")
    p = scipy.stats.binomtest(only_a, only_a + only_b).pvalue
    return outcome(only_a / (only_a + only_b), p, f"exact, {only_a} against {only_b} examples")
