"""DuckDB, which asks tables and reads and writes their Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import duckdb


# What is asked of the records of runs, in SQL; `record` is the view of `RECORDS`, or of `NO_RECORDS`.

#: The records of files, and those of runs whose files cannot be written.
STORED = "SELECT * FROM read_parquet({files}, filename = true, file_row_number = true)"
HELD = "SELECT * FROM held"

# What a Parquet file has, what is said of it, and the numbers of its rows and columns.
COLUMNS = "SELECT * FROM read_parquet($path)"
NOTES = "SELECT key, value FROM parquet_kv_metadata($path)"
SHAPE = """
SELECT num_rows, (SELECT count(*) FROM parquet_schema($path) WHERE type IS NOT NULL) FROM parquet_file_metadata($path)
"""

FILES = """
CREATE TEMP TABLE files AS SELECT unnest($1::STRUCT(filename VARCHAR, held BOOLEAN, variant VARCHAR, run BIGINT,
    place BIGINT, prefix VARCHAR, first BIGINT, repeat BIGINT, part BIGINT)[], recursive := true)
"""

# One row a record, in the order each run wrote them.
RECORDS = """
SELECT files.variant, files.run, files.place, files.part, files.prefix || metric::VARCHAR AS metric,
       source + CASE WHEN source < 0 THEN 0 ELSE files.first END AS source, iteration, elapsed_s, value,
       process::VARCHAR AS process, file_row_number AS position, files.repeat
FROM ({stored}) AS stored
JOIN files ON stored.filename = files.filename
WHERE files.prefix = '' OR metric <> '{tick}'
UNION ALL SELECT * FROM observed
"""

# Order statistics pass over NaN (DuckDB would call it the greatest number); `last` and `mean` show it.
AGGREGATES = """
SELECT variant, run, metric, max(source) AS source,
       arg_max(value, position) AS last, avg(value) AS mean,
       max(value) FILTER (NOT isnan(value)) AS max, min(value) FILTER (NOT isnan(value)) AS min,
       count(*) AS reports
FROM record WHERE metric <> $tick GROUP BY place, variant, run, metric, repeat ORDER BY place, metric, repeat
"""

AT = """
SELECT variant, run, arg_max(value, position) AS value
FROM record WHERE metric = $metric AND iteration = $iteration
GROUP BY place, variant, run, repeat ORDER BY place, repeat
"""

# Trapezia between the iterations that reported, of each the last value; NaN of a run that diverged stays NaN.
AREA = """
WITH points AS (
    SELECT place, variant, run, repeat, iteration, arg_max(value, position) AS value
    FROM record WHERE metric = $metric GROUP BY place, variant, run, repeat, iteration
), steps AS (
    SELECT place, variant, run, repeat, value,
           iteration - lag(iteration) OVER curve AS width, lag(value) OVER curve AS before
    FROM points WINDOW curve AS (PARTITION BY place, repeat ORDER BY iteration)
)
SELECT variant, run, coalesce(sum((value + before) / 2 * width) / sum(width), any_value(value)) AS value
FROM steps GROUP BY place, variant, run, repeat ORDER BY place, repeat
"""

VALUES_AT = """
SELECT run, iteration, metric, value FROM record
JOIN (SELECT unnest($runs::BIGINT[]) AS run, unnest($iterations::BIGINT[]) AS iteration) USING (run, iteration)
WHERE variant = $variant AND metric <> $tick
UNION ALL
SELECT run, $last, metric, arg_max(value, position) FROM record
WHERE variant = $variant AND metric <> $tick GROUP BY run, metric
"""

# A value that is kept and printed in one iteration is one report.
LAST_REPORTS = """
SELECT run, list_reverse(max_by(value, position, $most)) FROM (
    SELECT place, run, value, position FROM record WHERE variant = $variant AND metric = $metric AND repeat = 0
    QUALIFY iteration < 0 OR row(iteration, value) IS DISTINCT FROM
            lag(row(iteration, value)) OVER (PARTITION BY place, run ORDER BY position)
) GROUP BY place, run ORDER BY place
"""

# Of several processes with a main loop, the one that went through most iterations tells the time.
ITERATION_TIMES = """
WITH steps AS (
    SELECT place, variant, run, process,
           elapsed_s - lag(elapsed_s) OVER (PARTITION BY place, process ORDER BY position) AS step
    FROM record WHERE metric = $tick
), timed AS (
    SELECT place, variant, run, count(step) AS steps, median(step) AS value
    FROM steps GROUP BY place, variant, run, process HAVING count(step) > 0
)
SELECT variant, run, arg_max(value, steps) AS value FROM timed GROUP BY place, variant, run ORDER BY place
"""

LOOPED = """
SELECT variant, min(ticks) FROM (
    SELECT variant, count(*) AS ticks FROM record WHERE metric = $tick GROUP BY variant, run, repeat
) GROUP BY variant
"""

NO_RECORDS = """
SELECT ''::VARCHAR AS variant, 0::BIGINT AS run, 0::BIGINT AS place, 0::BIGINT AS part, ''::VARCHAR AS metric,
       0::INTEGER AS source, 0::INTEGER AS iteration, 0::DOUBLE AS elapsed_s, 0::DOUBLE AS value,
       ''::VARCHAR AS process, 0::BIGINT AS position, 0::BIGINT AS repeat
WHERE false
"""


def quoted(text: object) -> str:
    """Return a text as SQL has it."""
    return "'" + str(text).replace("'", "''") + "'"


def listed(words: Iterable[object]) -> str:
    """Return words as a list in SQL."""
    return f"[{', '.join(map(quoted, words))}]"


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


def _library() -> Any:
    """Return DuckDB, where it can be had without its layer in Python, which takes longer to import than the rest."""
    try:
        return import_module("_duckdb")
    except ImportError:
        return import_module("duckdb")


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a database in memory, with views and temporary tables of its own."""
    try:
        with _database().cursor() as connection:
            yield connection
    except _library().Error:
        # Some errors leave a database that answers nothing any more.
        _database.cache_clear()
        raise


@cache
def _database() -> duckdb.DuckDBPyConnection:
    # Importing and connecting take a tenth of a second, so both wait until a table is asked for, and happen once.
    database: duckdb.DuckDBPyConnection = _library().connect()
    return database


@contextmanager
def _files() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection; whatever goes wrong there, a damaged file or a full disk, is an OSError."""
    try:
        with connected() as connection:
            yield connection
    except _library().Error as error:
        raise OSError(str(error)) from error


def write_parquet(path: Path, table: Table) -> None:
    """Write a table to a file.

    Raises OSError if it cannot be written to its end.
    """
    notes = ", ".join(f"{quoted(key.decode())}: {quoted(note.decode())}" for key, note in table.notes.items())
    options = f"FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false{f', KV_METADATA {{{notes}}}' if notes else ''}"
    with _files() as connection:
        query, words = selected(connection, table)
        connection.execute(f"COPY ({query}) TO {quoted(path)} ({options})", words)


def read_parquet(path: Path) -> Table:
    """Return the table of a file; a column that has nulls is masked.

    Raises OSError if there is none.
    """
    with _files() as connection:
        columns: dict[str, Any] = connection.execute(COLUMNS, {"path": str(path)}).fetchnumpy()
        notes = connection.execute(NOTES, {"path": str(path)}).fetchall()
    return Table(columns, notes={bytes(key): bytes(note) for key, note in notes})


def parquet_shape(path: Path) -> tuple[int, int]:
    """Return how many rows and columns a Parquet file has, as its head says.

    Raises OSError if it has no head that can be read.
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
