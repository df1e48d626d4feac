"""Which loop of the source goes round, by the lines of the program from which its runs print.

Between two reports from the very same lines some loop around them has begun anew. If nothing was reported in between,
that is the innermost one around these lines; else the innermost one that is around all that was reported in between.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from deviate.collect.processes import Process


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

    Parameters
    ----------
    reports : sequence of Report
        Of one process.
    project : Path
        Where its source is.
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
