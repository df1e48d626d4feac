"""On which examples runs agree: the flip list, predictive multiplicity, abstention, correlation of predictions.

How far the predicted values of runs lie apart, for regression.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.stats.churn import alike, differing
from deviate.stats.intervals import DEFAULT_LEVEL
from deviate.stats.pairs import METHOD_CORRECTED, SIGNED, Estimate, corrected_estimate, pair_estimate, unknown
from deviate.stats.predictions import (
    Integers,
    checked_labels,
    checked_values,
    coded,
    correctness,
)
from deviate.stats.spread import Floats


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How the runs agree on each example; all arrays have shape ``(n_examples,)``."""

    runs: int
    #: The most frequent label; the smallest of several.
    majority: Any
    #: Runs that give that label, from 1 to `runs`.
    agreeing: Any
    #: The most frequent other label, the smallest of several; equal to `majority` where all runs agree.
    other: Any
    #: Runs that give that other label; 0 where all runs agree.
    others: Any
    #: Share of pairs of runs that give different labels, in [0, 1]; NaN for one run. Its mean is the churn.
    disagreement: Any
    #: Runs that are right; None without targets.
    right: Any = None
    #: Positions of the examples: fewest agreeing first, then most disagreement, then by position.
    order: Any

    @property
    def unstable(self) -> Any:
        """Whether two runs give different labels."""
        return self.agreeing < self.runs

    @property
    def stably_right(self) -> Any:
        """Whether all runs give the right label; None without targets."""
        return None if self.right is None else self.right == self.runs

    @property
    def stably_wrong(self) -> Any:
        """Whether all runs give one wrong label; None without targets."""
        return None if self.right is None else ~self.unstable & (self.right == 0)


def agreement(labels: ArrayLike, targets: ArrayLike | None = None) -> Agreement:
    """Measure on which examples runs agree, and between which labels they waver.

    Examples
    --------
    >>> flips = agreement([[0, 1, 5], [0, 2, 5], [0, 1, 3]], targets=[0, 2, 7])
    >>> flips.majority.tolist(), flips.agreeing.tolist(), flips.other.tolist(), flips.order.tolist()
    ([0, 1, 5], [3, 2, 2], [0, 2, 3], [1, 2, 0])
    >>> flips.stably_right.tolist(), flips.right.tolist()
    ([True, False, False], [3, 1, 0])
    """
    numbered = coded(labels, targets)
    codes = numbered.labels
    runs = len(codes)
    counts = alike(codes)
    majority, agreeing = _most_frequent(codes, counts)
    other, others = _most_frequent(codes, np.where(codes == majority, 0, counts))
    pairs = (runs * runs - counts.sum(axis=0, dtype=np.int64)) // 2
    return Agreement(
        runs=runs,
        majority=numbered.classes[majority],
        agreeing=agreeing,
        other=numbered.classes[other],
        others=others,
        disagreement=pairs / (runs * (runs - 1) / 2) if runs > 1 else np.full(codes.shape[1], np.nan),
        right=None if targets is None else (codes == numbered.targets).sum(axis=0),
        order=np.lexsort((-pairs, agreeing)),
    )


