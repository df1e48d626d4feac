"""What is gained by answering only where runs agree."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.agreement import agreement


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
