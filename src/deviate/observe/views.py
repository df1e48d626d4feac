"""The view `record` of all records: those in the files of runs and of their evaluations, and observed metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deviate.observe.database import FILES, HELD, NO_RECORDS, RECORDS, STORED, Table, listed, quoted, selected
from deviate.observe.derived import DerivedTable, RunRecords
from deviate.observe.evaluations import Evaluated
from deviate.observe.metrics import OBSERVED
from deviate.observe.observation import ObservedSeries
from deviate.observe.records import TICK_NAME, RunFiles

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Place of observed metrics among the files of a run: after all of them, since no record says when they came.
AFTER_FILES = 2**31


class ViewedFile(NamedTuple):
    """A file that the view reads, and the run that it is of."""

    filename: str
    #: Whether its table is in memory.
    held: bool
    variant: str
    run: int
    #: Of the run among those in the view.
    place: int
    #: Of its metrics' names and positions in the experiment; not 0 for an evaluation.
    prefix: str
    first: int
    repeat: int
    #: Its own place among all files.
    part: int


def create_view(
    database: DuckDBPyConnection,
    records: Sequence[RunRecords],
    runs: Sequence[RunFiles],
    evaluated: Sequence[Evaluated],
    series: Sequence[ObservedSeries],
) -> list[ViewedFile]:
    """Create the view and return the files that it reads.

    `records` are those of `runs`, `series` the values of observed metrics.
    """
    every = [*records, *(one.records for each in evaluated for one in each.passes)]
    files = _viewed([each.stored() for each in every], runs, evaluated, database)
    database.execute(FILES, [[file._asdict() for file in files]])
    query, words = selected(database, _observed_rows(series))
    database.execute(f"CREATE TEMP TABLE observed AS {query}", words)
    database.execute(f"CREATE TEMP VIEW record AS {view_of(files) if records else NO_RECORDS}")
    return files


def view_of(files: Sequence[ViewedFile]) -> str:
    """Return the query of the records that are in some of the files."""
    stored = [file.filename for file in files if not file.held]
    parts = [STORED.format(files=listed(stored))] if stored else []
    parts += [HELD] if len(stored) < len(files) else []
    return RECORDS.format(stored=" UNION ALL BY NAME ".join(parts), tick=TICK_NAME)


def _hold(file: DerivedTable, table: Table, database: DuckDBPyConnection) -> None:
    """Add a table that is in memory to those that are, with the columns that DuckDB gives those of files."""
    numbered = Table({**table.columns, "file_row_number": np.arange(len(table))}, table.words)
    query, words = selected(database, numbered)
    rows = f"SELECT *, {quoted(file.path)} AS filename FROM ({query})"
    database.execute(f"CREATE TEMP TABLE IF NOT EXISTS held AS {rows} LIMIT 0", words)
    database.execute(f"INSERT INTO held {rows}", words)


def _observed_rows(series: Sequence[ObservedSeries]) -> Table:
    """Return the values of observed metrics with the columns of the view of records."""
    counts = np.array([len(each.mined.iterations) for each in series], np.int64)
    words = {
        "variant": list(dict.fromkeys(each.run.variant for each in series)),
        "metric": list(dict.fromkeys(each.metric for each in series)),
        "process": [""],
    }

    def repeated(numbers: Iterable[int], kind: type = np.int64) -> NDArray[Any]:
        return np.repeat(np.array(list(numbers), kind), counts)

    def joined(parts: Iterable[NDArray[Any]], kind: type) -> NDArray[Any]:
        return np.concatenate([np.empty(0, kind), *parts]).astype(kind)

    columns = {
        "variant": repeated(words["variant"].index(each.run.variant) for each in series),
        "run": repeated(each.run.index for each in series),
        "place": repeated(each.place for each in series),
        "part": repeated(AFTER_FILES for _ in series),
        "metric": repeated(words["metric"].index(each.metric) for each in series),
        "source": repeated((OBSERVED for _ in series), np.int32),
        "iteration": joined((each.mined.iterations for each in series), np.int32),
        "elapsed_s": joined((each.mined.seconds for each in series), np.float64),
        "value": joined((each.mined.series.values for each in series), np.float64),
        "process": repeated(0 for _ in series),
        "position": joined((np.arange(count) for count in counts), np.int64),
        "repeat": repeated(each.repeat for each in series),
    }
    return Table(columns, words)


def _viewed(
    files: Sequence[DerivedTable],
    runs: Sequence[RunFiles],
    evaluated: Iterable[Evaluated],
    database: DuckDBPyConnection,
) -> list[ViewedFile]:
    """Return what files there are; those that are in memory are made known to the database."""
    rows = [(run, place, "", 0, 0) for place, run in enumerate(runs)]
    rows += [
        (one.run, one.place, each.step.prefix, each.offset, one.repeat) for each in evaluated for one in each.passes
    ]
    for file in files:
        if file.held is not None:
            _hold(file, file.held, database)
    return [
        ViewedFile(str(file.path), file.held is not None, run.variant, run.index, place, prefix, first, repeat, part)
        for part, (file, (run, place, prefix, first, repeat)) in enumerate(zip(files, rows, strict=True))
    ]
