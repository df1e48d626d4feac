"""Which iteration of the main loop reported a number: by the records, or by the lines of the program."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.observe.output.slots import SlotSeries
from deviate.observe.processes import Process, counted_before, looped_processes
from deviate.observe.records import since_start
from deviate.store.records import STDERR, STDOUT, TICK

#: Ids of the notes on each stream.
STREAMS = {"stdout": STDOUT, "stderr": STDERR}


@dataclass(frozen=True)
class Marks:
    """How much of a stream there was when iterations of the main loop began.

    Attributes
    ----------
    sizes : ndarray of int64, shape (n_notes,)
        Bytes, ascending; only of iterations before which something was printed.
    iterations : ndarray of int64, shape (n_notes + 1,)
        The iteration that printed up to each size; last the one that printed the rest. -1: before the main loop.
    seconds : ndarray of float64, shape (n_notes + 1,)
        When that iteration began, in seconds since the run's first process started; 0 before the main loop.
    """

    sizes: NDArray[np.int64]
    iterations: NDArray[np.int64]
    seconds: NDArray[np.float64]

    def at(self, offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return iteration and seconds of what begins at `offsets`, in bytes from the beginning of the stream."""
        places = np.searchsorted(self.sizes, offsets, side="right")
        return self.iterations[places], self.seconds[places]


#: Where no main loop was seen.
NO_MARKS = Marks(np.empty(0, np.int64), np.array([-1]), np.zeros(1))


