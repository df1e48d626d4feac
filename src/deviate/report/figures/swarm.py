"""Points of equal or near values side by side instead of upon each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Stretches of the axis within which points would cover each other.
STRETCHES = 48


def lanes(values: Sequence[float]) -> list[float]:
    """Place points of finite values that are near to each other on lanes: in [0, 1], where 0.5 is the middle.

    The fullest stretch of the axis uses all of it, from 4 points on.

    Examples
    --------
    >>> lanes([1.0, 1.0, 2.0])
    [0.375, 0.625, 0.5]
    """
    array = np.asarray(values, dtype=float)
    if array.size < 2:
        return [0.5] * array.size
    # Halved before they are subtracted: the difference of two large floats may overflow.
    low, high = array.min() / 2, array.max() / 2
    stretches = np.zeros(array.size, dtype=int)
    if high > low:
        stretches = np.minimum(((array / 2 - low) / (high - low) * STRETCHES).astype(int), STRETCHES - 1)
    fullest = int(np.bincount(stretches).max())
    width = 1 / max(fullest, 4) if fullest > 1 else 1.0
    result = np.full(array.size, 0.5)
    for stretch in np.unique(stretches):
        members = np.flatnonzero(stretches == stretch)
        result[members] = 0.5 + (np.arange(members.size) - (members.size - 1) / 2) * width
    return [round(float(lane), 4) for lane in result]
