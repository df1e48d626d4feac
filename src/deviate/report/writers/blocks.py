"""Heights drawn as one line of block characters."""

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


def block_line(shares: Sequence[float] | NDArray[np.float64], gap: str = GAP) -> str:
    """Draw each share of the full height as a block.

    Parameters
    ----------
    shares : sequence of float
        In [0, 1]; NaN is drawn as `gap`.
    gap : str, optional
        One character.

    Examples
    --------
    >>> block_line([0.0, 0.5, float("nan"), 1.0])
    '▁▅ █'
    """
    levels = len(BLOCKS)
    return "".join(gap if np.isnan(share) else BLOCKS[min(int(share * levels), levels - 1)] for share in shares)
