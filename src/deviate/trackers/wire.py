"""Read fields off a serialised protocol buffer message without its schema.

TensorBoard and wandb write such messages. Their numbers of fields never change, that is the format's promise, so a
few of them are all that is needed, and neither package with its dozens of dependencies has to be installed.

Format: https://protobuf.dev/programming-guides/encoding/

Both frame each message with checksums, and a message whose checksum is not right would give other numbers in silence.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

#: Wire types.
VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5

Value = int | bytes


class TornMessageError(Exception):
    """The bytes end within a field, or are no message."""


class DamagedFileError(Exception):
    """A checksum is not that of the bytes it stands for."""


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield number and value of each field: an integer for a varint, bytes for all others.

    Raises
    ------
    TornMessageError
        If the bytes are no whole message.
    """
    offset = 0
    while offset < len(message):
        key, offset = varint(message, offset)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            integer, offset = varint(message, offset)
            yield number, integer
            continue
        if kind == LENGTH:
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
