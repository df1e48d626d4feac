"""Which examples change their label from run to run: the flip list."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.churn import alike
from deviate.measure.predictions import Integers, coded


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
