"""Read what the models of a run predicted in evaluation; the format is that of the runtime's `predictions.storing`."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from deviate.collect.integrity import DamagedError, require_whole
from deviate.collect.prediction_files import UnreadableError, read_prediction_file
from deviate.collect.runs import RunFiles
from deviate.collect.tables import LAST_VALUES
from deviate.experiment import SCHEMA
from deviate.replicate.workspace.folders import PREDICTIONS

Array = npt.NDArray[Any]

#: Bytes of the line of JSON, and of all columns of a pass, at most.
MAX_HEADER = 64 << 20
MAX_COLUMNS = 8 << 30


class Frame(msgspec.Struct, frozen=True):
    """A line of the program that was running."""

    file: str
    line: int
    function: str


class Column(msgspec.Struct, frozen=True):
    """A column as the header describes it."""

    name: str
    dtype: str
    shape: list[int]
    bytes: int


class Header(msgspec.Struct, frozen=True):
    """The header of a file of predictions."""

    schema: int
    site: Frame
    chain: list[Frame]
    data: str
    kept: str
    iteration: int
    number: int
    rank: int | None
    rows: int
    #: None where targets are not known.
    goodness: float | None
    classes: list[str] | None
    columns: list[Column]


@dataclass(frozen=True)
class EvaluationPass:
    """The predictions of one evaluation pass of a run.

    Attributes
    ----------
    header : Header
    columns : dict of str to ndarray
        ``label`` or ``value``, perhaps ``target``, ``score``, ``scores`` (probabilities), ``index`` and ``digest``: one
        entry an example, in the order in which they were evaluated.
    features : ndarray of float, shape (n_some, n_features), optional
        What entered the last linear layer, of the examples in `feature_rows`.
    """

    header: Header
    columns: dict[str, Array]
    features: Array | None = None
    feature_rows: Array | None = None

    @property
    def point(self) -> str:
        """What is the same in all runs of the program: the lines that evaluated, and what they evaluated."""
        return " ".join([*(f"{each.file}:{each.line}" for each in self.header.chain), self.header.data])


@dataclass(frozen=True)
class RunPredictions:
    """What the models of a run predicted: passes by point of the program and by what was kept."""

    run: str
    variant: str
    passes: dict[tuple[str, str], EvaluationPass]
    #: Files that could not be read, each with the reason.
    damaged: list[str]


def read_predictions(run: RunFiles) -> RunPredictions:
    """Read the passes of a completed run; of several ranks, what those with numbers of examples evaluated together."""
    passes: dict[tuple[str, str], list[EvaluationPass]] = {}
    damaged = []
    for path in run.folder.prediction_files():
        try:
            require_whole(run.folder, run.outcome, path.name)
            read = read_pass(path) if path.suffix == ".bin" else read_table(path)
        except (DamagedError, UnreadableError) as error:
            damaged.append(str(error))
            continue
        passes.setdefault((read.point, read.header.kept), []).append(read)
    joined = {key: joined_ranks(parts) for key, parts in passes.items()}
    return RunPredictions(run.name, run.variant, _without_worse(joined), damaged)


def _without_worse(passes: dict[tuple[str, str], EvaluationPass]) -> dict[tuple[str, str], EvaluationPass]:
    """Leave out passes kept as the best before the last one was: the file of an earlier one may still be there."""

    def is_best(key: tuple[str, str], each: EvaluationPass) -> bool:
        last = passes.get((key[0], "last"))
        return last is None or (each.header.goodness or 0.0) > (last.header.goodness or 0.0)

    return {key: each for key, each in passes.items() if key[1] == "last" or is_best(key, each)}


def read_pass(path: Path) -> EvaluationPass:
    """Read one file.

    Raises
    ------
    DamagedError
        If it does not hold what its header says.
    """
    try:
        with path.open("rb") as file:
            header = msgspec.json.decode(file.readline(MAX_HEADER), type=Header)
            columns = {column.name: _read_column(file.read(column.bytes), column) for column in header.columns}
    except (OSError, ValueError, TypeError, zlib.error, msgspec.MsgspecError) as error:
        raise DamagedError(f"{path.name} is damaged: {error}") from error
    if "index" in columns:
        columns["index"] = np.cumsum(columns["index"], dtype=np.int64)
    features, feature_rows = columns.pop("features", None), columns.pop("feature_rows", None)
    if features is not None and (feature_rows is None or len(features) != len(feature_rows)):
        raise DamagedError(f"{path.name} is damaged: not all features are of a row")
    if feature_rows is not None and not (feature_rows < header.rows).all():
        raise DamagedError(f"{path.name} is damaged: features are of more than {header.rows} rows")
    if {"target"} - columns.keys() or any(len(array) != header.rows for array in columns.values()):
        raise DamagedError(f"{path.name} is damaged: a column is missing or has not {header.rows} rows")
    if "scores" in columns:
        columns["scores"] = as_probabilities(columns["scores"])
    return EvaluationPass(header, columns, features, feature_rows)


#: Scores of an example that add up to 1 to this are probabilities.
ADD_UP = 1e-3


def as_probabilities(scores: Array) -> Array:
    """Return probabilities of classes, from such, from their logarithms or from logits (by the softmax).

    Examples
    --------
    >>> as_probabilities(np.array([[0.25, 0.75]])).tolist(), as_probabilities(np.array([[0.0, 0.0]])).tolist()
    ([[0.25, 0.75]], [[0.5, 0.5]])
    """
    if (scores >= 0).all() and (np.abs(scores.sum(axis=1) - 1) <= ADD_UP).all():
        return scores
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities: Array = shifted / shifted.sum(axis=1, keepdims=True)
    return probabilities


def read_table(path: Path) -> EvaluationPass:
    """Read a file that the program wrote itself.

    Raises
    ------
    UnreadableError
        See `read_prediction_file`.
    """
    columns = read_prediction_file(path)
    classes = _as_numbers(columns) if "label" in columns else None
    if (ids := columns.pop("id", None)) is not None:
        columns["digest"] = pd.util.hash_array(ids.astype(str).astype(object))
    header = Header(
        schema=SCHEMA, site=Frame(path.name.removeprefix(PREDICTIONS), 0, ""), chain=[], data="", kept="last",
        iteration=LAST_VALUES, number=0, rank=None, rows=len(next(iter(columns.values()))), goodness=_goodness(columns),
        classes=classes, columns=[],
    )  # fmt: skip
    return EvaluationPass(header, columns)


def _as_numbers(columns: dict[str, Array]) -> list[str] | None:
    """Make labels and targets whole numbers; return the names that these stand for, None where they were numbers."""
    names = [name for name in ("label", "target") if name in columns]
    if all(columns[name].dtype.kind in "iubf" for name in names):
        columns.update({name: columns[name].astype(np.int64) for name in names})
        return None
    texts = np.concatenate([columns[name].astype(str) for name in names])
    classes, codes = np.unique(texts, return_inverse=True)
    columns.update(zip(names, np.split(codes, len(names)), strict=True))
    return [str(each) for each in classes]


def _goodness(columns: dict[str, Array]) -> float | None:
    if "target" not in columns:
        return None
    if "label" in columns:
        return float((columns["label"] == columns["target"]).mean())
    return -float(((columns["value"] - columns["target"]) ** 2).mean())


def _read_column(block: bytes, column: Column) -> Array:
    dtype = np.dtype(column.dtype)
    size = math.prod(column.shape) * dtype.itemsize
    if dtype.kind not in "biuf" or not 0 <= size <= MAX_COLUMNS:
        raise ValueError(f"column {column.name} cannot have {size} bytes of {column.dtype}")
    plain = zlib.decompressobj().decompress(block, size)
    return np.frombuffer(plain, dtype).reshape(column.shape)


def joined_ranks(parts: Iterable[EvaluationPass]) -> EvaluationPass:
    """Return the pass that the ranks of a distributed training made together, each example once; else the first's."""
    ordered = sorted(parts, key=lambda part: part.header.rank or 0)
    if len(ordered) == 1 or any("index" not in part.columns for part in ordered):
        return ordered[0]
    names = set.intersection(*(set(part.columns) for part in ordered))
    columns = {name: np.concatenate([part.columns[name] for part in ordered]) for name in sorted(names)}
    _, first = np.unique(columns["index"], return_index=True)
    header = msgspec.structs.replace(ordered[0].header, rows=len(first))
    return EvaluationPass(header, {name: column[first] for name, column in columns.items()})
