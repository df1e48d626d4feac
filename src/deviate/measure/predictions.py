"""What several runs predicted on the same test examples: checked arrays for the measures of predictions."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from deviate.measure.sample import Floats

Integers = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]

#: Labels that lie within fewer numbers are looked up in a table, others searched for.
LARGEST_TABLE = 2**20


class Coded(msgspec.Struct, frozen=True, kw_only=True):
    """Labels and targets as positions in the ascending list of all classes, in the smallest type that holds them."""

    #: All labels that a run predicted or that are a target, ascending, shape ``(n_classes,)``.
    classes: Any
    #: Positions in `classes`, shape ``(n_runs, n_examples)``.
    labels: Any
    #: Positions in `classes`, shape ``(n_examples,)``; None without targets.
    targets: Any = None


def coded(labels: ArrayLike, targets: ArrayLike | None = None) -> Coded:
    """Replace labels and targets by their positions in the ascending list of all classes.

    Examples
    --------
    >>> numbered = coded([[7, -1], [7, 30]], targets=[7, 9])
    >>> numbered.classes.tolist(), numbered.labels.tolist(), numbered.targets.tolist()
    ([-1, 7, 9, 30], [[1, 0], [1, 3]], [1, 2])
    """
    rows = checked_labels(labels)
    right = None if targets is None else checked_targets(targets, rows.shape[1])
    arrays = [*rows, *([] if right is None else [right])]
    low, high = min(int(array.min()) for array in arrays), max(int(array.max()) for array in arrays)
    classes, codes = _by_table(arrays, low, high) if high - low < LARGEST_TABLE else _by_search(arrays)
    return Coded(classes=classes, labels=codes[: len(rows)], targets=None if right is None else codes[-1])


def _by_table(arrays: list[Integers], low: int, high: int) -> tuple[Integers, Integers]:
    present = np.zeros(high - low + 1, bool)
    offsets = [array.astype(np.int64) - low for array in arrays]
    for offset in offsets:
        present[offset] = True
    classes = np.flatnonzero(present)
    table = (np.cumsum(present) - 1).astype(np.min_scalar_type(classes.size))
    return classes + low, np.stack([table[offset] for offset in offsets])


def _by_search(arrays: list[Integers]) -> tuple[Integers, Integers]:
    classes = np.unique(np.concatenate([np.unique(array) for array in arrays]))
    kind = np.min_scalar_type(classes.size)
    return classes, np.stack([np.searchsorted(classes, array).astype(kind) for array in arrays])


def correctness(labels: ArrayLike, targets: ArrayLike) -> Booleans:
    """Tell where each run is right, as an array of bool of shape ``(n_runs, n_examples)``.

    Examples
    --------
    >>> correctness([[0, 1], [1, 1]], [0, 1]).tolist()
    [[True, True], [False, True]]
    """
    rows = checked_labels(labels)
    return np.asarray(rows == checked_targets(targets, rows.shape[1]))


def checked_labels(labels: ArrayLike) -> Integers:
    """Return `labels` as an array of integers of shape ``(n_runs, n_examples)``; ValueError for others."""
    rows = _integers(labels, "labels")
    if rows.ndim != 2:
        raise ValueError(f"labels have shape (n_runs, n_examples); these have shape {rows.shape}")
    if 0 in rows.shape:
        raise ValueError(f"labels are of 1 run and 1 example at least; these have shape {rows.shape}")
    return rows


def checked_targets(targets: ArrayLike, examples: int, name: str = "targets") -> Integers:
    """Return `targets`, or groups, as an array of integers of shape ``(n_examples,)``; ValueError for others."""
    values = _integers(targets, name)
    if values.shape != (examples,):
        raise ValueError(f"{name} have shape (n_examples,), here ({examples},); these have shape {values.shape}")
    return values


def checked_values(values: ArrayLike, name: str = "values") -> Floats:
    """Return `values` as an array of finite float64 of shape ``(n_runs, n_examples)``; ValueError for others."""
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"{name} have shape (n_runs, n_examples), both 1 or more; these have shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} hold NaN or infinite values; exclude these runs or examples and count them first")
    return rows


def _integers(values: ArrayLike, name: str) -> Integers:
    array = np.asarray(values)
    if array.dtype.kind not in "iub" and array.size:
        raise ValueError(f"{name} are integers; these are {array.dtype}, which may hold NaN: number the classes first")
    # Beside signed ones, NumPy would turn unsigned 64-bit integers into floats.
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} are integers up to 2**63 - 1")
    return array if array.dtype.kind == "i" else array.astype(np.int64)
