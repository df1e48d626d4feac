"""Churn: the share of test examples that two runs label differently, over all pairs of runs."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.intervals import DEFAULT_LEVEL
from deviate.measure.jackknife import Estimate, bent_estimate, share_estimate, shares_estimate, skewed_estimate
from deviate.measure.predictions import Booleans, Integers, checked_targets, coded, correctness


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
    same training would give on the same test examples: see `deviate.measure.jackknife.share_interval`.

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

    Intervals are those of `deviate.measure.jackknife.share_interval`: of `forced` without fewer degrees of freedom, of
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
