"""TensorBoard event files: the scalars in ``tfevents`` files, whoever wrote them.

`Scalar` is one value that a program logged with a tracker, whichever that is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import DTypeLike

# CRC-32C, the checksum of TensorFlow's records; Python's library has only the CRC-32 of Ethernet.

#: The polynomial of Castagnoli et al. (1993), reflected.
_POLYNOMIAL = 0x82F63B78

#: TensorFlow stores the checksum rotated and shifted by this, so that a checksum of checksums is no fixed point.
_MASK_DELTA = 0xA282EAD8


def _table() -> list[int]:
    remainders = list(range(256))
    for _ in range(8):
        remainders = [value >> 1 ^ (_POLYNOMIAL if value & 1 else 0) for value in remainders]
    return remainders


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of `data`.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table, crc = _TABLE, 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Return the CRC-32C of `data` as TensorFlow's record files store it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


# Read fields off a serialised protocol buffer message without its schema.
#
# TensorBoard and wandb write such messages. Their numbers of fields never change, that is the format's promise, so a
# few of them are all that is needed, and neither package with its dozens of dependencies has to be installed.
#
# Format: https://protobuf.dev/programming-guides/encoding/
#
# Both frame each message with checksums, and a message whose checksum is not right would give other numbers in silence.

#: Wire types.
VARINT, EIGHT_BYTES, LENGTH_FIELD, FOUR_BYTES = 0, 1, 2, 5

Value = int | bytes


class TornMessageError(Exception):
    """The bytes end within a field, or are no message."""


class DamagedFileError(Exception):
    """A checksum is not that of the bytes it stands for."""


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield number and value of each field: an integer for a varint, bytes for all others.

    Raises TornMessageError if the bytes are no whole message.
    """
    offset = 0
    while offset < len(message):
        key, offset = varint(message, offset)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            integer, offset = varint(message, offset)
            yield number, integer
            continue
        if kind == LENGTH_FIELD:
            length, offset = varint(message, offset)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if kind == EIGHT_BYTES else 4
        else:
            raise TornMessageError
        if offset + length > len(message):
            raise TornMessageError
        yield number, message[offset : offset + length]
        offset += length


def varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return the integer that begins at `offset`, and the offset of its end."""
    value = shift = 0
    while offset < len(data) and shift < 70:
        byte = data[offset]
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if not byte & 0x80:
            return value, offset
    raise TornMessageError


def signed(value: Value) -> int:
    """Return a varint as the signed 64-bit integer that it stands for."""
    number = value if isinstance(value, int) else int.from_bytes(value, "little")
    return number - (1 << 64) if number >= 1 << 63 else number


def inner(value: Value) -> bytes:
    """Return the bytes of an embedded message."""
    if isinstance(value, int):
        raise TornMessageError
    return value


def text(value: Value) -> str:
    """Return a string field."""
    return inner(value).decode("utf-8", "replace")


def double(value: Value) -> float:
    """Return a field of eight or four bytes as a float."""
    data = inner(value)
    if len(data) not in (4, 8):
        raise TornMessageError
    return float(struct.unpack("<d" if len(data) == 8 else "<f", data)[0])


#: A record is: length (8 bytes), checksum of the length (4), data, checksum of the data (4).
LENGTH, HEAD, TAIL = 8, 12, 4

#: Larger records hold images and graphs, and their checksums take long: of these, only that of the length is looked at.
MOST_CHECKED = 1 << 16

#: Unix seconds of the years 2001 to 2065, in which the first event of a file was made.
FIRST_CLOCK, LAST_CLOCK = 1e9, 3e9

#: ``DataType`` of ``tensorflow/core/framework/types.proto``: those a scalar comes in, as NumPy calls them.
_DTYPES: dict[int, DTypeLike] = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}
#: Fields of ``TensorProto`` that hold values one by one: float, double, int and int64.
_LISTS: dict[int, DTypeLike] = {5: "<f4", 6: "<f8"}


def is_event_file(head: bytes) -> bool:
    """Tell by its first bytes whether a file holds events: data sets of TensorFlow have the same frame, and no time."""
    try:
        number, value = next(fields(next(records(head), b"")), (0, b""))
        return number == 1 and FIRST_CLOCK < double(value) < LAST_CLOCK
    except (DamagedFileError, TornMessageError):
        return False


def read_events(path: Path) -> Iterator[Scalar]:
    """Yield the scalars of one event file; a torn end, which a killed training leaves, is passed over.

    Raises DamagedFileError if a checksum is not that of its bytes.
    """
    for record in records(path.read_bytes()):
        try:
            yield from _scalars(record)
        except TornMessageError:
            return


def records(data: bytes) -> Iterator[bytes]:
    """Yield the whole records of a file.

    Raises DamagedFileError if a checksum is not that of its bytes.
    """
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


#: Tag of the event in which the plugin of hyperparameters keeps what was set.
_SESSION = b"_hparams_/session_start_info"


def read_hparams(path: Path) -> dict[str, str]:
    """Return the hyperparameters that one event file holds, by name; none where it is torn or damaged before them.

    ``Summary.Value.metadata`` = 9, ``plugin_data`` = 1, ``content`` = 2: an ``HParamsPluginData`` whose
    ``session_start_info`` = 3 has ``hparams`` = 1, a map of names and ``google.protobuf.Value``.
    """
    data = path.read_bytes()
    try:
        event = next((each for each in records(data) if _SESSION in each), b"") if _SESSION in data else b""
        values = [value for summary in _inside(event, 5) for value in _inside(summary, 1)]
        contents = [_inside(plugin, 2) for value in values for plugin in _inside(_only(_inside(value, 9)), 1)]
        entries = [entry for each in contents for start in _inside(_only(each), 3) for entry in _inside(start, 1)]
        return {text(_only(_inside(entry, 1))): _setting(_only(_inside(entry, 2))) for entry in entries}
    except (DamagedFileError, TornMessageError):
        return {}


def _inside(message: bytes, number: int) -> list[bytes]:
    return [inner(value) for field, value in fields(message) if field == number]


def _only(messages: list[bytes]) -> bytes:
    return messages[-1] if messages else b""


def _setting(message: bytes) -> str:
    """Return what a ``google.protobuf.Value`` holds: number_value = 2, string_value = 3, bool_value = 4."""
    for field, value in fields(message):
        if field == 2:
            number = double(value)
            return str(int(number)) if number.is_integer() else repr(number)
        if field == 3:
            return text(value)
        if field == 4:
            return str(bool(value))
    return ""


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


class Scalar(msgspec.Struct, frozen=True):
    """One point of one series."""

    #: The author's name of the series: tag of TensorBoard, key of MLflow and wandb.
    tag: str
    #: As the author counts, or as the tracker does where the author gives none.
    step: int
    #: Unix seconds; NaN where the tracker did not store it.
    wall_time: float
    value: float
