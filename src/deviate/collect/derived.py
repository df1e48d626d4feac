"""Tables that are derived from the files of a run: remade whenever they are missing, damaged or out of date."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deviate.replicate.workspace.files import FileSum, file_sum, write_aside, write_whole


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """What a derived file was made from, and what it held then; stands beside it."""

    made_from: str
    content: FileSum


@dataclass(frozen=True, eq=False)
class DerivedTable:
    """A table in its Parquet file, or in memory where that file cannot be written or read."""

    path: Path
    #: None where the file has it.
    held: pa.Table | None = None

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the table, or some of its columns."""
        if self.held is not None:
            return self.held if columns is None else self.held.select(columns)
        # pq.read_table would import pandas.
        return pq.ParquetFile(self.path).read(columns=columns)


def stamp_of(files: Iterable[Path], *parts: object) -> str:
    """Digest what a table is made from: size and time of every file, and `parts`."""
    sizes = [(str(path), status.st_size, status.st_mtime_ns) for path in files for status in [path.stat()]]
    return hashlib.sha256(msgspec.json.encode([parts, sizes])).hexdigest()


def derived_table(target: Path, stamp: str, make: Callable[[], pa.Table]) -> DerivedTable:
    """Return a table, made now where its file is missing or was made from something else.

    `stamp` stands for what it is made from. The file spares making it again: where there is no room for it, where its
    folder may not be written to or the file cannot be read back, the table is held in memory.
    """
    if _is_current(target, stamp):
        return DerivedTable(target)
    table = make()
    try:
        write_aside(target, lambda aside: pq.write_table(table, aside, compression="zstd"))
        derived = Derived(made_from=stamp, content=file_sum(target))
        write_whole(_beside(target), msgspec.json.encode(derived))
    except (OSError, pa.ArrowException):
        return DerivedTable(target, table)
    return DerivedTable(target) if _is_readable(target) else DerivedTable(target, table)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _is_current(path: Path, stamp: str) -> bool:
    """Tell whether a derived file is there, whole, and made from what there is; if not it is made again."""
    try:
        derived = msgspec.json.decode(_beside(path).read_bytes(), type=Derived)
        return derived.made_from == stamp and file_sum(path) == derived.content and _is_readable(path)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False


def _is_readable(path: Path) -> bool:
    """Tell whether the head of a Parquet file can be read: one that was written may be larger than readers allow."""
    with suppress(OSError, pa.ArrowException):
        pq.ParquetFile(path).close()
        return True
    return False
