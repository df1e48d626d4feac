"""Tables and JSON files that a run wrote, as series by column and key; rows of many numbers are data."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deviate.lexicon.words import (
    is_bookkeeping,
    is_counting,
    is_metric_word,
    is_schedule,
    meaning_of,
    unique,
    word_lists,
    words_of,
)
from deviate.observe.output.slots import MOST_ITEMS, Mined, Slot, SlotSeries, mine_log
from deviate.observe.output.templates import IDENTIFIER, LIST, NUMBER, TIME
from deviate.observe.output.text import decimals_of, displayed_lines, read_number

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


def read_file(path: Path, source: str) -> Mined:
    """Return every number of a text file as a series, by column, by key, or by line.

    The suffix says what a file is; content that is nothing of the kind is read as a log. Files that cannot be read, are
    binary or larger than `MOST_BYTES` have no series.

    `source`: what the slots are said to be of: its path in the run's folder.
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
    elif suffix == ".ipynb":
        data = _printed(data)
    elif suffix in {".json", ".jsonl", ".ndjson"} or data[:1] in {b"{", b"["}:
        found = _json(data)
    return mine_log(data, source) if found is None else Mined(_series(found, source), 0)


def _printed(notebook: bytes) -> bytes:
    """Return what the cells of a notebook printed; nothing where it is none."""
    try:
        cells = json.loads(notebook)["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ()) if output["output_type"] == "stream"]
        return "".join("".join(output["text"]) for output in outputs).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return b""


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


# What the files of a run are called, so that those of other runs are called the same.

_DATE = r"(?:19|20)\d{2}[-_.]?\d{2}[-_.]?\d{2}|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\d{1,2}"
_CLOCK = r"\d{1,2}[-_.:h]\d{2}[-_.:m]\d{2}"
_SECONDS = r"\d{6,}(?:\.\d+)?"
_STAMP = re.compile(rf"(?<![0-9A-Za-z])(?:(?:{_DATE}|{_CLOCK}|{_SECONDS})[-_T]?)+(?![0-9A-Za-z])")
_HASH = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,})(?![0-9A-Za-z])")


def stable_name(path: str) -> str:
    """Return a path with the time at which a run made it, and its random identifiers, replaced.

    >>> stable_name("runs/Nov22_18-10-16_host/loss"), stable_name("outputs/2026-11-22/18-10-16/train.log")
    ('runs/⟨time⟩_host/loss', 'outputs/⟨time⟩/⟨time⟩/train.log')
    >>> stable_name("lightning_logs/version_0/metrics.csv"), stable_name("fold_12/model_1024.csv")
    ('lightning_logs/version_0/metrics.csv', 'fold_12/model_1024.csv')
    """
    return _STAMP.sub(TIME, _HASH.sub(IDENTIFIER, path))


def stable_names(paths: Iterable[str]) -> list[str]:
    """Return the stable names of paths in the order in which they were made; the second of two equal ones is ``#2``."""
    seen: Counter[str] = Counter()
    names = []
    for path in paths:
        name = stable_name(path)
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return names


def named_files(places: Mapping[Path, str]) -> dict[Path, str]:
    """Return the stable names of the files that have one: random folders of one run do not tell which is which."""
    count = Counter(map(stable_name, places.values()))
    kept = {path: at for path, at in places.items() if count[name := stable_name(at)] == 1 or IDENTIFIER not in name}
    return dict(zip(kept, stable_names(kept.values()), strict=True))


# Rows of many numbers: matrices, weights, stored models. They are data, and no metrics, though runs differ in them.

#: So many numbers in a row under one name are data.
MANY = 4
#: Rows under one name whose length varies are data from this length on.
FEW = 3
#: So many numbers in a row that nothing names may be metrics; more are a table of data.
MOST_UNNAMED = 10

ROW = "one of many numbers in a row under one name"
MATRIX = "part of a matrix or vector"
ITEM = "one of several numbers in brackets"
WEIGHT = "the name is of a model's weights"
STORED = "in a file that holds rows of numbers"
LISTED = "of items of a list or rows of a table that nothing counts"

_WEIGHTS = word_lists("data_rows")["weights"]
_GAPS = r"[\s,;|]+"
_RUN = re.compile(rf"{NUMBER}(?:{_GAPS}{NUMBER})+")
_BARE_LIST = re.compile(rf"\s*{LIST},?\s*")
#: An array whose type is written, one in brackets within brackets, and one that is abbreviated: ``[1 2 ... 3]``.
_ARRAY = re.compile(
    rf"\b(?:tensor|array|Array)\(\s*(?:\[[\s\[]*{NUMBER}|\[*\s*{LIST})|\[\s*(?:\[|{LIST})"
    rf"|\[[^\[\]]*{NUMBER},?\s*\.\.\.,?\s*{NUMBER}[^\[\]]*\]"
)
#: Logs, as are files that report metrics by name.
_OUTPUT = {"stdout", "stderr"}

