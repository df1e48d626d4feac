"""Tables that are derived from the files of a run: remade whenever they are missing, damaged or out of date."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np

from deviate.observe.database import Table, parquet_shape, read_parquet, write_parquet
from deviate.observe.identity import Series, table_series
from deviate.observe.records import TICK_NAME, run_table
from deviate.store.files import FileSum, file_sum, write_aside, write_whole
from deviate.store.folders import RunFolder


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """What a derived file was made from, and what it held then; stands beside it."""

    made_from: str
    content: FileSum


@dataclass(frozen=True, eq=False)
class DerivedTable:
    """A table in its Parquet file, or in memory where that file cannot be written or read."""

    path: Path
    #: None where the file has it.
    held: Table | None = None


def stamp_of(files: Iterable[Path], *parts: object) -> str:
    """Digest what a table is made from: size and time of every file, and `parts`."""
    sizes = [(str(path), status.st_size, status.st_mtime_ns) for path in files for status in [path.stat()]]
    return hashlib.sha256(msgspec.json.encode([parts, sizes])).hexdigest()


def derived_table(target: Path, stamp: str, make: Callable[[], Table]) -> DerivedTable:
    """Return a table, made now where its file is missing or was made from something else.

    `stamp` stands for what it is made from. The file spares making it again: where there is no room for it, where its
    folder may not be written to or the file cannot be read back, the table is held in memory.
    """
    if _is_current(target, stamp):
        return DerivedTable(target)
    table = make()
    return DerivedTable(target, None if _keep(table, target, stamp) else table)


def read_derived(target: Path, stamp: str, make: Callable[[], Table]) -> Table:
    """Return what the file of a table has, which is made now like that of a `derived_table`."""
    if _is_current(target, stamp):
        with suppress(OSError):
            return read_parquet(target)
    table = make()
    _keep(table, target, stamp)
    return table


def _keep(table: Table, target: Path, stamp: str) -> bool:
    try:
        write_aside(target, lambda aside: write_parquet(aside, table))
        # A head may be larger than readers allow; without what is written below, the file is made again.
        parquet_shape(target)
        derived = Derived(made_from=stamp, content=file_sum(target))
        write_whole(_beside(target), msgspec.json.encode(derived))
    except OSError:
        return False
    return True


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _is_current(path: Path, stamp: str) -> bool:
    """Tell whether a derived file is there, whole, and made from what there is; if not it is made again."""
    try:
        derived = msgspec.json.decode(_beside(path).read_bytes(), type=Derived)
        return derived.made_from == stamp and file_sum(path) == derived.content
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False


# The records of a run that has ended: in memory, and as a Parquet file that is derived from its record files.

#: Raised when the columns change: files of another version are remade.
VERSION = "2"


@dataclass(frozen=True, eq=False)
class RunRecords:
    """The records of a run that has ended."""

    folder: RunFolder
    #: Names of the experiment's metrics: the position is the id.
    metrics: Sequence[str]

    @property
    def series(self) -> dict[str, Series]:
        """The values by metric."""
        return self._read[0]

    @property
    def names(self) -> set[tuple[str, int]]:
        """The names of metrics that have records, each with its index in the experiment (-1: unforeseen)."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[dict[str, Series], set[tuple[str, int]]]:
        table = run_table(self.folder, self.metrics)
        return table_series(table), _names(table)

    def stored(self) -> DerivedTable:
        """Return the records as a table whose file is made now where it is missing or was made from other files."""
        return derived_table(
            self.folder.parquet_file,
            stamp_of([*self.folder.record_files(), *self.folder.event_files()], VERSION, list(self.metrics)),
            lambda: run_table(self.folder, self.metrics),
        )


def _names(table: Table) -> set[tuple[str, int]]:
    sources = table.columns["source"].astype(np.int64) + 1
    width = int(sources.max(initial=0)) + 1
    # Counted, since millions of pairs take seconds to be sorted.
    present = np.flatnonzero(np.bincount(table.columns["metric"].astype(np.int64) * width + sources)).tolist()
    pairs = ((table.words["metric"][pair // width], pair % width - 1) for pair in present)
    return {pair for pair in pairs if pair[0] != TICK_NAME}
