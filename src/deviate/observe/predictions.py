"""What the models of a run predicted in evaluation: captured, or in a program's file; without masked targets."""

from __future__ import annotations

import dataclasses
import math
import sys
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from deviate.core.experiment import SCHEMA
from deviate.observe.database import parquet_shape, read_parquet
from deviate.observe.foreign_arrays import MOST_UNPACKED, UNREADABLE, read_npy, read_npz
from deviate.observe.records import RunFiles
from deviate.observe.tables import LAST_VALUES
from deviate.store.folders import PREDICTIONS
from deviate.store.integrity import DamagedError, require_whole

# Read predictions from a file that the program itself writes: ``--predictions preds.csv``.

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
PREDICTION_COLUMNS = frozenset(
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

    Raises UnreadableError if it is damaged, or no column is one of predictions by its name.
    """
    columns = _named(read_columns(path, names=("prediction", "target")), path)
    kind = "value" if columns["label"].dtype.kind == "f" and not _is_whole(columns["label"]) else "label"
    return {kind if name == "label" else name: column for name, column in columns.items()}


def read_columns(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Read the columns of a table; those of an ``.npy``, which have none, get `names` in their order.

    Raises UnreadableError if it is damaged, or an array has more columns than there are names.
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
    # Few programs write such tables: pandas is imported for those that do.
    import pandas as pd

    if path.suffix == ".jsonl":
        table = pd.read_json(path, lines=True)
    else:
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
    label, target = _first(plain, PREDICTION_COLUMNS), _first(plain, TARGETS)
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

    >>> plain_name("Image_ID")
    'imageid'
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _first(columns: dict[str, Any], names: Collection[str]) -> Any:
    return next((column for name, column in columns.items() if name in names), None)


def _is_whole(values: Any) -> bool:
    return bool(np.all(np.isfinite(values)) and np.all(values == np.floor(values)))


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


class LaterPass(msgspec.Struct, frozen=True):
    """The header of a pass after the first in a file of every pass."""

    number: int
    iteration: int
    classes: list[str] | None
    columns: list[Column]
    #: Whether labels are the differences from those of the pass before.
    difference: bool


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
        entry an example, in the order in which they were evaluated. Of every pass in one: ``label`` has a column for
        each, and the header is that of the first.
    numbers, iterations : tuple of int
        Of every pass in one: the number of each pass at its point, and the iteration of the main loop.
    features : ndarray of float, shape (n_some, n_features), optional
        What entered the last linear layer, of the examples in `feature_rows`.
    inputs : ndarray of uint8, shape (n_some, height, width, channels), or of str, shape (n_some,), optional
        The inputs that the model was least certain of, pictures or texts, those of the examples in `input_rows`.
    """

    header: Header
    columns: dict[str, Array]
    numbers: tuple[int, ...] = ()
    iterations: tuple[int, ...] = ()
    features: Array | None = None
    feature_rows: Array | None = None
    inputs: Array | None = None
    input_rows: Array | None = None

    @property
    def is_file(self) -> bool:
        """Whether the program wrote it itself; digests are of its ids then, not of inputs."""
        return not self.header.chain

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
    """Read the passes of a completed run; of several ranks, what those with numbers of examples evaluated together.

    Of processes that are no ranks, trainings one after the other, it is that of the last, as of their other values.
    """
    passes: dict[tuple[str, str], list[EvaluationPass]] = {}
    damaged = []
    # The name ends in when the process began.
    for path in sorted(run.folder.prediction_files(), key=lambda path: path.stem.rpartition("-")[2]):
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

    return {key: each for key, each in passes.items() if key[1] != "best" or is_best(key, each)}


def read_pass(path: Path) -> EvaluationPass:
    """Read one file, of one pass or of every pass.

    Raises DamagedError if it does not hold what its header says.
    """
    try:
        with path.open("rb") as file:
            header = msgspec.json.decode(file.readline(MAX_HEADER), type=Header)
            columns = _read_columns(file, header.columns)
            later = list(_later_passes(file)) if header.kept == "every" else []
    except (OSError, ValueError, TypeError, KeyError, zlib.error, msgspec.MsgspecError) as error:
        raise DamagedError(f"{path.name} is damaged: {error}") from error
    if "index" in columns:
        columns["index"] = np.cumsum(columns["index"], dtype=np.int64)
    features, feature_rows = _of_some_rows(path, header, columns, "features", "feature_rows")
    pictures, picture_rows = _of_some_rows(path, header, columns, "pictures", "picture_rows")
    if pictures is not None and (pictures.dtype != np.uint8 or pictures.ndim != 4):
        raise DamagedError(f"{path.name} is damaged: its pictures are none")
    texts, text_rows = _of_some_rows(path, header, columns, "texts", "text_rows")
    if texts is not None and (texts.dtype.kind != "u" or texts.ndim != 2 or (texts > sys.maxunicode).any()):
        raise DamagedError(f"{path.name} is damaged: its texts are none")
    every = [*columns.values(), *(labels for _, labels in later)]
    if {"target"} - columns.keys() or any(len(array) != header.rows for array in every):
        raise DamagedError(f"{path.name} is damaged: a column is missing or has not {header.rows} rows")
    if "scores" in columns:
        columns["scores"] = as_probabilities(columns["scores"])
    if header.kept == "every":
        return every_pass(header, columns, later)
    inputs, input_rows = (pictures, picture_rows) if texts is None else (_joined(texts), text_rows)
    return EvaluationPass(
        header, columns, features=features, feature_rows=feature_rows, inputs=inputs, input_rows=input_rows
    )


def _joined(characters: Array) -> Array:
    """Return texts from the numbers of their characters, shape ``(n, length)``; what UTF-8 has not is replaced."""
    texts = ("".join(map(chr, row)).rstrip("\0") for row in characters.tolist())
    return np.array([text.encode(errors="replace").decode() for text in texts])


def _of_some_rows(
    path: Path, header: Header, columns: dict[str, Array], name: str, rows_name: str
) -> tuple[Array | None, Array | None]:
    """Take what is kept of some rows alone, and their numbers, from the columns."""
    values, rows = columns.pop(name, None), columns.pop(rows_name, None)
    if values is not None and (rows is None or len(values) != len(rows)):
        raise DamagedError(f"{path.name} is damaged: not all {name} are of a row")
    if rows is not None and not (rows < header.rows).all():
        raise DamagedError(f"{path.name} is damaged: {name} are of more than {header.rows} rows")
    return values, rows


def _read_columns(file: BinaryIO, columns: Sequence[Column]) -> dict[str, Array]:
    return {column.name: _read_column(file.read(column.bytes), column) for column in columns}


def _later_passes(file: BinaryIO) -> Iterator[tuple[LaterPass, Array]]:
    while line := file.readline(MAX_HEADER):
        header = msgspec.json.decode(line, type=LaterPass)
        yield header, _read_columns(file, header.columns)["label"]


def every_pass(header: Header, columns: dict[str, Array], later: Sequence[tuple[LaterPass, Array]]) -> EvaluationPass:
    """Put every pass of a run at one point together: labels of shape ``(n_examples, n_passes)``, with common names."""
    labels = [columns["label"].astype(np.int64)]
    for each, column in later:
        labels.append(labels[-1] + column if each.difference else column.astype(np.int64))
    named = [header.classes, *(each.classes for each, _ in later)]
    names = sorted({name for classes in named for name in classes or ()})
    if names:
        labels = [np.searchsorted(names, classes or [])[codes] for classes, codes in zip(named, labels, strict=True)]
        columns = {**columns, "target": np.searchsorted(names, header.classes or [])[columns["target"]]}
    return EvaluationPass(
        msgspec.structs.replace(header, classes=names or None),
        {**columns, "label": np.stack(labels, axis=1)},
        (header.number, *(each.number for each, _ in later)),
        (header.iteration, *(each.iteration for each, _ in later)),
    )


#: Scores of an example that add up to 1 to this are probabilities.
ADD_UP = 1e-3


def as_probabilities(scores: Array) -> Array:
    """Return probabilities of classes, from such, from their logarithms or from logits (by the softmax).

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

    Raises UnreadableError see `read_prediction_file`.
    """
    columns = read_prediction_file(path)
    classes = _as_numbers(columns) if "label" in columns else None
    if (ids := columns.pop("id", None)) is not None:
        columns["digest"] = digest_of(ids)
    header = Header(
        schema=SCHEMA, site=Frame(path.name.removeprefix(PREDICTIONS), 0, ""), chain=[], data="", kept="last",
        iteration=LAST_VALUES, number=0, rank=None, rows=len(next(iter(columns.values()))), goodness=_goodness(columns),
        classes=classes, columns=[],
    )  # fmt: skip
    return EvaluationPass(header, columns)


def digest_of(ids: Array) -> Array:
    """Return a number for each id, by its text."""
    import pandas as pd

    digests: Array = pd.util.hash_array(ids.astype(str).astype(object))
    return digests


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


def joined_ranks(parts: Sequence[EvaluationPass]) -> EvaluationPass:
    """Return the pass that ranks made together, each example once; else the first rank's, without ranks the last."""
    if all(part.header.rank is None for part in parts):
        return parts[-1]
    ordered = sorted(parts, key=lambda part: part.header.rank or 0)
    if len(ordered) == 1 or any("index" not in part.columns for part in ordered):
        return ordered[0]
    names = set.intersection(*(set(part.columns) for part in ordered))
    columns = {name: np.concatenate([part.columns[name] for part in ordered]) for name in sorted(names)}
    _, first = np.unique(columns["index"], return_index=True)
    header = msgspec.structs.replace(ordered[0].header, rows=len(first))
    return EvaluationPass(header, {name: column[first] for name, column in columns.items()})


# Targets that a program masks (padding, -1, -100, ``ignore_index``): they are no labels, so no prediction is wrong.


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
