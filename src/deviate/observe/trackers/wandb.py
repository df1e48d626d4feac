"""The ``.wandb`` file of a run of Weights & Biases: what it logged, step by step, and what is in its summary alone."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from deviate.observe.trackers.tensorboard import DamagedFileError, Scalar, TornMessageError, fields, inner, signed, text

#: A ``.wandb`` file is a LevelDB log after a header of seven bytes: blocks of 32 KiB, each a row of chunks with a head
#: of checksum (4 bytes), length (2) and type (1); a record may be spread over several chunks. The checksum is the
#: CRC-32 of type and data (LevelDB has CRC-32C there): ``wandb/sdk/internal/datastore.py``.
#: https://github.com/google/leveldb/blob/main/doc/log_format.md
FILE_HEAD, BLOCK, CHUNK_HEAD = 7, 32768, 7
FULL, FIRST, LAST = 1, 2, 4
MAGIC = b":W&B"

#: Fields of ``Record``.
HISTORY, SUMMARY = 2, 3


def read_logged(path: Path) -> Iterator[Scalar]:
    """Yield the numbers that a run logged, then those that it put into its summary alone; a torn end is passed over.

    Raises DamagedFileError if a checksum is not that of its bytes.
    """
    logged: set[str] = set()
    summary: dict[str, float] = {}
    step = -1
    for number, message in _logs(path.read_bytes()):
        try:
            if number == SUMMARY:
                summary.update(_items(message))
                continue
            values, step = history(message)
        except TornMessageError:
            break
        logged.update(values)
        moment = values.get("_timestamp", math.nan)
        yield from (Scalar(name, step, moment, value) for name, value in values.items() if not is_own(name))
    yield from (
        Scalar(name, step, math.nan, value)
        for name, value in summary.items()
        if name not in logged and not is_own(name)
    )


def _logs(data: bytes) -> Iterator[tuple[int, bytes]]:
    for record in records(data):
        try:
            found = [(number, inner(value)) for number, value in fields(record) if number in (HISTORY, SUMMARY)]
        except TornMessageError:
            return
        yield from found


def is_own(name: str) -> bool:
    """Tell whether a number is one that wandb adds itself: ``_step``, ``_runtime``, ``_timestamp``."""
    return name.startswith("_")


def history(message: bytes) -> tuple[dict[str, float], int]:
    """Return the numbers of one ``HistoryRecord``, its own ones among them, and its step.

    item = 1 (key = 1, nested_key = 2, value_json = 16), step = 2.
    """
    step = next((inner(value) for number, value in fields(message) if number == 2), None)
    values = _items(message)
    number = -1 if step is None else next((signed(value) for field, value in fields(step) if field == 1), 0)
    return values, step_of(values, number)


def _items(message: bytes) -> dict[str, float]:
    """Return the numbers in the items of a record of history or summary.

    A picture or a table may be written leaf by leaf: ``data/x/_type``, ``data/x/width``.
    """
    pairs = [item(inner(value)) for number, value in fields(message) if number == 1]
    media = tuple(key.removesuffix("_type") for key, _ in pairs if key.endswith("/_type"))
    kept = [pair for pair in pairs if not pair[0].startswith(media)]
    return {name: number for key, value in kept for name, number in numbers_in(value, key).items()}


def records(data: bytes) -> Iterator[bytes]:
    """Yield whole records of the log.

    Raises DamagedFileError if a checksum is not that of its bytes.
    """
    if not data.startswith(MAGIC):
        return
    offset, parts = FILE_HEAD, list[bytes]()
    while offset + CHUNK_HEAD <= len(data):
        left = BLOCK - offset % BLOCK
        if left < CHUNK_HEAD:
            offset += left
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, offset)
        start = offset + CHUNK_HEAD
        if checksum == length == kind == 0 or start + length > len(data):
            return
        if checksum != zlib.crc32(data[start : start + length], zlib.crc32(bytes([kind]))):
            raise DamagedFileError(f"bytes {offset:,} to {start + length:,} are not those that were written")
        if kind in (FULL, FIRST):
            parts = []
        parts.append(data[start : start + length])
        if kind in (FULL, LAST):
            yield b"".join(parts)
        offset = start + length


def item(message: bytes) -> tuple[str, str]:
    """Return the key and the JSON text of one item of a record."""
    key, nested, text_value = "", list[str](), ""
    for number, value in fields(message):
        if number == 1:
            key = text(value)
        elif number == 2:
            nested.append(text(value))
        elif number == 16:
            text_value = text(value)
    return "/".join(nested) or key, text_value


def step_of(values: dict[str, float], otherwise: int) -> int:
    """Return the step that the values name, where it is a number."""
    named = values.get("_step", math.nan)
    return int(named) if math.isfinite(named) else otherwise


def parsed(text: str) -> object:
    """Return the value of a JSON text; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def numbers_in(text: str, name: str = "") -> dict[str, float]:
    """Return the numbers in a JSON text by name; none where it is nested too deeply."""
    try:
        return numbers(name, parsed(text))
    except RecursionError:
        return {}


def numbers(name: str, value: object) -> dict[str, float]:
    """Return the numbers in a value by name; those of a mapping are named ``outer/inner``."""
    if isinstance(value, dict) and "_type" in value:
        return {}  # a picture, a table, a histogram
    if isinstance(value, dict):
        parts = (numbers(f"{name}/{key}" if name else str(key), inside) for key, inside in value.items())
        return {key: number for part in parts for key, number in part.items()}
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return {name: float(value)}
    try:
        return {name: float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else {}
    except OverflowError:  # a whole number of hundreds of digits
        return {}
