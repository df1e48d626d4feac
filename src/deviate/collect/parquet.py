"""The records of a run that has ended: in memory, and as a Parquet file that is derived from its record files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deviate.collect.columns import TICK_NAME, run_table
from deviate.collect.database import Table
from deviate.collect.derived import DerivedTable, derived_table, stamp_of
from deviate.collect.identity import Series, table_series
from deviate.replicate.workspace.folders import RunFolder

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