def _most_frequent(codes: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Give the label with the highest count and that count, per example; the smallest label of several."""
    highest = counts.max(axis=0)
    label = np.where(counts == highest, codes, np.iinfo(codes.dtype).max).min(axis=0)
    return label, highest.astype(np.int64)


# Predictive multiplicity: how far the labels of equally good runs can differ from those of a baseline.


class Ambiguity(msgspec.Struct, frozen=True, kw_only=True):
    """How the labels of a set of runs conflict with their majority vote."""

    #: None: the baseline is the majority vote.
    baseline: None = None
    #: Runs that were compared with the vote.
    runs: int
    #: Share of examples to which at least one of these runs gives another label, in [0, 1]; grows with `runs`.
    ambiguity: float
    #: Largest share of examples to which a single one of them gives another label, in [0, 1]; grows with `runs`.
    discrepancy: float
    #: Position of that run, the first of several.
    farthest: int
    reason: str = ""


def ambiguity(labels: ArrayLike) -> Ambiguity:
    """Measure ambiguity and discrepancy over a set of runs [1]_.

    With h0 the majority vote, ties to the smallest label, and S the set of runs: ambiguity is
    ``mean_i max_{h in S} (h(x_i) != h0(x_i))``, discrepancy is ``max_{h in S} mean_i (h(x_i) != h0(x_i))``. Marx et al.
    take S as all models that are about as good as h0, so both numbers are lower limits of theirs.

    References
    ----------
    .. [1] C. Marx, F. du Pin Calmon and B. Ustun, "Predictive multiplicity in classification", ICML 2020.

    Examples
    --------
    >>> measured = ambiguity([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0]])
    >>> measured.ambiguity, measured.discrepancy, measured.farthest
    (0.75, 0.5, 2)
    """
    rows = checked_labels(labels)
    base = agreement(rows).majority
    changed = differing(base[None], rows)[0] / base.size
    conflicting = np.zeros(base.size, bool)
    for row in rows:
        conflicting |= row != base
    return Ambiguity(
        runs=len(rows),
        ambiguity=float(conflicting.mean()),
        discrepancy=float(changed.max()),
        farthest=int(changed.argmax()),
    )


# What is gained by answering only where runs agree.


class Abstention(msgspec.Struct, frozen=True, kw_only=True):
    """What a majority vote answers, and how well, if it abstains where too few runs agree; arrays ``(n_runs,)``."""

    #: Runs that have to agree: 1 to n_runs.
    agreeing: Any
    #: Share of examples that are answered, in [0, 1].
    coverage: Any
    #: Accuracy of the vote on these, in [0, 1]; NaN where there is none.
    accuracy: Any


def abstention(labels: ArrayLike, targets: ArrayLike) -> Abstention:
    """Measure coverage and accuracy of the majority vote of all runs at each number of runs that agree.

    Examples
    --------
    >>> curve = abstention([[0, 1, 1], [0, 0, 1], [0, 1, 0]], [0, 1, 0])
    >>> curve.agreeing.tolist(), curve.coverage.round(4).tolist(), curve.accuracy.round(4).tolist()
    ([1, 2, 3], [1.0, 1.0, 0.3333], [0.6667, 0.6667, 1.0])
    """
    flips = agreement(labels, targets)
    right = flips.majority == np.asarray(targets)
    needed = np.arange(1, flips.runs + 1)
    answered = flips.agreeing[None] >= needed[:, None]
    counts = answered.sum(axis=1)
    accuracy = np.full(flips.runs, np.nan)
    np.divide((answered & right).sum(axis=1), counts, out=accuracy, where=counts > 0)
    return Abstention(agreeing=needed, coverage=counts / right.size, accuracy=accuracy)


# Whether runs are right on the same examples.

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

    The interval is that of `deviate.stats.pairs.corrected_interval`. There is none where no example is wrong in
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


class ValueDifferences(msgspec.Struct, frozen=True, kw_only=True):
    """Differences between runs of the values predicted for the same examples."""

    #: Mean over pairs of the mean absolute difference, in the unit of the values.
    absolute: Estimate
    #: Mean absolute difference of each pair, shape ``(n_runs, n_runs)``, symmetric with a diagonal of 0.
    matrix: Any


def value_differences(values: ArrayLike, level: float = DEFAULT_LEVEL) -> ValueDifferences:
    """Measure how far predicted values lie apart, over all pairs of runs; the churn of a regression.

    ``mean_i(abs(value_ri - value_si))``, averaged over the pairs r < s, with the interval of
    `deviate.stats.pairs.jackknife_interval`.

    >>> value_differences([[1.0, 2.0], [1.5, 2.0]]).absolute.value
    0.25
    """
    rows = checked_values(values)
    absolute = np.zeros((len(rows), len(rows)))
    for r in range(len(rows)):
        for s in range(r):
            absolute[r, s] = absolute[s, r] = np.abs(rows[r] - rows[s]).mean()
    return ValueDifferences(absolute=pair_estimate(absolute, level, (0.0, math.inf)), matrix=absolute)


#: Values of a run that are multiplied at once, to bound the memory that float64 takes.
_AT_ONCE = 100_000


def value_correlation(values: ArrayLike, level: float = DEFAULT_LEVEL) -> Estimate:
    """Measure how the values that two runs give the same examples correlate: the mean of Pearson's coefficient.

    Of classes the scores of all examples stand in one row, as Summers and Dinneen take them [1]_. A run with one value
    for all, or with NaN, correlates with none.

    Parameters
    ----------
    values : array_like of float, shape (n_runs, n_values)
    level : float, optional
        Confidence level, in (0, 1), of the interval of `deviate.stats.pairs.corrected_interval`.

    References
    ----------
    .. [1] C. Summers and M. J. Dinneen, "Nondeterminism and instability in neural network optimization", ICML 2021.

    Examples
    --------
    >>> round(value_correlation([[0.1, 0.5, 0.9], [0.2, 0.5, 0.8], [0.1, 0.2, 0.9]]).value, 4)
    0.9451
    """
    rows = np.asarray(values)
    means = rows.mean(axis=1, dtype=np.float64, keepdims=True)
    parts = np.array_split(rows, math.ceil(rows.shape[1] / _AT_ONCE), axis=1)
    products = sum(part @ part.T for part in (each - means for each in parts))
    length = np.sqrt(np.diag(products)) * (rows.max(axis=1) > rows.min(axis=1))
    matrix = np.full(products.shape, np.nan)
    np.divide(products, length[:, None] * length, out=matrix, where=length[:, None] * length > 0)
    return corrected_estimate(np.clip(matrix, *SIGNED), level)
