"""Small experiments of the same values have the same tables: DuckDB writes and reads each once for all tests.

Only for tests of what is made of the tables; those of the files themselves have their own.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deviate.observe import derived
from deviate.observe.database import Table

_FILES: dict[object, bytes] = {}
_TABLES: dict[bytes, Table] = {}
_SHAPES: dict[bytes, tuple[int, int]] = {}


def _content(table: Table) -> object:
    """Return what a table of numbers has; of others it is an object that nothing else equals."""
    if any(np.ma.isMaskedArray(column) or column.dtype.kind not in "iuf" for column in table.columns.values()):
        return object()
    columns = ((name, column.dtype.str, column.tobytes()) for name, column in table.columns.items())
    words = ((name, *texts) for name, texts in table.words.items())
    return (*columns, *words, *table.notes.items())


@pytest.fixture(scope="module", autouse=True)
def tables_kept() -> Iterator[None]:
    """Give a file what DuckDB wrote for an equal table, and say of it what DuckDB read in equal bytes."""
    write, read, shape = derived.write_parquet, derived.read_parquet, derived.parquet_shape

    def written(path: Path, table: Table) -> None:
        content = _content(table)
        if content not in _FILES:
            write(path, table)
            _FILES[content] = path.read_bytes()
        path.write_bytes(_FILES[content])

    def read_once(path: Path) -> Table:
        known = path.read_bytes()
        if known not in _TABLES:
            _TABLES[known] = read(path)
        table = _TABLES[known]
        return Table({name: column.copy() for name, column in table.columns.items()}, notes=table.notes)

    def shaped(path: Path) -> tuple[int, int]:
        known = path.read_bytes()
        if known not in _SHAPES:
            _SHAPES[known] = shape(path)
        return _SHAPES[known]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(derived, "write_parquet", written)
        patch.setattr(derived, "read_parquet", read_once)
        patch.setattr(derived, "parquet_shape", shaped)
        yield
