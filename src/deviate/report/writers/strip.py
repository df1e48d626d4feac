"""The runs of one metric as a strip of dots between its smallest and its largest value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Cells of a strip.
STRIP_WIDTH = 10

#: Marks for a cell with no run, one run, several runs.
EMPTY, ONE, SEVERAL = "·", "•", "●"


def strip(values: Sequence[float], width: int = STRIP_WIDTH) -> str:
    """Draw the values as dots on a line from the smallest to the largest.

    Parameters
    ----------
    values : sequence of float
        Finite values, one per run.
    width : int, optional
        Number of cells.

    Returns
    -------
    str
        Empty where there is no spread to draw: fewer than two values, or all equal.

    Examples
    --------
    >>> strip([1.0, 1.02, 2.0, 10.0])
    '●•·······•'
    """
    low, high = min(values, default=0.0), max(values, default=0.0)
    if low == high:
        return ""
    # Halved before they are subtracted: the difference of two large floats may overflow.
    shares = (np.asarray(values) / 2 - low / 2) / (high / 2 - low / 2)
    counts = np.bincount(np.minimum((shares * width).astype(int), width - 1), minlength=width)
    return "".join(EMPTY if not count else ONE if count == 1 else SEVERAL for count in counts)
