"""Which lines drew for one factor in the two probes of the program as it is: ``deviate audit --explain FACTOR``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from deviate.collect.runs import RunFiles
from deviate.errors import BadOption
from deviate.factors import SEEDED
from deviate.preflight.trial import Trials

#: Characters of a line of source that are kept.
TEXT_WIDTH = 100


class DrawingLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the program that drew for the factor, in the first process of a probe that reached it."""

    #: Relative to the project; empty where no line of the program was on the way.
    file: str
    line: int
    #: What was called: the draw itself, or the library's function that drew; empty where that is not known.
    call: str
    #: The line as it is written; empty where it cannot be read.
    text: str
    #: False: the draw was made somewhere before that line.
    exact: bool
    #: In the order of the first draws, from 1, in the first probe that drew there.
    order: int
    #: Draws that were seen in each probe; null where it drew nothing there.
    counts: list[int | None]
    #: Digests of all that the factor drew up to the line's first draw, in each probe.
    digests: list[str | None]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What was drawn for a factor, line by line."""

    factor: str
    lines: list[DrawingLine]
    #: Index in `lines` of the first draw that was another one in the second probe; null: none was seen.
    first_difference: int | None = None
    #: False: a probe was ended while it went on, so that counts are of what was seen until then.
    complete: bool = True


def check_factor(factor: str | None) -> None:
    """Refuse what is no factor that is drawn for, by `BadOption`."""
    if factor is not None and factor not in SEEDED:
        raise BadOption(
            f"--explain must be a factor that is drawn for, found {factor!r}", hint=f"one of {', '.join(SEEDED)}"
        )


def with_explanation(trials: Trials, factor: str | None) -> Trials:
    """Return the trials with the lines of a factor's draws recorded, where the program is run as it is."""
    return dataclasses.replace(trials, source=dataclasses.replace(trials.source, explain=factor))


def explain_factor(factor: str | None, probes: Sequence[RunFiles], snapshot: Path) -> Explanation | None:
    """Put together what the probes of the program as it is drew for a factor; `snapshot` holds the source."""
    if factor is None:
        return None
    by_probe = [_lines(probe) for probe in probes]
    locations = list(dict.fromkeys(location for lines in by_probe for location in lines))
    source = _Source(snapshot)
    lines = [
        DrawingLine(
            file=file,
            line=line,
            call=call,
            text=source.text(file, line),
            exact=exact,
            order=number,
            counts=[lines[location]["count"] if location in lines else None for lines in by_probe],
            digests=[lines[location]["digest"] if location in lines else None for lines in by_probe],
        )
        for number, location in enumerate(locations, 1)
        for file, line, call, exact in [location]
    ]
    different = (index for index, line in enumerate(lines) if len(set(line.digests)) > 1)
    return Explanation(
        factor=factor, lines=lines, first_difference=next(different, None), complete=all(map(_is_complete, probes))
    )


def _is_complete(probe: RunFiles) -> bool:
    return all(any(event["event"] == "end" for event in process.events) for process in probe.processes)


_Location = tuple[str, int, str, bool]


def _lines(probe: RunFiles) -> dict[_Location, dict[str, Any]]:
    """Return the last that was written of each line, in the order of the first draws; processes one after the other."""
    lines: dict[_Location, dict[str, Any]] = {}
    for process in probe.processes:
        of_process: dict[_Location, dict[str, Any]] = {}
        for event in _explained(process.events):
            location = (str(event["file"]), int(event["line"]), str(event["call"]), bool(event["exact"]))
            of_process[location] = {"count": int(event["count"]), "digest": str(event["digest"])}
        for location, drawn in of_process.items():
            before = lines.setdefault(location, {"count": 0, "digest": drawn["digest"]})
            before["count"] += drawn["count"]
    return lines


def _explained(events: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    return (event for event in events if event["event"] == "explained")


class _Source:
    """The lines of the project's files."""

    def __init__(self, snapshot: Path) -> None:
        self.snapshot = snapshot
        self._files: dict[str, list[str]] = {}

    def text(self, file: str, line: int) -> str:
        if file not in self._files:
            try:
                text = (self.snapshot / file).read_bytes().decode("utf-8", errors="replace") if file else ""
            except OSError:
                text = ""
            self._files[file] = text.splitlines()
        lines = self._files[file]
        return lines[line - 1].strip()[:TEXT_WIDTH] if 0 < line <= len(lines) else ""
