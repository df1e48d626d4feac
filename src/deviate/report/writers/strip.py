"""The runs of one metric as a strip between its smallest and its largest value: dots, or bars where runs are many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.text import Text

from deviate.report.writers.blocks import BLOCKS, block_line

#: Cells of a strip.
STRIP_WIDTH = 10

#: Marks for a cell with no run, one run, several runs.
EMPTY, ONE, SEVERAL = "·", "•", "●"

#: Head of a column of strips: where their ends are.
STRIP_HEAD = "min" + " " * (STRIP_WIDTH - 6) + "max"

#: With more runs than this most cells hold several, and bars say how many where dots would not.
CROWDED = 20


def strip(values: Sequence[float], width: int = STRIP_WIDTH, ends: tuple[float, float] | None = None) -> str:
    """Draw the values on a line from the smallest to the largest: a dot a run, or bars of a histogram.

    Parameters
    ----------
    values : sequence of float
        Finite values, one per run.
    width : int, optional
        Number of cells.
    ends : (float, float), optional
        Values at the ends of the line, at or beyond all of `values`; by default the smallest and the largest of them.

    Returns
    -------
    str
        Empty where there is no spread to draw: fewer than two values, or both ends equal.

    Examples
    --------
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


def strip_text(cell: str) -> Text:
    """Return a cell of a table with the runs in colour, and its empty places dim."""
    text = Text(cell)
    text.highlight_regex(f"[{ONE}{SEVERAL}{BLOCKS}]", "cyan")
    text.highlight_regex(f"{EMPTY}+", "dim")
    return text
