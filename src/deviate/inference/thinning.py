"""Fewer points of a curve that still show its ends, its extremes and its gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: Fewest points that a curve is thinned to: both ends, both extremes, and some shape between them.
FEWEST_POINTS = 24


def thinned(values: ArrayLike, points: int) -> Any:
    """Choose the places of a curve that are drawn.

    Parameters
    ----------
    values : array_like of float, shape (m,)
        One a place, in order; NaN and infinities are gaps.
    points : int
        Places wanted; at least `FEWEST_POINTS` are given.

    Returns
    -------
    ndarray of int, shape (k,)
        Ascending, all of them where there are no more than `points`. Otherwise the curve is cut into stretches of
        equal length, and of each stretch its smallest and its largest value and its first gap are kept, beside the
        first and the last place. So the smallest and the largest value of the whole curve are always there, and a
        peak of a single place is not lost. ``k`` is `points` at most.

    Examples
    --------
    >>> values = np.zeros(1000)
    >>> values[123] = 5.0
    >>> kept = thinned(values, 40)
    >>> 0 in kept, 123 in kept, 999 in kept, len(kept) <= 40
    (True, True, True, True)
    """
    curve = np.asarray(values, dtype=float)
    points = max(points, FEWEST_POINTS)
    if curve.size <= points:
        return np.arange(curve.size)
    gaps = ~np.isfinite(curve)
    stretches = (points - 2) // (3 if gaps.any() else 2)
    width = -(-curve.size // stretches)
    starts = np.arange(0, curve.size, width)
    chosen = [
        starts + _stretched(np.where(gaps, np.inf, curve), width, np.inf).argmin(axis=1),
        starts + _stretched(np.where(gaps, -np.inf, curve), width, -np.inf).argmax(axis=1),
    ]
    if gaps.any():
        rows = _stretched(gaps, width, False)
        chosen.append((starts + rows.argmax(axis=1))[rows.any(axis=1)])
    return np.unique(np.concatenate([[0, curve.size - 1], *chosen]))


def evenly(total: int, wanted: int) -> list[int]:
    """Choose `wanted` of `total` places evenly, the first and the last among them.

    Examples
    --------
    >>> evenly(3, 8), evenly(10, 4), evenly(10, 1)
    ([0, 1, 2], [0, 3, 6, 9], [0])
    """
    return sorted({int(position) for position in np.linspace(0, total - 1, min(total, wanted)).round()})


def _stretched(values: Any, width: int, filling: float | bool) -> Any:
    """Lay values out one stretch a row, the last row filled up."""
    rows = -(-values.size // width)
    laid = np.full(rows * width, filling, dtype=values.dtype)
    laid[: values.size] = values
    return laid.reshape(rows, width)
