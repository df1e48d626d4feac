"""Numbers of the type bfloat16, which NumPy lacks."""

from __future__ import annotations

import numpy as np

from deviate.collect.predictions import Array


def widened(words: Array) -> Array:
    """Return numbers of bfloat16, each the upper half of one of 32 bits, as such.

    Parameters
    ----------
    words : ndarray of uint16
        Their bits.

    Examples
    --------
    >>> widened(np.array([0x3F80, 0xC040], np.uint16)).tolist()
    [1.0, -3.0]
    """
    wide: Array = (words.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return wide
