"""What a user knows of the evaluated examples: groups and inputs, matched with the rows of predictions."""

from __future__ import annotations

import base64
import math
import numbers
import os
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from deviate.observe.foreign_arrays import UNREADABLE, read_npy
from deviate.observe.matching import Match, Predictions, Withheld, places_of
from deviate.observe.predictions import IDS, Array, UnreadableError, digest_of, plain_name, read_columns

# Which row of a table that the user gives is of which evaluated example.

#: Columns of examples' ids; pandas names that of its index so.
ID_COLUMNS = IDS | {"unnamed0"}


def without_ids(columns: Mapping[str, Array]) -> tuple[dict[str, Array], Array | None]:
    """Return the columns of a table that are not ids, and the first that is."""
    ids = [name for name in columns if plain_name(name) in ID_COLUMNS]
    others = {name: column for name, column in columns.items() if name not in ids}
    return others, columns[ids[0]] if ids else None


def match_rows(name: str, rows: int, ids: Array | None, predicted: Predictions) -> tuple[Match, Array] | Withheld:
    """Match the rows of a table with the evaluated examples: by what, and the row of each.

    They are matched by index or id where both have them, else by position: the table has as many rows as examples were
    evaluated, and these are the whole data set, or come in one order in all runs.

    Parameters
    ----------
    name : str
        Of the file, for the reason.
    rows : int
    ids : ndarray, shape (rows,), or None
        What the file calls the examples.
    predicted : Predictions
    """
    by = predicted.by
    numbered = ids if ids is not None and ids.dtype.kind in "iu" else None
    if by == "index" and numbered is not None:
        return _looked_up(name, numbered, predicted.keys, by)
    if by == "digest" and predicted.has_ids and ids is not None:
        return _looked_up(name, digest_of(ids), predicted.keys, by)
    examples = len(predicted.keys)
    if rows != examples or predicted.left_out:
        known = "" if ids is None else ", and its ids are not what examples are known by"
        return Withheld(f"{name} has {rows} rows, but {examples + predicted.left_out} examples{known}")
    places = predicted.places if predicted.in_one_order else None
    if by == "index" and (predicted.keys == np.arange(examples)).all():
        places = predicted.keys
    if places is None:
        return Withheld("examples come in another order in each run, so rows cannot be matched by position")
    if numbered is not None and (np.sort(numbered) == np.arange(examples)).all():
        return _looked_up(name, numbered, places, "position")
    return "position", places


def _looked_up(name: str, ids: Array, wanted: Array, by: Match) -> tuple[Match, Array] | Withheld:
    if len(np.unique(ids)) != len(ids):
        return Withheld(f"{name} has several rows for one example")
    missing = int((~np.isin(wanted, ids)).sum())
    if missing:
        return Withheld(f"{name} has no row for {missing} of the {len(wanted)} examples")
    return by, places_of(wanted, ids)


#: Groups of a column; a column with more different values is no column of groups.
MOST_GROUPS = 100

#: The column that says which examples are not independent of each other, such as those of one patient.
CLUSTER = "cluster"

#: Columns of an array without names.
MOST_COLUMNS = 64

#: The group of examples for which a column says nothing.
NO_GROUP = "(none)"


@dataclass(frozen=True)
class GroupTable:
    """Columns of groups, a row an example.

    Attributes
    ----------
    name : str
        Of the file.
    columns : dict of str to ndarray
        All of one length ``n_rows``.
    ids : ndarray, shape (n_rows,), or None
        What the file calls the examples.
    """

    name: str
    columns: dict[str, Array]
    ids: Array | None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class Grouping:
    """The evaluated examples by the groups of one column.

    Attributes
    ----------
    name : str
        Of the column; empty where it has none.
    groups : tuple of str
        Ascending; those without a group last.
    members : ndarray of int, shape (n_examples,)
        The position in `groups` of each example.
    """

    name: str
    groups: tuple[str, ...]
    members: Array


@dataclass(frozen=True)
class Groups:
    """The evaluated examples by the groups of one table.

    Attributes
    ----------
    source : str
        The file.
    by : str
        What matched rows and examples, see `Predictions`; a ``digest`` is one of ids.
    groupings : tuple of Grouping
        One a column.
    clusters : ndarray of int, shape (n_examples,), or None
        The cluster of each example, where the table has them.
    """

    source: str
    by: Match
    groupings: tuple[Grouping, ...]
    clusters: Array | None = None


def group_label(column: str, name: str) -> str:
    """Return what a group is called beside those of other columns.

    >>> group_label("sex", "male"), group_label("", "3")
    ('sex=male', '3')
    """
    return f"{column}={name}" if column else name


