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

from deviate.collect.integrity import file_damage
from deviate.collect.runs import RunFiles

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
    goodness: float
    examples: str
    classes: list[str] | None
    columns: list[Column]


class DamagedError(ValueError):
    """A file of predictions that does not hold what its header says."""


@dataclass(frozen=True)
class EvaluationPass:
    """The predictions of one evaluation pass of a run.

    Attributes
    ----------
    header : Header
    columns : dict of str to ndarray
        ``target`` and ``label`` or ``value``, perhaps ``score``, ``scores``, ``index`` and ``digest``: one entry an
        example, in the order in which they were evaluated.
    """

    header: Header
    columns: dict[str, Array]

    @property
    def point(self) -> str:
        """What is the same in all runs of the program: the lines that evaluated, and what they evaluated."""
        return " ".join([*(f"{each.file}:{each.line}" for each in self.header.chain), self.header.data])


@dataclass(frozen=True)
class RunPredictions:
    """What the models of a run predicted: passes by point of the program and by what was kept."""

    run: str
    passes: dict[tuple[str, str], EvaluationPass]
    #: Files that could not be read, each with the reason.
    damaged: list[str]


def read_predictions(run: RunFiles) -> RunPredictions:
    """Read the passes of a completed run; of several ranks, what those with numbers of examples evaluated together."""
    assert run.outcome is not None
    passes: dict[tuple[str, str], list[EvaluationPass]] = {}
    damaged = []
    for path in run.folder.prediction_files():
        try:
            if difference := _difference(run, path):
                raise DamagedError(difference)
            read = read_pass(path)
        except DamagedError as error:
            damaged.append(str(error))
            continue
        passes.setdefault((read.point, read.header.kept), []).append(read)
    joined = {key: joined_ranks(parts) for key, parts in passes.items()}
    return RunPredictions(run.name, _without_worse(joined), damaged)


def _difference(run: RunFiles, path: Path) -> str:
    stored = run.outcome.files.get(path.name) if run.outcome is not None else None
    return file_damage(run.folder, path.name, stored) if stored is not None else ""


def _without_worse(passes: dict[tuple[str, str], EvaluationPass]) -> dict[tuple[str, str], EvaluationPass]:
    """Leave out passes kept as the best before the last one was: the file of an earlier one may still be there."""

    def is_best(key: tuple[str, str], each: EvaluationPass) -> bool:
        last = passes.get((key[0], "last"))
        return last is None or each.header.goodness > last.header.goodness

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
    if {"target"} - columns.keys() or any(len(array) != header.rows for array in columns.values()):
        raise DamagedError(f"{path.name} is damaged: a column is missing or has not {header.rows} rows")
    return EvaluationPass(header, columns)


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
