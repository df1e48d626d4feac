"""A run's records as a Parquet file, derived from its record files."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.collect.columns import run_table
from deviate.collect.derived import DerivedTable, derived_table, stamp_of
from deviate.replicate.workspace.folders import RunFolder

#: Raised when the columns change: files of another version are remade.
VERSION = "2"


def run_parquet(folder: RunFolder, metrics: Sequence[str]) -> DerivedTable:
    """Return the run's records, whose Parquet file is made now where it is missing or was made from other files.

    The run has ended. `metrics` are the names of the experiment's metrics: the position is the id.
    """
    return derived_table(
        folder.parquet_file,
        stamp_of([*folder.record_files(), *folder.event_files()], VERSION, list(metrics)),
        lambda: run_table(folder, metrics),
    )
