"""Record files: slots of a fixed size, each with a record or unused.

A process maps its file into memory and reserves room for records to come. A slot that is unused, or of a record that
was never finished, has no time and is dropped. Files that begin with a `HEAD` are such; others have records only, and
the torn end of one is dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

#: Metric id, iteration, seconds since the process's runtime started, exact value.
RECORD = np.dtype([("id", "<i4"), ("iteration", "<i4"), ("elapsed", "<f8"), ("value", "<f8")])

#: Id of the first record of a file with unused slots; its value is how many records could not be written.
HEAD = -4

#: Bytes looked through at once for the end of what is used.
_BLOCK = 4096 * RECORD.itemsize


def parse_records(data: bytes) -> NDArray[np.void]:
    """Return the whole records in `data`, in the order they were written; a torn end is dropped."""
    return np.frombuffer(data, dtype=RECORD, count=len(data) // RECORD.itemsize)


def read_records(path: Path, size: int | None = None) -> NDArray[np.void]:
    """Return the records of the first `size` bytes of a file, of all by default, in the order they were written."""
    return read_on(path, 0, -1 if size is None else size // RECORD.itemsize)[0]


def read_on(path: Path, begin: int, most: int = -1) -> tuple[NDArray[np.void], int]:
    """Return the records of a file that may grow from byte `begin` on, and the byte to read on from.

    `most` is how many slots are read; all by default.
    """
    with path.open("rb") as file:
        has_unused = _has_unused(file)
        file.seek(begin)
        slots = parse_records(file.read(most * RECORD.itemsize if most >= 0 else -1))
    if not has_unused:
        return slots, begin + slots.nbytes
    used = np.flatnonzero(slots["elapsed"])
    taken = slots[used]
    return taken[taken["id"] != HEAD], begin + (int(used[-1]) + 1 if used.size else 0) * RECORD.itemsize


def _has_unused(file: BinaryIO) -> bool:
    head = parse_records(file.read(RECORD.itemsize))
    return bool(len(head) and head["id"][0] == HEAD)


def used_size(path: Path) -> int:
    """Return how many bytes of a record file are records: it grows with each of them."""
    with path.open("rb") as file:
        has_unused = _has_unused(file)
        size = file.seek(0, 2) // RECORD.itemsize * RECORD.itemsize
        while has_unused and size:
            begin = max(0, size - _BLOCK)
            file.seek(begin)
            used = np.flatnonzero(parse_records(file.read(size - begin))["elapsed"])
            if used.size:
                return begin + (int(used[-1]) + 1) * RECORD.itemsize
            size = begin
    return size


def lost_count(path: Path) -> int:
    """Return how many records a process could not write, by what it could say in their file."""
    with path.open("rb") as file:
        head = parse_records(file.read(RECORD.itemsize))
    return int(head["value"][0]) if len(head) and head["id"][0] == HEAD else 0


def read_tail(path: Path, count: int) -> NDArray[np.void]:
    """Return the last whole records of a file that may still grow, at most `count` of them."""
    begin = max(0, used_size(path) - count * RECORD.itemsize)
    return read_on(path, begin, count)[0]
