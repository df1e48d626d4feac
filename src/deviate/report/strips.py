"""Pictures made of characters: the runs of a metric as a strip of dots or bars, and a curve as a line of blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: From the lowest to the highest.
BLOCKS = "▁▂▃▄▅▆▇█"

#: What stands for them, and for nothing, on terminals that have ASCII alone.
ASCII_BLOCKS = "_,-=+*%#"

#: A cell without a height.
GAP = " "

#: Cells of a strip.
STRIP_WIDTH = 10

#: Marks for a cell with no run, one run, several runs.
EMPTY, ONE, SEVERAL = "·", "•", "●"

#: Head of a column of strips, and as wide: what they show, and where the lowest and the highest are.
STRIP_HEAD = "low – high"

#: With more runs than this most cells hold several, and bars say how many where dots would not.
CROWDED = 20


def strip(values: Sequence[float], width: int = STRIP_WIDTH, ends: tuple[float, float] | None = None) -> str:
    """Draw finite values on a line from the smallest to the largest: a dot a run, or bars of a histogram.

    `width` is the number of cells. `ends` are the values at the ends of the line, at or beyond all of `values`. Where
    there is no spread to draw, with fewer than two values or both ends equal, the line is empty.

    >>> strip([1.0, 1.02, 2.0, 10.0])
    '●•·······•'
    >>> strip([1.0] * 8 + [2.0] * 12 + [4.0] * 4 + [5.0])
    '▆·█····▃·▁'
    """
    low, high = ends or (min(values, default=0.0), max(values, default=0.0))
    if low == high or not values:
        return ""
    # Halved before they are subtracted: the difference of two large floats may overflow.
    shares = (np.asarray(values) / 2 - low / 2) / (high / 2 - low / 2)
    counts = np.bincount(np.minimum((shares * width).astype(int), width - 1), minlength=width)
    if len(values) > CROWDED:
        # The fullest cell is one full block; a cell with a single run is never drawn as empty.
        return block_line(np.where(counts > 0, counts / counts.max(), np.nan), EMPTY)
    return "".join(EMPTY if not count else ONE if count == 1 else SEVERAL for count in counts)


def block_line(shares: Sequence[float] | NDArray[np.float64], gap: str = GAP) -> str:
    """Draw each share of the full height, in [0, 1], as a block; NaN is drawn as the character `gap`.

    >>> block_line([0.0, 0.5, float("nan"), 1.0])
    '▁▅ █'
    """
    levels = len(BLOCKS)
    return "".join(gap if np.isnan(share) else BLOCKS[min(int(share * levels), levels - 1)] for share in shares)


def sampled(
    iterations: Sequence[int], heights: Sequence[float] | NDArray[np.float64], width: int
) -> NDArray[np.float64]:
    """Return the curve at `width` evenly spaced iterations, or as many as it has, from the first to the last.

    Between the iterations that were reported, which rise, it is interpolated linearly; `width` is at least 2.

    >>> [float(height) for height in sampled([0, 1, 4], [0.0, 1.0, 4.0], 3)]
    [0.0, 2.0, 4.0]
    """
    places = np.linspace(iterations[0], iterations[-1], min(width, len(iterations)))
    return np.interp(places, iterations, heights)