@dataclass(frozen=True)
class Clock:
    """When iterations of the main loop began.

    Attributes
    ----------
    begun : ndarray of float64, shape (n_iterations,)
        Unix seconds, ascending.
    iterations : ndarray of int64, shape (n_iterations + 1,)
        The iteration before each of these moments, and after the last; -1: before the main loop.
    started : float or None
        Unix seconds at which the run's first process started; None where none was heard of.
    """

    begun: NDArray[np.float64]
    iterations: NDArray[np.int64]
    started: float | None

    def at(
        self, moments: NDArray[np.float64], steps: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return iteration and seconds since the run's start of what was logged at `moments` as of `steps`.

        Steps that go with the iterations, but for moments at which one was about to begin, count them exactly. NaN, the
        moment of what belongs to no step, is the end of the run.
        """
        later = np.where(np.isnan(moments), np.inf, moments)
        seen = self.iterations[np.searchsorted(self.begun, later, side="right")]
        known = moments[np.isfinite(moments)]
        start = self.started if self.started is not None else known.min() if len(known) else 0.0
        seconds = np.where(np.isnan(moments), float(known.max(initial=start)), moments) - start
        ahead = steps - seen
        offset = np.round(np.median(ahead))
        if len(self.begun) and np.all(np.abs(ahead - offset) <= 1):
            return np.clip(steps - offset, -1, self.iterations.max()).astype(np.int64), seconds
        return seen, seconds


class Timeline(NamedTuple):
    """What tells the iteration of a number: marks by stream, and the clock."""

    marks: dict[str, Marks]
    clock: Clock


def read_timeline(members: list[Process]) -> Timeline:
    """Return marks and clock of the process that went through most iterations of the main loop.

    With it are those that did so before or after it, and not beside it.
    """
    read = [(process, process.records()) for process in members if process.record_file]
    looped = [(process, records, int((records["id"] == TICK).sum())) for process, records in read]
    started = min((each.started for each in members if each.started is not None), default=None)
    if not looped or not max(count for _, _, count in looped):
        return Timeline(dict.fromkeys(STREAMS, NO_MARKS), Clock(np.empty(0), np.array([-1]), started))
    process, records, _ = max(looped, key=lambda each: each[2])
    records = _in_sequence(process, records, members)
    ticks = records[records["id"] == TICK]
    begun = np.maximum.accumulate(ticks["elapsed"]) + (started or 0.0)
    return Timeline(
        {name: _marks(records, identity) for name, identity in STREAMS.items()},
        Clock(begun, np.append(-1, ticks["iteration"]).astype(np.int64), started),
    )


def _in_sequence(longest: Process, records: NDArray[np.void], members: list[Process]) -> NDArray[np.void]:
    """Return the records of a process with those of others that do not overlap it, as of one: iterations go on."""
    looped = looped_processes(members)
    own = next((each for each in looped if each.process is longest), None)
    if own is None or len(looped) == 1:
        return _shifted(records, since_start(longest, members))
    chain = [own]
    for each in looped:
        if each is not own and not any(each.overlaps(other) for other in chain):
            chain.append(each)
    chain.sort(key=lambda each: each.began)
    before = counted_before(chain)
    parts = [_shifted(each.records, since_start(each.process, members), before[each.process.stem]) for each in chain]
    return np.concatenate(parts)


def _shifted(records: NDArray[np.void], later: float, before: int = 0) -> NDArray[np.void]:
    shifted = records.copy()
    shifted["elapsed"] += later
    shifted["iteration"] += np.int32(before)
    return shifted


def _marks(records: NDArray[np.void], identity: int) -> Marks:
    ticks = records[records["id"] == TICK]
    notes = records[records["id"] == identity]
    # What an iteration finds printed, the one before has printed.
    iterations = np.append(notes["iteration"] - 1, ticks["iteration"][-1]).astype(np.int64)
    # A forked child goes on counting where its parent was.
    begun, seconds = np.maximum.accumulate(np.append(-1, ticks["iteration"])), np.append(0.0, ticks["elapsed"])
    return Marks(notes["value"].astype(np.int64), iterations, seconds[np.searchsorted(begun, iterations)])


# Which loop of the source goes round, by the lines of the program from which its runs print.
#
# Between two reports from the very same lines some loop around them has begun anew. If nothing was reported in between,
# that is the innermost one around these lines; else the innermost one that is around all that was reported in between.


class Site(NamedTuple):
    """A line of a file of the project."""

    file: str
    line: int


class Report(NamedTuple):
    """A line that was printed."""

    #: Id of the stream.
    stream: int
    #: Bytes of the stream before it.
    at: int
    #: Seconds since the process started.
    elapsed: float
    #: The lines that led there, the outermost first.
    sites: tuple[Site, ...]


class TurnedLoop(msgspec.Struct, frozen=True, kw_only=True):
    """A loop of the source that was seen to go round."""

    file: str
    line: int
    #: How often it was seen to begin anew, by the lines that showed it most often.
    rounds: int
    #: From the first to the last report in it.
    seconds: float


def read_reports(process: Process) -> list[Report]:
    """Return what a process noted of the lines that it prints, in the order in which it did."""
    stacks: list[tuple[Site, ...]] = []
    reports = []
    for event in process.events:
        if event["event"] == "reports":
            stacks += [tuple(Site(*site) for site in stack) for stack in event["stacks"]]
            # An event before may have been lost where the disk was full.
            known = (line for line in event["lines"] if line[3] < len(stacks))
            reports += [Report(stream, at, elapsed, stacks[number]) for stream, at, elapsed, number in known]
    return reports


def turned_loop(reports: Sequence[Report], project: Path) -> TurnedLoop | None:
    """Return the outermost loop that was seen to go round; of several, that in which most time was spent.

    `reports`: of one process; `project`: where its source is.
    """
    loops = Loops(project)
    nestings = [loops.around(report.sites) for report in reports]
    rounds = dict[tuple[Site, ...], Counter[tuple[Site, ...]]]()
    last = dict[tuple[Site, ...], int]()
    for index, report in enumerate(reports):
        before = last.get(report.sites)
        if before is not None and (turned := _shared(nestings[before : index + 1])):
            rounds.setdefault(turned, Counter())[report.sites] += 1
        last[report.sites] = index
    outermost = [nest for nest in rounds if not any(nest[:depth] in rounds for depth in range(1, len(nest)))]
    found = [_turned(nest, max(rounds[nest].values()), reports, nestings) for nest in outermost]
    return max(found, key=lambda loop: loop.seconds, default=None)


def _shared(nestings: Sequence[tuple[Site, ...]]) -> tuple[Site, ...]:
    """Return the loops that are around all of them, the outermost first."""
    first = nestings[0]
    depths = (_common(first, nest) for nest in nestings[1:])
    return first[: min(depths, default=len(first))]


def _common(one: Sequence[Site], other: Sequence[Site]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _turned(
    nest: tuple[Site, ...], rounds: int, reports: Sequence[Report], nestings: Sequence[tuple[Site, ...]]
) -> TurnedLoop:
    times = [report.elapsed for report, around in zip(reports, nestings, strict=True) if around[: len(nest)] == nest]
    return TurnedLoop(file=nest[-1].file, line=nest[-1].line, rounds=rounds, seconds=times[-1] - times[0])


class Loops:
    """The loops of a project's files, each parsed once."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.spans = cache(self._spans)

    def around(self, sites: Iterable[Site]) -> tuple[Site, ...]:
        """Return the ``for`` and ``while`` loops around lines that lead to one another, the outermost first."""
        return tuple(
            Site(site.file, first)
            for site in sites
            for first, last in self.spans(site.file)
            if first <= site.line <= last
        )

    def _spans(self, file: str) -> list[tuple[int, int]]:
        """Return the first and last line of each loop, outer ones first."""
        try:
            tree = ast.parse((self.project / file).read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        return sorted(_loop_spans(tree))


def _loop_spans(tree: ast.AST) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            yield node.lineno, node.body[-1].end_lineno or node.lineno


# Which pass of a loop printed a line, where the source shows no main loop: by the lines of the program that print.
#
# Only lines that the loop itself prints, once in each pass, can be counted so; where in a pass others stand is not
# known.

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
    """Return the loop in which the processes of a run spent most time, with the process, see `turned_loop`.

    Of processes in the same loop it is the one that went round most often, else the first: which of them took longer
    is another one from run to run.
    """
    found = [(loop, each) for each in members if (loop := turned_loop(read_reports(each), source)) is not None]
    if not found:
        return None
    longest = max((loop for loop, _ in found), key=lambda loop: loop.seconds)
    same = [(loop, each) for loop, each in found if (loop.file, loop.line) == (longest.file, longest.line)]
    return max(same, key=lambda pair: pair[0].rounds)


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
