"""Targets that a program masks (padding, -1, -100, ``ignore_index``): they are no labels, so no prediction is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import msgspec
import numpy as np

from deviate.collect.predictions import Array, EvaluationPass


def never_predicted(passes: Sequence[EvaluationPass]) -> list[int]:
    """Return target values that no run predicts for any example, ascending; none where labels have names."""
    if not all(
        each.header.rows and each.header.classes is None and {"label", "target"} <= each.columns.keys()
        for each in passes
    ):
        return []
    labels = np.unique(np.concatenate([np.unique(each.columns["label"]) for each in passes]))
    targets = np.unique(np.concatenate([np.unique(each.columns["target"]) for each in passes]))
    # Where runs predict one label alone, that no other is predicted says nothing.
    return [int(value) for value in np.setdiff1d(targets, labels)] if len(labels) > 1 else []


def is_no_label(value: int, passes: Sequence[EvaluationPass]) -> bool:
    """Whether a target that no run predicts is none of the classes: a negative number beside numbers of classes."""
    lowest = min(int(each.columns["label"].min()) for each in passes)
    others = [each.columns["target"][each.columns["target"] != value] for each in passes]
    return value < 0 <= lowest and all(len(np.unique(each)) > 1 and each.min() >= 0 for each in others)


def without_target(each: EvaluationPass, value: int) -> EvaluationPass:
    """Return a pass without the examples that have `value` as their target."""
    kept = np.flatnonzero(each.columns["target"] != value)
    columns = {name: column[kept] for name, column in each.columns.items()}
    label, target = columns["label"], columns["target"]
    goodness = float((label == target).mean()) if label.ndim == 1 and len(kept) else None
    features, feature_rows = _rows(each.features, each.feature_rows, kept)
    inputs, input_rows = _rows(each.inputs, each.input_rows, kept)
    return dataclasses.replace(
        each,
        header=msgspec.structs.replace(each.header, rows=len(kept), goodness=goodness),
        columns=columns,
        features=features,
        feature_rows=feature_rows,
        inputs=inputs,
        input_rows=input_rows,
    )


def _rows(values: Array | None, rows: Array | None, kept: Array) -> tuple[Array | None, Array | None]:
    """Return what is known of some rows, of those that are kept, with their new numbers."""
    if values is None or rows is None:
        return values, rows
    inside = np.isin(rows, kept)
    return values[inside], np.searchsorted(kept, rows[inside])
