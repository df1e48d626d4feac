"""DuckDB, which asks tables and reads and writes their Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deviate.collect.queries import COLUMNS, NOTES, SHAPE, quoted

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length."""

    #: Numbers; of texts, places among the column's `words`.
    columns: dict[str, NDArray[Any]]
    words: Mapping[str, list[str]] = field(default_factory=dict)
    #: JSON that is said of the whole table, by key.
    notes: Mapping[bytes, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a database in memory, with views and temporary tables of its own."""
    import duckdb

    try:
        with _database().cursor() as connection:
            yield connection
    except duckdb.Error:
        # Some errors leave a database that answers nothing any more.
        _database.cache_clear()
        raise


@cache
def _database() -> duckdb.DuckDBPyConnection:
    # Importing and connecting take a tenth of a second, so both wait until a table is asked for, and happen once.
    import duckdb

    return duckdb.connect()


@contextmanager
def _files() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection; whatever goes wrong there, a damaged file or a full disk, is an OSError."""
    import duckdb

    try:
        with connected() as connection:
            yield connection
    except duckdb.Error as error:
        raise OSError(str(error)) from error


def write_parquet(path: Path, table: Table) -> None:
    """Write a table to a file.

    Raises
    ------
    OSError
        If it cannot be written to its end.
    """
    notes = ", ".join(f"{quoted(key.decode())}: {quoted(note.decode())}" for key, note in table.notes.items())
    options = f"FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false{f', KV_METADATA {{{notes}}}' if notes else ''}"
    with _files() as connection:
        query, words = selected(connection, table)
        connection.execute(f"COPY ({query}) TO {quoted(path)} ({options})", words)


def read_parquet(path: Path) -> Table:
    """Return the table of a file; a column that has nulls is masked.

    Raises
    ------
    OSError
        If there is none.
    """
    with _files() as connection:
        columns: dict[str, Any] = connection.execute(COLUMNS, {"path": str(path)}).fetchnumpy()
        notes = connection.execute(NOTES, {"path": str(path)}).fetchall()
    return Table(columns, notes={bytes(key): bytes(note) for key, note in notes})


def parquet_shape(path: Path) -> tuple[int, int]:
    """Return how many rows and columns a Parquet file has, as its head says.

    Raises
    ------
    OSError
        If it has no head that can be read.
    """
    with _files() as connection:
        ((rows, columns),) = connection.execute(SHAPE, {"path": str(path)}).fetchall()
    return rows, columns


def selected(connection: duckdb.DuckDBPyConnection, table: Table) -> tuple[str, dict[str, list[str]]]:
    """Return the query that gives a table, once a connection has been told of it, and the query's parameters."""
    given, columns = dict(table.columns), []
    for name, column in table.columns.items():
        expression = f'"{name}"'
        if name in table.words:
            expression = f"(${name}::VARCHAR[])[{expression} + 1]"
        elif column.dtype.kind == "f" and np.isnan(column).any():
            # DuckDB takes NaN in an array for NULL.
            given[f"bits of {name}"] = np.ascontiguousarray(column).view(np.int64)
            expression = f'"bits of {name}"::BIT::DOUBLE'
        columns.append(f'{expression} AS "{name}"')
    connection.register("given", given)
    return f"SELECT {', '.join(columns)} FROM given", dict(table.words)
