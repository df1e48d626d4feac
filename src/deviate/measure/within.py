"""How much repeated measurements of one run differ, pooled over runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np


def within_sd(groups: Iterable[Sequence[float]]) -> float | None:
    """Return the pooled SD of measurements within groups: the square root of the mean square within.

    Parameters
    ----------
    groups : iterable of sequence of float
        The measurements of each run; groups of one tell nothing and are passed over.

    Returns
    -------
    float or None
        At least 0, in the unit of the measurements; None where no group has two. NaN where a measurement is.

    References
    ----------
    .. [1] R. A. Fisher, *Statistical Methods for Research Workers*, 1925: the mean square within groups of an analysis
       of variance.

    Examples
    --------
    >>> within_sd([[1.0, 3.0], [5.0, 5.0], [7.0]])
    1.0
    """
    several = [np.asarray(group, dtype=float) for group in groups if len(group) > 1]
    if not several:
        return None
    # The mean of equal measurements may be off by a rounding.
    differing = [group for group in several if (group != group[0]).any()]
    squares = math.fsum(float(((group - group.mean()) ** 2).sum()) for group in differing)
    return math.sqrt(squares / sum(len(group) - 1 for group in several))