Key = tuple[str, str, int]


def data_slots(slots: Iterable[tuple[Slot, int]]) -> dict[Key, str]:
    """Return the slots that hold data, with the reason; each slot comes with how many values it has.

    A slot named like a metric is none of them, however many stand in its row, but for an item of a list: a name is of
    the whole list.
    """
    every = list(slots)
    counted = [(slot, count) for slot, count in every if slot.item or not is_metric_word(slot.words)]
    logs = _OUTPUT | {slot.source for slot, _ in every if is_metric_word(slot.words)}
    found: dict[Key, str] = {}
    for source in dict.fromkeys(slot.source for slot, _ in counted):
        own = [(slot, count) for slot, count in counted if slot.source == source]
        rows = _of_source([slot for slot, _ in own])
        rows.update(_uncounted([one for one in every if one[0].source == source]))
        in_rows = sum(count for slot, count in own if slot.key in rows)
        if source not in logs and 2 * in_rows > sum(count for _, count in own):
            rows = {slot.key: rows.get(slot.key, STORED) for slot, _ in own}
        found.update(rows)
    return found


def _of_source(slots: Sequence[Slot]) -> dict[Key, str]:
    templates = list(dict.fromkeys(slot.template for slot in slots))
    torn = {template for template in templates if _is_torn(template)}
    torn_lengths = {_longest(template) for template in torn if template.count("[") > template.count("]")}
    lengths: dict[str, set[int]] = {}
    for template in templates:
        lengths.setdefault(_RUN.sub("", template, count=1), set()).add(_longest(template))
    found: dict[Key, str] = {}
    for slot in slots:
        label = _RUN.sub("", slot.template, count=1)
        reason = WEIGHT if _is_weight(slot.words) else ""
        is_inner = bool(torn) and not slot.words and _is_inner(slot.template, torn_lengths)
        if slot.template in torn or _is_nested(slot.template) or is_inner or _ARRAY.search(slot.template):
            reason = MATRIX
        elif slot.item:
            reason = ITEM
        elif _is_under_one_name(slot) and _is_row(_longest(slot.template), lengths[label], label):
            reason = ROW
        if reason:
            found[slot.key] = reason
    return found


def _uncounted(slots: Sequence[tuple[Slot, int]]) -> dict[Key, str]:
    """Return what stands in items of lists, or in rows of a table, that no column or key counts: they are no time.

    Rows of a table may be, where all that they hold is named like what a training reports: one a class is no time.
    """
    counting = {_parent(slot) for slot, _ in slots if is_counting(slot.words)}
    is_history = all(meaning_of(slot.words) is not None or is_schedule(slot.words) for slot, _ in slots)
    return {
        slot.key: LISTED
        for slot, count in slots
        if NUMBER not in slot.template and _parent(slot) not in counting and count > 1
        and ("*/" in slot.template or (_is_table(slot) and not is_history))
    }  # fmt: skip


def _parent(slot: Slot) -> str:
    return slot.template.rpartition("/")[0]


def _is_table(slot: Slot) -> bool:
    return Path(slot.source).suffix.lower() in _TABLES


def _is_torn(template: str) -> bool:
    """Whether a line begins or ends what goes over several lines: ``[[1 2]``, ``tensor([0.1, 0.2,``."""
    return template.count("[") != template.count("]")


def _is_inner(template: str, lengths: set[int]) -> bool:
    """Whether a line without words is a middle row of an array whose first or last row is in the log."""
    if _BARE_LIST.fullmatch(template):
        return True
    return _RUN.fullmatch(template.strip()) is not None and _longest(template) in lengths


def _is_nested(template: str) -> bool:
    """Whether a key of a JSON file leads to lists in lists."""
    return "*/*" in template


def _longest(template: str) -> int:
    return max((run[0].count(NUMBER) for run in _RUN.finditer(template)), default=0)


def _is_row(length: int, lengths: set[int], label: str) -> bool:
    """Whether numbers in a row are too many to be metrics of one name.

    `lengths` are those of all rows in the log that have the same words around them.
    """
    if length > MOST_ITEMS:
        return True
    if not re.search(r"[^\W\d_]", label):
        return length > MOST_UNNAMED
    if is_counting(label) or is_bookkeeping(label):
        return False
    return length >= MANY or (len(lengths - {0}) > 1 and max(lengths) >= FEW and length > 1)


def _is_under_one_name(slot: Slot) -> bool:
    """Whether a number of a row has no name of its own: none, or that of the row, with its place in it."""
    label = words_of(re.sub(r"⟨\w+⟩", " ", slot.template))
    own = words_of(re.sub(r" \(\d+\)$", "", slot.words))
    return not own or own == label


def _is_weight(words: str) -> bool:
    return not _WEIGHTS.isdisjoint(words_of(words)[-1:])