def read_group_table(path: Path) -> GroupTable:
    """Read a file of groups: ``csv``, ``tsv``, ``jsonl``, ``parquet``, ``npz``, or ``npy`` without names of columns.

    Raises UnreadableError if it is damaged, or its columns are not of one length.
    """
    columns = read_columns(path, names=["", *(str(number) for number in range(1, MOST_COLUMNS))])
    if len({np.shape(column) for column in columns.values()}) != 1 or np.ndim(next(iter(columns.values()))) != 1:
        raise UnreadableError(f"{path.name} has columns of other lengths than one entry an example")
    groups, ids = without_ids(columns)
    if not groups:
        raise UnreadableError(f"{path.name} has no column of groups; its columns: {', '.join(columns) or 'none'}")
    return GroupTable(path.name, groups, ids)


def match_groups(table: GroupTable, predicted: Predictions) -> Groups | Withheld:
    """Match the rows of a table with the evaluated examples.

    Rows are matched as by `deviate.observe.examples.match_rows`.
    """
    matched = match_rows(table.name, table.rows, table.ids, predicted)
    if isinstance(matched, Withheld):
        return matched
    by, rows = matched
    groupings, clusters = [], None
    for name, column in table.columns.items():
        if plain_name(name) == CLUSTER:
            clusters = _clusters(column[rows])
            continue
        grouping = _grouping(name, column[rows])
        if grouping is None:
            return Withheld(
                f"column {name!r} holds no groups: more than {MOST_GROUPS} different values, or no plain ones"
            )
        groupings.append(grouping)
    return Groups(table.name, by, tuple(groupings), clusters)


def _clusters(values: Array) -> Array:
    """Return the number of each example's cluster; an example without one is alone."""
    import pandas as pd

    codes, found = pd.factorize(values.astype(str))
    alone = pd.isna(values) | (values.astype(str) == "")
    return np.where(alone, len(found) + np.arange(len(codes)), codes)


def _grouping(name: str, values: Array) -> Grouping | None:
    """Divide the examples by their values; None where there are too many different ones, or lists."""
    import pandas as pd

    try:
        codes, found = pd.factorize(values.astype(str) if values.dtype.kind == "S" else values)
    except TypeError:  # not hashable
        return None
    if len(found) > MOST_GROUPS:
        return None
    numeric = all(isinstance(value, numbers.Real) for value in found)
    order = sorted(range(len(found)), key=lambda place: found[place] if numeric else str(found[place]))
    names = tuple(_group_name(found[place]) for place in order)
    members = np.append(np.argsort(order), len(order))[codes]  # what has no group has the code -1
    return Grouping(name, (*names, NO_GROUP) if (codes < 0).any() else names, members)


def _group_name(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# Arrays as pictures, in the format PNG.

#: Types of color by number of channels: grey, grey with transparency, red green blue, these with transparency.
COLORS = {1: 0, 2: 4, 3: 2, 4: 6}

#: Channels of a picture in an array: two are more likely something else.
CHANNELS = (1, 3, 4)

#: Pixels of an edge at most; of larger pictures every second pixel is shown, and so on.
LARGEST = 64


def is_picture(shape: tuple[int, ...]) -> bool:
    """Tell whether an array of this shape is a picture: ``(h, w)``, ``(h, w, channels)`` or ``(channels, h, w)``."""
    if len(shape) == 2:
        return min(shape) > 1
    return len(shape) == 3 and min(shape) > 0 and (shape[2] in CHANNELS or shape[0] in CHANNELS)


def picture(array: Array) -> bytes:
    r"""Return a PNG of an array.

    Values of 8 bits are shown as they are, others that lie in 0 to 1 or in 0 to 255 likewise; all others are stretched
    from the least to the greatest of the picture.

    >>> picture(np.eye(2))[:4]
    b'\x89PNG'
    """
    channels_last = array if array.ndim == 2 or array.shape[2] in CHANNELS else np.moveaxis(array, 0, 2)
    step = -(-max(channels_last.shape[:2]) // LARGEST)
    pixels = _as_bytes(channels_last[::step, ::step])
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, -1)
    color = COLORS[rows.shape[1] // width]
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)  # a filter's number before each line
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _as_bytes(array: Array) -> Array:
    if array.dtype == np.uint8:
        return array
    values = np.nan_to_num(array.astype(np.float64))
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 255:
        values = (values - low) / ((high - low) or 1.0)
    elif high > 1:
        values = values / 255
    return np.rint(255 * values).astype(np.uint8)


# Inputs of the evaluated examples, as the user has them: an array, a table or a folder of pictures and texts.

#: Files of a folder that are shown.
PICTURES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
}  # fmt: skip
TEXTS = (".txt",)

