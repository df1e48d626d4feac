"""Tables that are derived from the files of a run: remade whenever they are missing, damaged or out of date."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deviate.replicate.workspace.files import FileSum, file_sum, write_whole


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """What a derived file was made from, and what it held then; stands beside it."""

    made_from: str
    content: FileSum


def stamp_of(files: Iterable[Path], *parts: object) -> str:
    """Digest what a table is made from: size and time of every file, and `parts`."""
    sizes = [(str(path), status.st_size, status.st_mtime_ns) for path in files for status in [path.stat()]]
    return hashlib.sha256(msgspec.json.encode([parts, sizes])).hexdigest()


def derived_table(target: Path, stamp: str, make: Callable[[], pa.Table], spare: Path) -> Path:
    """Return a Parquet file, made now where it is missing or was made from something else.

    `stamp` stands for what it is made from. `spare` is written where this reader may not write to `target`'s folder.
    """
    if _is_current(target, stamp):
        return target
    table = make()
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return _written(table, spare)
    _written(table, target)
    derived = Derived(made_from=stamp, content=file_sum(target))
    write_whole(_beside(target), msgspec.json.encode(derived))
    return target


def _written(table: pa.Table, target: Path) -> Path:
    aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    pq.write_table(table, aside, compression="zstd")
    aside.replace(target)
    return target


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _is_current(path: Path, stamp: str) -> bool:
    """Tell whether a derived file is there, whole, and made from what there is; if not it is made again."""
    try:
        derived = msgspec.json.decode(_beside(path).read_bytes(), type=Derived)
        return derived.made_from == stamp and file_sum(path) == derived.content
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
