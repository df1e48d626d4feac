"""What several runs predicted on the same test examples: checked arrays for the measures of predictions."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from deviate.measure.sample import Floats

Integers = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]


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
    parts = [np.unique(row) for row in (*rows, *([] if right is None else [right]))]
    classes = np.unique(np.concatenate(parts))
    kind = np.min_scalar_type(classes.size)
    codes = np.empty(rows.shape, kind)
    for row, code in zip(rows, codes, strict=True):
        code[:] = np.searchsorted(classes, row)
    codes_of_targets = None if right is None else np.searchsorted(classes, right).astype(kind)
    return Coded(classes=classes, labels=codes, targets=codes_of_targets)


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
    if array.dtype.kind == "b":
        return array.astype(np.int8)
    if array.dtype.kind not in "iu" and array.size:
        raise ValueError(f"{name} are integers; these are {array.dtype}, which may hold NaN: number the classes first")
    return array.astype(np.int64) if array.dtype.kind not in "iu" else array
