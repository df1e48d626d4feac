"""Churn between two sets of runs, beside the churn within each of them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.churn import differing
from deviate.measure.intervals import DEFAULT_LEVEL
from deviate.measure.jackknife import (
    METHOD_FEWER,
    Estimate,
    corrected_estimate,
    corrected_interval,
    pair_mean,
    share_interval,
    shares_estimate,
    unknown,
    varies_by_chance,
    without_value,
)
from deviate.measure.predictions import checked_labels, coded
from deviate.measure.sample import Floats
from deviate.measure.second_order import between_groups, combined, within_group

NEEDS_TWO_OF_BOTH = "an interval needs two runs or more in A and in B"


class ChurnBetween(msgspec.Struct, frozen=True, kw_only=True):
    """How many labels change from runs of A to runs of B; each number a mean over pairs of runs."""

    runs_a: int
    runs_b: int
    examples: int
    #: A run of A and one of B, a share in [0, 1].
    between: Estimate
    #: Two runs of A, two runs of B, shares in [0, 1].
    within_a: Estimate
    within_b: Estimate
    #: ``between - within_a``: what B changes beyond what training A again changes; below 0 where B repeats itself more.
    over_a: Estimate
    #: ``between - (within_a + within_b) / 2``: 0 where A and B are one recipe, above 0 in expectation otherwise.
    excess: Estimate
    #: Share for each pair, shape ``(runs_a, runs_b)``.
    matrix: Any
    #: Mean share of the runs of one pair; None where runs are not paired.
    paired: float | None = None


def churn_between(
    labels_a: ArrayLike, labels_b: ArrayLike, level: float = DEFAULT_LEVEL, *, paired: bool = False
) -> ChurnBetween:
    """Measure the churn between two sets of runs on the same examples.

    Intervals are by jackknife over the runs of both: of the shares that of `deviate.measure.jackknife.share_interval`,
    of the two differences that of `corrected_interval`, for which a set whose churn within is subtracted needs three
    runs. The interval of `excess` is too wide where A and B are alike: it covers 99 % then, at a level of 95 %.

    Parameters
    ----------
    labels_a, labels_b : array_like, shape (runs, examples)
    level : float
        Confidence level of the intervals, in (0, 1).
    paired : bool, optional
        Run k of A and run k of B used the same random numbers. They are as alike as one training and itself, so that
        `between` is of runs of different pairs alone, and the jackknife leaves out pairs.

    Notes
    -----
    Let ``p_ik`` and ``q_ik`` be the probabilities that a run of A and of B gives example i the label k. In expectation
    `excess` is ``mean_i sum_k (p_ik - q_ik)**2 / 2``: half the energy distance of the labels, for the distance that is
    1 between different labels [1]_.

    References
    ----------
    .. [1] G. J. Székely and M. L. Rizzo, "Energy statistics: a class of statistics based on distances", Journal of
       Statistical Planning and Inference 143(8), 2013.

    Examples
    --------
    >>> measured = churn_between([[0, 0, 0, 0], [0, 0, 0, 1]], [[1, 0, 0, 0], [1, 0, 0, 1]])
    >>> measured.between.value, measured.within_a.value, measured.excess.value
    (0.375, 0.25, 0.125)
    """
    a, b = checked_labels(labels_a), checked_labels(labels_b)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"A and B are compared on the same examples; A has {a.shape[1]}, B has {b.shape[1]}")
    if paired and len(a) != len(b):
        raise ValueError(f"pairs need as many runs of A as of B; got {len(a)} and {len(b)}")
    codes = coded(np.concatenate([a, b])).labels
    a, b = codes[: len(a)], codes[len(a) :]
    examples = codes.shape[1]
    within_a, within_b = differing(a), differing(b)
    cross, inside_a, inside_b = (counts / examples for counts in (differing(a, b), within_a, within_b))
    if paired:
        # Both runs of a pair are left out together, so the two shares across two pairs are one number.
        across = (cross + cross.T) / 2
        np.fill_diagonal(across, 0.0)
        between = shares_estimate(across * examples, examples, level)
        over_a, excess = (corrected_estimate(across - mean, level) for mean in (inside_a, (inside_a + inside_b) / 2))
    else:
        between = _between(cross, examples, level)
        over_a = _less(cross, [(inside_a, 1.0), (inside_b, 0.0)], level)
        excess = _less(cross, [(inside_a, 0.5), (inside_b, 0.5)], level)
    return ChurnBetween(
        runs_a=len(a),
        runs_b=len(b),
        examples=examples,
        between=between,
        within_a=shares_estimate(within_a, examples, level),
        within_b=shares_estimate(within_b, examples, level),
        over_a=over_a,
        excess=excess,
        matrix=cross,
        paired=float(cross.diagonal().mean()) if paired else None,
    )


def _left_out(cross: Floats) -> tuple[Floats, Floats]:
    """Give the mean without each run of A, and without each run of B."""
    runs_a, runs_b = cross.shape
    total = cross.sum()
    return (total - cross.sum(axis=1)) / (cross.size - runs_b), (total - cross.sum(axis=0)) / (cross.size - runs_a)


def _between(cross: Floats, examples: int, level: float) -> Estimate:
    """Give the mean of `cross`."""
    value = float(cross.mean())
    if 1 in cross.shape:
        return Estimate(value=value, interval=unknown(NEEDS_TWO_OF_BOTH, level))
    interval = share_interval(
        value,
        *_left_out(cross),
        by_chance=varies_by_chance(cross, examples),
        as_wholes=METHOD_FEWER,
        level=level,
    )
    return Estimate(value=value, interval=interval)


def _less(cross: Floats, within: list[tuple[Floats, float]], level: float) -> Estimate:
    """Give the mean of `cross` less shares of the mean over pairs within A and within B."""
    parts = [(weight, *pair_mean(inside)) for inside, weight in within]
    if any(weight and mean is None for weight, mean, _ in parts):
        return without_value("the churn within a set needs two runs of it", level)
    value = float(cross.mean()) - sum(weight * (mean or 0.0) for weight, mean, _ in parts)
    if 1 in cross.shape:
        return Estimate(value=value, interval=unknown(NEEDS_TWO_OF_BOTH, level))
    left_out = [
        left - weight * without if weight else left
        for left, (weight, _, without) in zip(_left_out(cross), parts, strict=True)
    ]
    within_sets = ((weight, within_group(inside)) for inside, weight in within)
    second = combined(between_groups(cross), *within_sets)
    return Estimate(value=value, interval=corrected_interval(value, *left_out, second=second, level=level))
