"""The numbers that a run printed or wrote into text files, with the iteration each is of; mined once and kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deviate.collect.derived import derived_table, stamp_of
from deviate.collect.identity import numbers
from deviate.collect.marks import NO_MARKS, Marks, read_marks
from deviate.collect.observed.slots import Slot, SlotSeries, mine_text
from deviate.collect.observed.structured import mine_file
from deviate.collect.processes import run_processes
from deviate.replicate.workspace.folders import RunFolder

#: Raised when mining finds other numbers in the same text.
VERSION = "1"

#: Key of the slots in the file's metadata.
SLOTS = b"deviate slots"


class RunSeries(NamedTuple):
    """The values of a slot in one run with their iterations, and when these began in seconds since the run's start."""

    series: SlotSeries
    iterations: np.ndarray
    seconds: np.ndarray


def run_series(folder: RunFolder, spare: Path) -> list[RunSeries]:
    """Return what a run that has ended reported in text, slot by slot.

    `spare` is the folder to write to where this reader may not write into the run's.
    """
    files = [*text_files(folder), *folder.record_files(), *folder.event_files()]
    path = derived_table(
        folder.reported_file,
        stamp_of(files, VERSION),
        lambda: _as_table(list(_mined(folder))),
        spare / f"{folder.run.folder}.reported.parquet",
    )
    return list(_read(path))


def text_files(folder: RunFolder) -> list[Path]:
    """Return the files of a run that hold what it reported in text."""
    written = sorted(path for path in folder.written.rglob("*") if path.is_file())
    return [path for path in (folder.stdout_file, folder.stderr_file, *written) if path.is_file()]


def _mined(folder: RunFolder) -> Iterator[RunSeries]:
    marks = read_marks(run_processes(folder))
    for path in text_files(folder):
        if path.parent == folder.path:
            name = path.stem
            series, marked = mine_text(path.read_bytes(), name), marks[name]
        else:
            series, marked = mine_file(path, str(path.relative_to(folder.written))), NO_MARKS
        yield from (_placed(each, marked) for each in series)


def _placed(series: SlotSeries, marks: Marks) -> RunSeries:
    return RunSeries(series, *marks.at(series.offsets))


def _as_table(mined: list[RunSeries]) -> pa.Table:
    counts = [len(each.series.values) for each in mined]
    columns = {
        "slot": np.repeat(np.arange(len(mined), dtype=np.int32), counts),
        "value": _joined([each.series.values for each in mined], np.float64),
        "offset": _joined([each.series.offsets for each in mined], np.int64),
        "precision": _joined([each.series.precision for each in mined], np.int16),
        "iteration": _joined([each.iterations for each in mined], np.int64),
        "seconds": _joined([each.seconds for each in mined], np.float64),
    }
    slots = msgspec.json.encode([each.series.slot for each in mined])
    return pa.table(columns).replace_schema_metadata({SLOTS: slots})


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)


def _read(path: Path) -> Iterator[RunSeries]:
    table = pq.ParquetFile(path).read()
    slots = msgspec.json.decode(table.schema.metadata[SLOTS], type=list[Slot])
    columns = {name: numbers(table.column(name)) for name in table.column_names}
    ends = np.searchsorted(columns["slot"], np.arange(len(slots) + 1))
    for slot, start, end in zip(slots, ends[:-1], ends[1:], strict=True):
        part = {name: column[start:end] for name, column in columns.items()}
        series = SlotSeries(slot, part["value"], part["offset"], part["precision"])
        yield RunSeries(series, part["iteration"], part["seconds"])
