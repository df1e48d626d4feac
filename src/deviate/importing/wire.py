"""Read fields off a serialised protocol buffer message without its schema.

TensorBoard and wandb write such messages. Their numbers of fields never change, that is the format's promise, so a
few of them are all that is needed, and neither package with its dozens of dependencies has to be installed.

Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

#: Wire types.
VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5

Value = int | bytes


class TornMessageError(Exception):
    """The bytes end within a field, or are no message."""


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield number and value of each field: an integer for a varint, bytes for all others.

    Raises
    ------
    TornMessageError
        If the bytes are no whole message.
    """
    place = 0
    while place < len(message):
        key, place = varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            integer, place = varint(message, place)
            yield number, integer
            continue
        if kind == LENGTH:
            length, place = varint(message, place)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if kind == EIGHT_BYTES else 4
        else:
            raise TornMessageError
        if place + length > len(message):
            raise TornMessageError
        yield number, message[place : place + length]
        place += length


def varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the integer that begins at `place`, and where it ends."""
    value = shift = 0
    while place < len(data) and shift < 70:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if not byte & 0x80:
            return value, place
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
