"""The files outside their copies of the project that runs read and wrote, as the runtime saw them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from deviate.collect.processes import Process
from deviate.collect.runs import RunFiles

#: Bytes of a file that is read whole, and those of the two ends of a longer one, as in the runtime.
WHOLE = 1 << 20
END = 1 << 16

#: Seconds by which the clock of a file system may differ from that of the machine.
_SLACK = 0.05


class Stamp(NamedTuple):
    """What a file was like at a moment."""

    size: int
    #: Of its last change, in nanoseconds.
    time: int
    #: Checksum of all of it or of its two ends, and which; empty where it is not known.
    digest: str = ""

    def is_as(self, other: Stamp) -> bool:
        """Tell whether a file was the same at two moments; where only its ends were read, its time decides too."""
        if self.size != other.size or (self.digest and other.digest and self.digest != other.digest):
            return False
        return self.time == other.time or (self.digest == other.digest and self.digest.startswith("whole"))


class OpenedFile(msgspec.Struct, kw_only=True):
    """A file that a run opened."""

    #: As the run first read it; None where it did not, or wrote it before that.
    read: Stamp | None = None
    #: As the run left it; None where that is not known.
    left: Stamp | None = None
    #: The run opened it for writing.
    written: bool = False

    @property
    def changed(self) -> bool:
        """Whether the run wrote it, or it was another when the run had ended."""
        return self.written or (self.read is not None and self.left is not None and not self.left.is_as(self.read))


class Span(NamedTuple):
    """When a run went on, in seconds; empty where that is not known."""

    begun: float
    ended: float

    def holds(self, stamp: Stamp) -> bool:
        """Tell whether a file was last changed in that time."""
        return self.begun - _SLACK <= stamp.time / 1e9 <= self.ended + _SLACK

    def made(self, stamp: Stamp) -> bool:
        """Tell whether a file that a run read was made after the run had begun."""
        return stamp.time / 1e9 >= self.begun


class Opened(NamedTuple):
    """What a run opened outside its copy of the project."""

    run: str
    span: Span
    #: By path; what is linked into the copy, by its path from there.
    files: dict[str, OpenedFile]
    #: Of many files in one folder: how many were read, a checksum of their names, and one of their states.
    folders: dict[str, tuple[int, int, int]]
    #: All of its processes told of their files.
    complete: bool

    @property
    def inputs(self) -> dict[str, Stamp]:
        """The files that the run read as it found them."""
        read = {path: file.read for path, file in self.files.items()}
        return {path: stamp for path, stamp in read.items() if stamp and not self.span.made(stamp)}


def opened_files(run: RunFiles) -> Opened:
    """Return what the processes of a run opened, joined: of a file that several read, as the first found it."""
    files: dict[str, OpenedFile] = {}
    folders: dict[str, tuple[int, int, int]] = {}
    for process in run.processes:
        for event in _events(process):
            for row in event.get("files") or ():
                _join(files, row)
            _join_folder(folders, event.get("folder"))
    return Opened(run.name, _span(run), files, folders, _is_complete(run.processes))


def _events(process: Process) -> list[dict[str, Any]]:
    return [event for event in process.events if event["event"] == "opened"]


def _is_complete(processes: Sequence[Process]) -> bool:
    """Tell whether every process that came to its end, and the first in any case, told of all its files."""
    ended = [each for each in processes if any(event["event"] == "end" for event in each.events)]
    told = [any(event.get("ended") and not event.get("left") for event in _events(each)) for each in ended]
    return bool(told) and all(told)


def _join(files: dict[str, OpenedFile], row: Any) -> None:
    """Add a row of an event; one that is not as it must be says nothing."""
    try:
        path, read, digest, written, left = row
        found = Stamp(read[0], read[1], digest) if read else None
        known = files.setdefault(path, OpenedFile(read=found))
        if known.read is not None and found is not None and known.read.is_as(found) and not known.read.digest:
            known.read = found
        known.written |= bool(written)
        known.left = Stamp(left[0], left[1], left[2]) if left else found or known.left
    except (TypeError, ValueError, IndexError):
        return


def _join_folder(folders: dict[str, tuple[int, int, int]], row: Any) -> None:
    if isinstance(row, list) and len(row) == 4:
        folder, count, names, states = row
        before = folders.get(folder, (0, 0, 0))
        folders[folder] = (before[0] + count, before[1] ^ names, before[2] ^ states)


def _span(run: RunFiles) -> Span:
    if run.info is None or not run.info.started or run.outcome is None or run.outcome.seconds is None:
        return Span(float("inf"), float("-inf"))
    begun = datetime.fromisoformat(run.info.started).timestamp()
    return Span(begun, begun + run.outcome.seconds)


def stamp_of(path: Path, known: Sequence[Stamp]) -> Stamp | None:
    """Return what a file is like now; None where there is none. It is read only where its content decides."""
    try:
        status = os.stat(path)
        plain = Stamp(status.st_size, status.st_mtime_ns)
        same = [each for each in known if each[:2] == plain[:2]]
        if any(not each.digest.startswith("whole") for each in same) or all(each.size != plain.size for each in known):
            return plain
        with path.open("rb") as file:
            data = file.read(WHOLE if status.st_size <= WHOLE else END)
            if status.st_size > WHOLE:
                file.seek(-END, os.SEEK_END)
                data += file.read(END)
    except OSError:
        return None
    how = "whole" if status.st_size <= WHOLE else "ends"
    return Stamp(status.st_size, status.st_mtime_ns, f"{how} {zlib.crc32(data):08x}")