#: Bytes of a picture file at most: it stands in the page as it is.
LARGEST_FILE = 100_000

#: Characters of a text that are shown, and numbers of a row of them.
LONGEST, MOST_NUMBERS = 200, 8

#: What columns a table without names has.
NO_NAMES = tuple(str(number) for number in range(64))


class Shown(msgspec.Struct, frozen=True):
    """What is shown of an input: words, and a picture as a ``data:`` address where it is one."""

    text: str
    picture: str = ""


@dataclass(frozen=True)
class Inputs:
    """The inputs in a file or a folder, a row an example.

    Attributes
    ----------
    name : str
        Of the file or folder.
    rows : int
    ids : ndarray, shape (rows,), or None
        What it calls the examples.
    show : callable
        Returns what is shown of the input in a row; it is not read before.
    """

    name: str
    rows: int
    ids: Array | None
    show: Callable[[int], Shown]


def read_inputs(path: Path) -> Inputs:
    """Read what inputs there are, but not yet the inputs.

    An ``.npy`` has one entry an example: a picture, a row of numbers or a text. A table (``csv``, ``tsv``, ``jsonl``,
    ``parquet`` or ``npz``) has one row an example. Of a folder every picture and text is an example, in the order of
    their folders and names; names that are whole numbers are the examples' numbers.

    Raises UnreadableError if it is none of these, or damaged.
    """
    if os.path.isdir(path):
        return _folder(path)
    if path.suffix == ".npy":
        return _array(path)
    columns, ids = without_ids(read_columns(path, names=NO_NAMES))
    if not columns or len({np.shape(column) for column in columns.values()}) != 1:
        raise UnreadableError(f"{path.name} has no columns with one entry an example")
    return Inputs(path.name, len(next(iter(columns.values()))), ids, lambda row: Shown(_row_text(columns, row)))


def _array(path: Path) -> Inputs:
    try:
        array = read_npy(path)
    except UNREADABLE as error:
        raise UnreadableError(f"{path.name} cannot be read: {error or type(error).__name__}") from error
    if array.ndim == 0:
        raise UnreadableError(f"{path.name} is one value, and no array with one entry an example")
    return Inputs(path.name, len(array), None, lambda row: show_entry(np.asarray(array[row])))


def show_entry(entry: Array) -> Shown:
    """Return what is shown of one entry of an array: a picture, a row of numbers or a text."""
    if entry.dtype.kind in "US":
        return Shown(_clipped(" ".join(map(str, np.atleast_1d(entry.astype(str)).tolist()))))
    if is_picture(entry.shape) and entry.dtype.kind in "iufb":
        size = " × ".join(map(str, entry.shape))
        return Shown(f"picture {size}", _address("image/png", picture(entry)))
    numbers = entry.reshape(-1)
    more = " …" if numbers.size > MOST_NUMBERS else ""
    return Shown(" ".join(f"{float(number):.4g}" for number in numbers[:MOST_NUMBERS]) + more)


def _row_text(columns: Mapping[str, Array], row: int) -> str:
    if len(columns) == 1:
        return _clipped(str(next(iter(columns.values()))[row]))
    return _clipped("; ".join(f"{name}: {column[row]}" for name, column in columns.items()))


def _clipped(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= LONGEST else f"{plain[:LONGEST]}…"


def _folder(path: Path) -> Inputs:
    known = (*PICTURES, *TEXTS)
    files = sorted(
        (each for each in path.rglob("*") if each.suffix.lower() in known and os.path.isfile(each)),
        key=lambda each: (str(each.parent), each.name),
    )
    if not files:
        raise UnreadableError(f"{path.name} holds no picture and no text ({', '.join(known)})")
    stems = [each.stem for each in files]
    ids = np.array([int(stem) for stem in stems]) if all(map(str.isdecimal, stems)) else np.array(stems)
    return Inputs(path.name, len(files), ids, lambda row: _file(files[row], path))


def _file(file: Path, folder: Path) -> Shown:
    name = file.relative_to(folder).as_posix()
    if file.suffix.lower() in TEXTS:
        return Shown(_clipped(file.read_text(encoding="utf-8", errors="replace")))
    size = file.stat().st_size
    if size > LARGEST_FILE:
        return Shown(f"{name} ({math.ceil(size / 1000)} kB, too large to show)")
    return Shown(name, _address(PICTURES[file.suffix.lower()], file.read_bytes()))


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
