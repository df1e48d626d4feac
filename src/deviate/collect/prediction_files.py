"""Read predictions from a file that the program itself writes: ``--predictions preds.csv``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from deviate.collect.database import parquet_shape, read_parquet
from deviate.collect.foreign_arrays import MOST_UNPACKED, UNREADABLE, read_npy, read_npz

#: Bytes of a cell of a table in memory, at least.
CELL = 8

#: Names of columns, in lower case without spaces, hyphens and underscores.
IDS = frozenset(
    [
        "id",
        "index",
        "idx",
        "example",
        "exampleid",
        "sample",
        "sampleid",
        "rowid",
        "uid",
        "name",
        "file",
        "filename",
        "image",
        "imageid",
        "path",
    ]
)
PREDICTIONS = frozenset(
    ["prediction", "predictions", "pred", "preds", "predicted", "predictedlabel", "ypred", "yhat", "output"]
)
TARGETS = frozenset(["target", "targets", "true", "ytrue", "truth", "gold", "groundtruth", "actual", "y", "answer"])
SCORES = frozenset(["score", "prob", "probability", "confidence"])
#: The target where predictions have a column of their own, else the prediction.
EITHER = frozenset(["label", "labels", "class"])


class UnreadableError(ValueError):
    """A file of predictions that cannot be read."""


def read_prediction_file(path: Path) -> dict[str, Any]:
    """Read the columns ``label`` or ``value``, and ``target``, ``score`` and ``id`` where there are some.

    Of ``.npy`` an array of one dimension holds predictions, one of two columns predictions and targets; ``.npz`` names
    its arrays as the columns of the others. Nothing in a file is ever executed.

    Raises
    ------
    UnreadableError
        If it is damaged, or no column is one of predictions by its name.
    """
    columns = _named(read_columns(path, names=("prediction", "target")), path)
    kind = "value" if columns["label"].dtype.kind == "f" and not _is_whole(columns["label"]) else "label"
    return {kind if name == "label" else name: column for name, column in columns.items()}


def read_columns(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Read the columns of a table; those of an ``.npy``, which have none, get `names` in their order.

    Raises
    ------
    UnreadableError
        If it is damaged, or an array has more columns than there are names.
    """
    try:
        return _read(path, names)
    except (*UNREADABLE, msgspec.DecodeError) as error:
        raise UnreadableError(f"{path.name} cannot be read: {error or type(error).__name__}") from error


def _read(path: Path, names: Sequence[str]) -> dict[str, Any]:
    match path.suffix:
        case ".npy":
            array = np.array(read_npy(path))
            if array.ndim == 1:
                return {names[0]: array}
            if array.ndim == 2 and array.shape[1] <= len(names):
                return dict(zip(names, array.T, strict=False))
            raise ValueError(f"an array of shape {array.shape}, expected (n,) or (n, {len(names)})")
        case ".npz":
            return read_npz(path)
        case ".parquet":
            return _read_parquet(path)
        case ".jsonl":
            table = pd.read_json(path, lines=True)
        case _:
            table = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")
    return {str(name): table[name].to_numpy() for name in table.columns}


class _PandasNote(msgspec.Struct):
    """What pandas says of a table; the index is a name, or a range that no column has."""

    index_columns: list[str | dict[str, Any]] = []


def _read_parquet(path: Path) -> dict[str, Any]:
    """Return the columns of a table, but for the index of pandas.

    One that is unpacked to more than is read is refused: a column of one value takes no bytes, and any memory.
    """
    rows, columns = parquet_shape(path)
    if CELL * rows * columns > MOST_UNPACKED:
        raise ValueError(f"a table of {rows:,} rows of {columns:,} columns")
    table = read_parquet(path)
    index = msgspec.json.decode(table.notes.get(b"pandas", b"{}"), type=_PandasNote).index_columns
    return {name: _plain(column) for name, column in table.columns.items() if name not in index}


def _plain(column: Any) -> Any:
    """Return a column with NaN or None in the place of nulls, and with bytes that can be keys."""
    values = np.ma.getdata(column)
    if np.ma.isMaskedArray(column):
        null: Any = np.nan if values.dtype.kind in "iuf" else None
        values = np.where(column.mask, null, values.astype(object) if null is None else values)
    return _hashable(values) if values.dtype.kind == "O" else values


_hashable = np.frompyfunc(lambda value: bytes(value) if isinstance(value, bytearray) else value, 1, 1)


def _named(table: dict[str, Any], path: Path) -> dict[str, Any]:
    plain = {plain_name(name): column for name, column in table.items()}
    either = _first(plain, EITHER)
    label, target = _first(plain, PREDICTIONS), _first(plain, TARGETS)
    if label is None:
        label = either
    elif target is None:
        target = either
    if label is None:
        names = ", ".join(table) or "none"
        raise UnreadableError(f"{path.name} has no column of predictions by its name; its columns: {names}")
    columns = {"label": label, "target": target, "score": _first(plain, SCORES), "id": _first(plain, IDS)}
    known = {name: np.asarray(column) for name, column in columns.items() if column is not None}
    if len({column.shape for column in known.values()}) > 1 or known["label"].ndim != 1 or not known["label"].size:
        raise UnreadableError(f"{path.name} has columns of other lengths than one entry an example")
    return known


def plain_name(name: str) -> str:
    """Return the name of a column in lower case, letters and digits only.

    Examples
    --------
    >>> plain_name("Image_ID")
    'imageid'
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _first(columns: dict[str, Any], names: Collection[str]) -> Any:
    return next((column for name, column in columns.items() if name in names), None)


def _is_whole(values: Any) -> bool:
    return bool(np.all(np.isfinite(values)) and np.all(values == np.floor(values)))
