"""Churn: the share of test examples that two runs label differently, within a set of runs and between two."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.stats.intervals import DEFAULT_LEVEL
from deviate.stats.pairs import (
    METHOD_FEWER,
    Estimate,
    bent_estimate,
    between_groups,
    combined,
    corrected_estimate,
    corrected_interval,
    pair_mean,
    share_estimate,
    share_interval,
    shares_estimate,
    skewed_estimate,
    unknown,
    varies_by_chance,
    within_group,
    without_value,
)
from deviate.stats.predictions import Booleans, Integers, checked_labels, checked_targets, coded, correctness
from deviate.stats.spread import Floats


class Churn(msgspec.Struct, frozen=True, kw_only=True):
    """How many labels change from run to run."""

    runs: int
    examples: int
    #: Mean over all pairs of runs, a share in [0, 1].
    mean: Estimate
    #: Share for each pair of runs, shape ``(n_runs, n_runs)``, symmetric with a diagonal of 0.
    matrix: Any


def churn(labels: ArrayLike, level: float = DEFAULT_LEVEL) -> Churn:
    """Measure the pairwise churn of runs [1]_ with an interval for runs like them on these examples.

    ``c_rs = mean_i(label_ri != label_si)``, averaged over the pairs r < s. The interval answers what other runs of the
    same training would give on the same test examples: see `deviate.stats.pairs.share_interval`.

    References
    ----------
    .. [1] M. Milani Fard, Q. Cormier, K. Canini and M. Gupta, "Launch and iterate: reducing prediction churn",
       NIPS 2016.

    Examples
    --------
    >>> measured = churn([[0, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]])
    >>> measured.matrix.tolist()
    [[0.0, 0.25, 0.5], [0.25, 0.0, 0.25], [0.5, 0.25, 0.0]]
    >>> round(measured.mean.value, 4)
    0.3333
    """
    codes = coded(labels).labels
    runs, examples = codes.shape
    counts = differing(codes)
    mean = shares_estimate(counts, examples, level)
    return Churn(runs=runs, examples=examples, mean=mean, matrix=counts / examples)


def differing(codes: Integers | Booleans, others: Integers | None = None) -> Integers:
    """Count the examples on which two runs differ.

    Parameters
    ----------
    codes, others : ndarray, shape (n_runs, n_examples) and (n_others, n_examples)
        Labels; without `others` the runs are compared with each other.

    Returns
    -------
    ndarray of int, shape (n_runs, n_others)

    Examples
    --------
    >>> differing(np.array([[0, 1]]), np.array([[0, 1], [1, 0]])).tolist()
    [[0, 2]]
    """
    columns = codes if others is None else others
    counts = np.zeros((len(codes), len(columns)), np.int64)
    for r, row in enumerate(codes):
        for s in range(r + 1 if others is None else 0, len(columns)):
            counts[r, s] = np.count_nonzero(row != columns[s])
    return counts + counts.T if others is None else counts


def alike(codes: Integers) -> Integers:
    """Count the runs that give an example the label that a run gives it, itself included.

    Returns
    -------
    ndarray of unsigned int, shape (n_runs, n_examples)
        In [1, n_runs].

    Examples
    --------
    >>> alike(np.array([[0, 1], [0, 2], [0, 1]])).tolist()
    [[3, 2], [3, 1], [3, 2]]
    """
    counts = np.ones(codes.shape, np.min_scalar_type(len(codes)))
    for r, row in enumerate(codes):
        for s in range(r + 1, len(codes)):
            same = row == codes[s]
            counts[r] += same
            counts[s] += same
    return counts


class ClassChurn(msgspec.Struct, frozen=True, kw_only=True):
    """Churn on the examples of one class, or of one group."""

    #: The class, as `targets` name it.
    label: int
    #: Examples of this class.
    examples: int
    mean: Estimate


def class_churn(labels: ArrayLike, targets: ArrayLike, level: float = DEFAULT_LEVEL) -> tuple[ClassChurn, ...]:
    """Measure the churn on the examples of each class, or of each group where `targets` are groups.

    Examples
    --------
    >>> [(part.label, part.mean.value) for part in class_churn([[0, 1, 5], [0, 1, 1]], [0, 1, 1])]
    [(0, 0.0), (1, 0.5)]
    """
    codes = coded(labels).labels
    names, members, sizes = np.unique(checked_targets(targets, codes.shape[1]), return_inverse=True, return_counts=True)
    sorted_codes, starts = codes[:, np.argsort(members, kind="stable")], np.cumsum(sizes) - sizes
    sums, squares = np.zeros((len(codes), sizes.size)), np.zeros(sizes.size)
    for r, row in enumerate(sorted_codes[:-1]):
        shares = np.add.reduceat(sorted_codes[r + 1 :] != row, starts, axis=1, dtype=np.int64) / sizes
        sums[r] += shares.sum(axis=0)
        sums[r + 1 :] += shares
        squares += (shares**2).sum(axis=0)
    return tuple(
        ClassChurn(label=int(name), examples=int(size), mean=share_estimate(of_runs, float(square), int(size), level))
        for name, size, of_runs, square in zip(names, sizes, sums.T, squares, strict=True)
    )


class ExcessChurn(msgspec.Struct, frozen=True, kw_only=True):
    """The churn of pairs of runs in parts; each a mean over all pairs, a share in [0, 1]."""

    #: What the accuracies force: ``abs(a_r - a_s)``.
    forced: Estimate
    #: What is beyond: ``c_rs - abs(a_r - a_s)``.
    beyond: Estimate
    #: Examples on which one run of the pair is right and the other is wrong.
    one_right: Estimate
    #: Examples on which both are wrong, each in its own way; with `one_right` this is all of the churn.
    both_wrong: Estimate


def excess_churn(labels: ArrayLike, targets: ArrayLike, level: float = DEFAULT_LEVEL) -> ExcessChurn:
    """Divide churn into what differences of accuracy force and what is beyond.

    Two runs with accuracies a_r and a_s differ on ``abs(a_r - a_s)`` of the examples at least: there one is right, the
    other is wrong, and no label is both. The rest is what Milani Fard et al. (2016) call unnecessary churn. That bound
    follows from the definitions; that it is taken from each pair before the mean is our choice.

    Intervals are those of `deviate.stats.pairs.share_interval`: of `forced` without fewer degrees of freedom, of
    `beyond` with the second-order part, which counts where runs form clusters.

    Examples
    --------
    >>> parts = excess_churn([[0, 1, 1, 2], [0, 0, 2, 1]], [0, 1, 1, 0])
    >>> parts.forced.value, parts.beyond.value, parts.one_right.value, parts.both_wrong.value
    (0.5, 0.25, 0.5, 0.25)
    """
    codes = coded(labels).labels
    right = correctness(labels, targets)
    accuracies = right.mean(axis=1)
    forced = np.abs(accuracies[:, None] - accuracies)
    different, one_right, examples = differing(codes), differing(right), codes.shape[1]
    return ExcessChurn(
        forced=skewed_estimate(forced, level),
        beyond=bent_estimate(different / examples - forced, examples, level),
        one_right=shares_estimate(one_right, examples, level),
        both_wrong=shares_estimate(different - one_right, examples, level),
    )


# Churn between two sets of runs, beside the churn within each of them.

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

    Intervals are by jackknife over the runs of both: of the shares that of `deviate.stats.pairs.share_interval`,
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
