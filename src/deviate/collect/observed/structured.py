"""Tables and JSON files that a run wrote, as series by column and by key."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deviate.analyse.metrics.names import unique
from deviate.collect.observed.lines import displayed_lines
from deviate.collect.observed.printed import decimals_of, read_number
from deviate.collect.observed.slots import Mined, Slot, SlotSeries, mine_log

#: Larger files are not read.
MOST_BYTES = 256 << 20
#: Objects and lists in JSON are followed this far down.
MOST_DEPTH = 20
#: Columns or keys of one file.
MOST_SERIES = 5_000
#: Words of a column that identify the rows: ``split``, ``metric``.
MOST_LABELS = 30

_TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_BINARY = b"\x00"


class _Value(NamedTuple):
    value: float
    offset: int
    decimals: int


class _Number(float):
    """A number of a JSON text, with its digits after the point."""

    decimals = 0


def mine_file(path: Path, source: str) -> list[SlotSeries]:
    """Return every number of a text file as a series; see `read_file`."""
    return read_file(path, source).series


def read_file(path: Path, source: str) -> Mined:
    """Return every number of a text file as a series, by column, by key, or by line.

    The suffix says what a file is; content that is nothing of the kind is read as a log. Files that cannot be read, are
    binary or larger than `MOST_BYTES` have no series.

    Parameters
    ----------
    path : Path
        The file.
    source : str
        What the slots are said to be of: its path in the run's folder.
    """
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return Mined([], 0)
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError:
        return Mined([], 0)
    return read_data(data, path.suffix.lower(), source)


def read_data(data: bytes, suffix: str, source: str) -> Mined:
    """Return the series of a file's content; `suffix` is that of its name, in lower case."""
    if len(data) > MOST_BYTES or _BINARY in data[:65536]:
        return Mined([], 0)
    found: dict[str, list[_Value]] | None = None
    if suffix in _TABLES:
        found = _table(data, _TABLES[suffix])
    elif suffix in {".json", ".jsonl", ".ndjson"} or data[:1] in {b"{", b"["}:
        found = _json(data)
    return mine_log(data, source) if found is None else Mined(_series(found, source), 0)


def _series(found: dict[str, list[_Value]], source: str) -> list[SlotSeries]:
    kept = {key: values for key, values in found.items() if values}
    names = unique([_name(key) for key in kept], [[] for _ in kept])
    return [_one(key, name, values, source) for (key, values), name in zip(kept.items(), names, strict=True)]


def _name(key: str) -> str:
    """Leave out of a key what stands for the items of lists."""
    parts = [part for part in key.split("/") if part != "*"]
    return "/".join(parts) or "value"


def _one(key: str, name: str, values: Sequence[_Value], source: str) -> SlotSeries:
    decimals = np.array([value.decimals for value in values], dtype=np.int16)
    first = int(decimals[0])
    slot = Slot(
        source=source,
        template=key,
        position=0,
        name=name,
        words=_name(key),
        decimals=first if bool(np.all(decimals == first)) else None,
    )
    return SlotSeries(
        slot,
        np.array([value.value for value in values], dtype=np.float64),
        np.array([value.offset for value in values], dtype=np.int64),
        decimals,
    )


def _table(data: bytes, delimiter: str) -> dict[str, list[_Value]] | None:
    """Read a table with a head; None where it has none."""
    rows = _rows(data, delimiter)
    head = next((cells for _, cells in rows if any(cell.strip() for cell in cells)), [])
    names = [name.strip().lstrip("\ufeff") or f"column {index + 1}" for index, name in enumerate(head)]
    is_row = all(read_number(cell) is not None for cell in head if cell.strip())
    if not names or len(names) > MOST_SERIES or is_row:
        return None
    names = unique(names, [[] for _ in names])
    body = [(offset, cells) for offset, cells in rows if cells != head]
    label = _label_column(names, body)
    found: dict[str, list[_Value]] = {}
    for offset, cells in body:
        before = f"{cells[label].strip()}/" if label is not None and label < len(cells) else ""
        for index, (name, cell) in enumerate(zip(names, cells, strict=False)):
            number = read_number(cell) if index != label else None
            if number is not None and (len(found) < MOST_SERIES or before + name in found):
                found.setdefault(before + name, []).append(_Value(number[0], offset, number[1]))
    return found


def _rows(data: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table with the offset of their first line; a row may go over several lines."""
    first = data.partition(b"\n")[0].decode("utf-8", "replace")
    if delimiter == "," and first.count(",") < max(first.count(";"), first.count("\t")):
        delimiter = max(";\t", key=first.count)
    at = [0, 0]
    reader = csv.reader(_counted(data, at), delimiter=delimiter, skipinitialspace=True)
    while True:
        start = at[1]
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        yield start, cells


def _counted(data: bytes, at: list[int]) -> Iterator[str]:
    """Yield the lines of a text; `at` holds where the last one begins and ends. Remarks of tools are passed over."""
    for line in io.BytesIO(data):
        at[0], at[1] = at[1], at[1] + len(line)
        if not line.startswith(b"#{"):
            yield line.decode("utf-8", "replace").replace("\x00", "")


def _label_column(names: Sequence[str], body: Sequence[tuple[int, list[str]]]) -> int | None:
    """Return the column of words whose few values tell the rows of several series apart; None if there is not one."""
    candidates = []
    for index in range(len(names)):
        words = [cells[index].strip() for _, cells in body if index < len(cells)]
        distinct = set(words)
        if all(word and read_number(word) is None for word in distinct) and 1 < len(distinct) <= MOST_LABELS:
            candidates.append(index)
    return candidates[0] if len(candidates) == 1 else None


def _json(data: bytes) -> dict[str, list[_Value]] | None:
    """Read one JSON text, or one a line; None where it is neither."""
    found: dict[str, list[_Value]] = {}
    try:
        _collect(_parsed(data.decode("utf-8-sig", "replace")), "", 0, 0, found)
        return found
    except (ValueError, RecursionError):
        found.clear()
    read = broken = 0
    for start, line in displayed_lines(data):
        if not line.strip():
            continue
        try:
            _collect(_parsed(line.decode("utf-8", "replace")), "", start, 0, found)
            read += 1
        except (ValueError, RecursionError):
            # The torn end of a file that was being written, or a text that is no JSON at all.
            broken += 1
    return found if read > broken else None


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=_number, parse_int=_number, parse_constant=_number)


def _number(text: str) -> _Number:
    number = _Number(text)
    number.decimals = decimals_of(text) if text[-1:].isdigit() else 0
    return number


def _collect(value: object, key: str, offset: int, depth: int, found: dict[str, list[_Value]]) -> None:
    """Add the numbers in a JSON value under the keys that lead to them; ``*`` stands for the items of a list."""
    if isinstance(value, _Number):
        if key in found or len(found) < MOST_SERIES:
            found.setdefault(key, []).append(_Value(float(value), offset, value.decimals))
    elif depth < MOST_DEPTH and isinstance(value, dict):
        for name, inside in value.items():
            _collect(inside, f"{key}/{name}" if key else str(name), offset, depth + 1, found)
    elif depth < MOST_DEPTH and isinstance(value, list):
        for inside in value:
            _collect(inside, f"{key}/*" if key else "*", offset, depth + 1, found)
