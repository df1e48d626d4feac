"""Which pass of a loop printed a line, where the source shows no main loop: by the lines of the program that print.

Only lines that the loop itself prints, once in each pass, can be counted so; where in a pass others stand is not known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deviate.collect.columns import since_start
from deviate.collect.observed.slots import SlotSeries
from deviate.collect.processes import Process
from deviate.collect.turned import Loops, Report, Site, TurnedLoop, read_reports, turned_loop
from deviate.replicate.workspace.records import STDERR, STDOUT

#: Fewest passes that are counted.
FEWEST = 2

#: Pass and seconds of each value.
Places = tuple[NDArray[np.int64], NDArray[np.float64]]

_NAMES = {STDOUT: "stdout", STDERR: "stderr"}


@dataclass(frozen=True)
class Noted:
    """Lines of a stream that were seen to be printed; arrays of shape ``(n_lines,)``, in ascending order of lines."""

    #: Where each begins, in bytes.
    starts: NDArray[np.int64]
    #: Whether the loop itself printed it, and not what it calls within a loop of its own.
    direct: NDArray[np.bool_]
    #: Since the run's first process started.
    seconds: NDArray[np.float64]


def observed_loop(members: Sequence[Process], source: Path) -> tuple[TurnedLoop, Process] | None:
    """Return the loop in which the processes of a run spent most time, with the process, see `turned_loop`."""
    found = [(loop, each) for each in members if (loop := turned_loop(read_reports(each), source)) is not None]
    return max(found, key=lambda pair: pair[0].seconds, default=None)


def noted_lines(members: Sequence[Process], source: Path, logs: Mapping[str, bytes]) -> dict[str, Noted]:
    """Return the lines of each stream that the process with the observed loop was seen to print; none without a loop.

    `source` is the project as it was, `logs` are the streams' contents.
    """
    found = observed_loop(members, source)
    if found is None:
        return {}
    loop, process = found
    site, loops, later = Site(loop.file, loop.line), Loops(source), since_start(process, members)
    by_stream: dict[str, list[Report]] = defaultdict(list)
    for report in read_reports(process):
        by_stream[_NAMES.get(report.stream, "")].append(report)
    direct = {name: [loops.around(each.sites)[-1:] == (site,) for each in every] for name, every in by_stream.items()}
    return {
        name: _noted(by_stream[name], direct[name], log, later) for name, log in logs.items() if by_stream.get(name)
    }


def _noted(reports: Sequence[Report], direct: Sequence[bool], log: bytes, later: float) -> Noted:
    starts = np.array([_line_at(log, report.at) for report in reports], dtype=np.int64)
    order = np.argsort(starts, kind="stable")
    seconds = np.array([report.elapsed + later for report in reports])
    return Noted(starts[order], np.array(direct, dtype=bool)[order], seconds[order])


def _line_at(log: bytes, at: int) -> int:
    """Return where the first line that is not empty begins at or after an offset."""
    while log[at : at + 1] in (b"\n", b"\r"):
        at += 1
    return at


def by_passes(series: Sequence[SlotSeries], noted: Mapping[str, Noted]) -> dict[int, Places]:
    """Return, by position in `series`, the pass that printed each value and when, of those that tell."""
    counts = {
        index: len(np.unique(each.offsets))
        for index, each in enumerate(series)
        if each.slot.source in noted and _is_direct(each, noted[each.slot.source])
    }
    passes = max(counts.values(), default=0)
    return {
        index: _placed(series[index], noted[series[index].slot.source])
        for index, count in counts.items()
        if count == passes >= FEWEST
    }


def _is_direct(series: SlotSeries, noted: Noted) -> bool:
    seen = np.isin(noted.starts, series.offsets)
    return bool(seen.any() and noted.direct[seen].all())


def _placed(series: SlotSeries, noted: Noted) -> Places:
    _, passes = np.unique(series.offsets, return_inverse=True)
    return passes.astype(np.int64), np.interp(series.offsets, noted.starts, noted.seconds)
