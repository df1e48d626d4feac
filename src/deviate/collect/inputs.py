"""Inputs of the evaluated examples, as the user has them: an array, a table or a folder of pictures and texts."""

from __future__ import annotations

import base64
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from deviate.collect.foreign_arrays import UNREADABLE, read_npy
from deviate.collect.pictures import is_picture, picture
from deviate.collect.prediction_files import UnreadableError, read_columns
from deviate.collect.predictions import Array
from deviate.collect.rows import without_ids

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

    Raises
    ------
    UnreadableError
        If it is none of these, or damaged.
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
