"""TensorBoard event files: scalars of ``tfevents`` files, a run a folder."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec
import numpy as np
from numpy.typing import DTypeLike

from deviate.analyse.naming.words import split_of
from deviate.importing.crc32c import masked_crc32c
from deviate.importing.foreign import ForeignResults, ForeignRun, Reading, in_order
from deviate.importing.wire import DamagedFileError, TornMessageError, Value, double, fields, inner, signed, text

#: Part of the name of every event file.
MARK = "tfevents"

#: A record is: length (8 bytes), checksum of the length (4), data, checksum of the data (4).
LENGTH, HEAD, TAIL = 8, 12, 4

#: Larger records hold images and graphs, and their checksums take long: of these, only that of the length is looked at.
MOST_CHECKED = 1 << 16

#: ``DataType`` of ``tensorflow/core/framework/types.proto``: those a scalar comes in, as NumPy calls them.
_DTYPES: dict[int, DTypeLike] = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}
#: Fields of ``TensorProto`` that hold values one by one: float, double, int and int64.
_LISTS: dict[int, DTypeLike] = {5: "<f4", 6: "<f8"}


class Scalar(msgspec.Struct, frozen=True):
    """One point of one tag."""

    tag: str
    step: int
    wall_time: float
    value: float


def read_tensorboard(folders: list[Path]) -> ForeignResults:
    """Read the event files below `folders`.

    A folder with event files is a run, as TensorBoard has it, with two exceptions: ``train`` and ``validation`` folders
    (Keras) belong to the run that is the folder above, and so do the folders ``add_scalars`` makes. A folder without a
    scalar is a run that failed, unless other runs are above or below it.
    """
    runs: dict[str, _RunEvents] = {}
    for root in folders:
        for folder in sorted({path.parent for path in _event_files(root)}):
            files = [root] if root.is_file() else _event_files(folder, deep=False)
            scalars, damage = _read_all(files)
            run, prefix = _owner(folder, {scalar.tag for scalar in scalars})
            events = runs.setdefault(_label(run, root, folders), _RunEvents(folder=run))
            events.files.extend(files)
            events.damage = events.damage or damage
            events.scalars.extend((prefix(scalar.tag), scalar) for scalar in scalars)
    around = {label: near for label, events in runs.items() if (near := _run_around(events, runs))}
    return ForeignResults(
        runs=in_order(_run(label, events) for label, events in runs.items() if label not in around),
        notes=[
            "Times are counted from the first event of each run; TensorBoard stores values as 32-bit floats.",
            *(f"{label} is no run of its own, but goes with {near}: {_why_silent(runs[label].files)}."
              for label, near in around.items()),
        ],
    )  # fmt: skip


class _RunEvents(msgspec.Struct):
    """The event files of one run, and the scalars in them by name."""

    folder: Path
    files: list[Path] = []
    scalars: list[tuple[str, Scalar]] = []
    #: What is damaged; empty where nothing is.
    damage: str = ""


def _read_all(files: list[Path]) -> tuple[list[Scalar], str]:
    """Return the scalars of event files, or what is damaged: then none of them counts."""
    try:
        return [scalar for path in files for scalar in read_events(path)], ""
    except DamagedFileError as error:
        return [], f"the event file is damaged: {error}"


def _run_around(events: _RunEvents, runs: dict[str, _RunEvents]) -> str:
    """Name the run that a folder without scalars is above or below; empty where it has some, or stands alone."""
    if events.scalars or events.damage:
        return ""
    others = ((label, other.folder) for label, other in runs.items() if other.scalars)
    near = (label for label, folder in others if folder in events.folder.parents or events.folder in folder.parents)
    return next(near, "")


def _why_silent(files: list[Path]) -> str:
    if all(path.stat().st_size == 0 for path in files):
        return "the event file is empty"
    if not any(True for path in files for _ in _records(path.read_bytes())):
        return "the event file is corrupt"
    return "no scalar in the event file"


def _event_files(root: Path, deep: bool = True) -> list[Path]:
    if root.is_file():
        return [root]
    return sorted(root.rglob(f"*{MARK}*") if deep else root.glob(f"*{MARK}*"))


class _Prefix(msgspec.Struct, frozen=True):
    """How a tag is named in its run."""

    before: str = ""
    instead: str = ""

    def __call__(self, tag: str) -> str:
        return self.instead or f"{self.before}{tag}"


def _owner(folder: Path, tags: set[str]) -> tuple[Path, _Prefix]:
    """Return the folder that is the run, and the prefix of the tags of `folder` in it."""
    if folder.name.lower() in ("train", "validation", "val", "valid", "test", "eval") and split_of(folder.name):
        return folder.parent, _Prefix(before=f"{folder.name}/")
    only = next(iter(tags)) if len(tags) == 1 else None
    if only is not None and folder.name.startswith(f"{only.replace('/', '_')}_"):
        return folder.parent, _Prefix(instead=folder.name)
    return folder, _Prefix()


def _label(run: Path, root: Path, roots: list[Path]) -> str:
    base = root.parent if root.is_file() else root
    inside = run.relative_to(base).as_posix() if run.is_relative_to(base) else "."
    if len(roots) == 1:
        return inside if inside != "." else run.resolve().name
    return str(PurePosixPath(root.as_posix()) / inside)


def _run(label: str, events: _RunEvents) -> ForeignRun:
    if events.damage or not events.scalars:
        return ForeignRun(label=label, readings=[], broken=events.damage or _why_silent(events.files))
    ordered = sorted(events.scalars, key=lambda pair: pair[1].wall_time)
    start = ordered[0][1].wall_time
    readings = [Reading(name, scalar.step, scalar.value, scalar.wall_time - start) for name, scalar in ordered]
    return ForeignRun(label=label, readings=readings)


def read_events(path: Path) -> Iterator[Scalar]:
    """Yield the scalars of one event file; a torn end, which a killed training leaves, is passed over.

    Raises
    ------
    DamagedFileError
        If a checksum is not that of its bytes.
    """
    for record in _records(path.read_bytes()):
        try:
            yield from _scalars(record)
        except TornMessageError:
            return


def _records(data: bytes) -> Iterator[bytes]:
    offset = 0
    while offset + HEAD <= len(data):
        (length,) = struct.unpack_from("<Q", data, offset)
        start = offset + HEAD
        if length == 0:
            # No event is empty: space that was taken and never written, a gigabyte of it in 80 million steps.
            return
        _check(data, offset, offset + LENGTH)
        if start + length + TAIL > len(data):
            return
        if length <= MOST_CHECKED:
            _check(data, start, start + length)
        yield data[start : start + length]
        offset = start + length + TAIL


def _check(data: bytes, start: int, end: int) -> None:
    """Make sure that the four bytes from `end` on are the checksum of those between `start` and it."""
    (stored,) = struct.unpack_from("<I", data, end)
    if masked_crc32c(data[start:end]) != stored:
        raise DamagedFileError(f"bytes {start:,} to {end:,} are not those that were written")


def _scalars(event: bytes) -> Iterator[Scalar]:
    """Yield the scalars of one ``Event``: wall_time = 1, step = 2, summary = 5."""
    wall_time, step, summaries = 0.0, 0, list[bytes]()
    for number, value in fields(event):
        if number == 1:
            wall_time = double(value)
        elif number == 2:
            step = signed(value)
        elif number == 5:
            summaries.append(inner(value))
    for summary in summaries:
        for number, value in fields(summary):
            tag_and_value = _scalar(inner(value)) if number == 1 else None
            if tag_and_value is not None:
                yield Scalar(tag_and_value[0], step, wall_time, tag_and_value[1])


def _scalar(message: bytes) -> tuple[str, float] | None:
    """Return tag and number of one ``Summary.Value``: tag = 1, simple_value = 2, tensor = 8."""
    tag, number = "", None
    for field, value in fields(message):
        if field == 1:
            tag = text(value)
        elif field == 2:
            number = double(value)
        elif field == 8:
            number = _tensor(inner(value))
    return None if number is None else (tag, number)


def _tensor(message: bytes) -> float | None:
    """Return the number in a ``TensorProto`` that is a scalar: dtype = 1, shape = 2, content = 4; None for others."""
    dtype, content, listed = 0, b"", None
    for field, value in fields(message):
        if field == 1:
            dtype = signed(value)
        elif field == 2 and inner(value):
            return None
        elif field == 4:
            content = inner(value)
        elif field in (5, 6, 7, 10):
            listed = _first(field, value)
    kind = np.dtype(_DTYPES[dtype]) if dtype in _DTYPES else None
    if kind is not None and len(content) == kind.itemsize:
        return float(np.frombuffer(content, kind)[0])
    return listed if kind is not None else None


def _first(field: int, value: Value) -> float | None:
    """Return the one value of a list, packed or not."""
    if isinstance(value, int):
        return float(signed(value))
    if field not in _LISTS:
        return None
    kind = np.dtype(_LISTS[field])
    return float(np.frombuffer(value, kind)[0]) if len(value) == kind.itemsize else None
