"""The numbers that a run printed, wrote into files or logged with trackers, with the iteration each is of; kept."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from deviate.collect.database import Table
from deviate.collect.derived import read_derived, stamp_of
from deviate.collect.logged import logged_series
from deviate.collect.marks import NO_MARKS, Marks, read_timeline
from deviate.collect.observed.slots import Slot, SlotSeries, mine_log
from deviate.collect.observed.sources import stable_names
from deviate.collect.observed.structured import read_file
from deviate.collect.passes import by_passes, noted_lines
from deviate.collect.processes import Process, run_processes
from deviate.replicate.workspace.folders import RunFolder
from deviate.replicate.workspace.integrity import read_sealed, text_damage
from deviate.replicate.written_files import SUFFIXES
from deviate.trackers.recognition import Tracker, goes_with_metrics, tracker_of

#: Raised when mining finds other numbers in the same text, or the columns change: files of another version are remade.
VERSION = "7"

#: Keys of the table's notes: the slots, the number of lines that were left out, and the files.
SLOTS, LEFT_OUT, DAMAGED = b"deviate slots", b"deviate lines left out", b"deviate files damaged"


class RunSeries(NamedTuple):
    """The values of a slot in one run with their iterations, in seconds since the run's start.

    The seconds are those at which an iteration began, or a tracker was called.
    """

    series: SlotSeries
    iterations: np.ndarray
    seconds: np.ndarray


class MinedRun(NamedTuple):
    """What a run reported, slot by slot, and how many lines with numbers were left out."""

    series: list[RunSeries]
    left_out: int
    #: How files differ from what they were when the run ended; they are not searched.
    damaged: list[str]


def mined_run(folder: RunFolder) -> MinedRun:
    """Return what a run that has ended reported."""
    files = [*folder.text_files(), *folder.record_files(), *folder.event_files()]
    return _read(read_derived(folder.reported_file, stamp_of(files, VERSION), lambda: _as_table(_mined(folder))))


def _mined(folder: RunFolder) -> MinedRun:
    members = run_processes(folder)
    timeline = read_timeline(members)
    outcome = folder.read_outcome()
    damaged = text_damage(folder, outcome)
    printed = [path for path in (folder.stdout_file, folder.stderr_file) if path.is_file() and path not in damaged]
    trackers, texts = _written(folder, damaged)
    mined = [(mine_log(read_sealed(folder, path, outcome), path.stem), timeline.marks[path.stem]) for path in printed]
    # Damaged files are named, too: else one of the others might be called as they are in other runs.
    names = stable_names(str(path.relative_to(folder.written)) for path in texts)
    mined += [(read_file(path, name), NO_MARKS) for path, name in zip(texts, names, strict=True) if path not in damaged]
    series = [_placed(each, marks) for found, marks in mined for each in found.series]
    if all(marks is NO_MARKS for marks in timeline.marks.values()):
        series = _in_passes(series, members, folder)
    logged = [RunSeries(each.series, *timeline.clock.at(each.moments, each.steps)) for each in logged_series(trackers)]
    return MinedRun([*series, *logged], sum(found.left_out for found, _ in mined), list(damaged.values()))


def _written(folder: RunFolder, damaged: dict[Path, str]) -> tuple[dict[Path, Tracker], list[Path]]:
    """Return the files of trackers among those that a run wrote, and the text files, `damaged` ones too.

    The names of what a tracker logged depend on all of its files: where one was damaged none is read, and `damaged`
    says so.
    """
    files = [path for path in (*folder.text_files(), *damaged) if path.is_relative_to(folder.written)]
    files = [path for path in sorted(set(files)) if not (goes_with_metrics(path) and path.is_file())]
    trackers = {path: tracker for path in files if path not in damaged and (tracker := tracker_of(path)) is not None}
    texts = [path for path in files if path.suffix.lower() in SUFFIXES and path not in trackers]
    harmed = [path for path in files if path in damaged and path not in texts]
    damaged |= {path: f"{damaged[path]}, so no file of a tracker is read" for path in harmed}
    return {} if harmed else trackers, texts


def _in_passes(series: list[RunSeries], members: list[Process], folder: RunFolder) -> list[RunSeries]:
    """Return the series with the passes of the loop that was seen to go round, as the source shows none."""
    outcome, paths = (
        folder.read_outcome(),
        [path for path in (folder.stdout_file, folder.stderr_file) if path.is_file()],
    )
    logs = {path.stem: read_sealed(folder, path, outcome) for path in paths}
    places = by_passes([each.series for each in series], noted_lines(members, folder.source, logs))
    return [RunSeries(each.series, *places[index]) if index in places else each for index, each in enumerate(series)]


def _placed(series: SlotSeries, marks: Marks) -> RunSeries:
    return RunSeries(series, *marks.at(series.offsets))


def _as_table(run: MinedRun) -> Table:
    mined = run.series
    counts = [len(each.series.values) for each in mined]
    columns = {
        "slot": np.repeat(np.arange(len(mined), dtype=np.int32), counts),
        "value": _joined([each.series.values for each in mined], np.float64),
        "offset": _joined([each.series.offsets for each in mined], np.int64),
        "precision": _joined([each.series.precision for each in mined], np.int16),
        "iteration": _joined([each.iterations for each in mined], np.int64),
        "seconds": _joined([each.seconds for each in mined], np.float64),
    }
    slots, damaged = _encoded([each.series.slot for each in mined]), msgspec.json.encode(run.damaged)
    return Table(columns, notes={SLOTS: slots, LEFT_OUT: b"%d" % run.left_out, DAMAGED: damaged})


def _encoded(slots: list[Slot]) -> bytes:
    """Write slots with each template once: a line has hundreds of numbers, and its text is that of each."""
    templates = {template: str(number) for number, template in enumerate(dict.fromkeys(s.template for s in slots))}
    short = [msgspec.structs.replace(slot, template=templates[slot.template]) for slot in slots]
    return msgspec.json.encode((list(templates), short))


def _decoded(data: bytes) -> list[Slot]:
    templates, slots = msgspec.json.decode(data, type=tuple[list[str], list[Slot]])
    return [msgspec.structs.replace(slot, template=templates[int(slot.template)]) for slot in slots]


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)


def _read(table: Table) -> MinedRun:
    slots, columns = _decoded(table.notes[SLOTS]), table.columns
    ends = np.searchsorted(columns["slot"], np.arange(len(slots) + 1))
    parts = [{name: column[start:end] for name, column in columns.items()} for start, end in pairwise(ends)]
    series = [
        RunSeries(
            SlotSeries(slot, part["value"], part["offset"], part["precision"]), part["iteration"], part["seconds"]
        )
        for slot, part in zip(slots, parts, strict=True)
    ]
    return MinedRun(series, int(table.notes[LEFT_OUT]), msgspec.json.decode(table.notes[DAMAGED], type=list[str]))
