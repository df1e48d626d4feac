"""Read text files into rows of words: csv in its dialects, JSON in the shapes trainings write it."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from deviate.errors import NotImportable
from deviate.importing.patience import PATIENCE, time_limit

#: A row: word by column; a cell that is empty is not in it.
Row = dict[str, str]

#: Larger texts are refused: they are read as a whole, several times over.
MOST_BYTES = 256 << 20

#: More columns are refused.
MOST_COLUMNS = 5_000

#: More cells are refused: in memory each takes some hundred bytes.
MOST_CELLS = 2_500_000

#: Cells that say that there is no value. ``nan`` is not among them: it is the value of a training that diverged.
ABSENT = frozenset({"", "none", "null", "na", "n/a", "-"})


def csv_rows(path: Path) -> list[Row]:
    """Return the rows of a table with a head, parted by commas, semicolons or tabs.

    Raises
    ------
    NotImportable
        If there is no row, or two columns have one name.
    """
    text = _text(path)
    check_cells(path, text, ",;\t\n")
    lines = text.splitlines()
    # Some tools write a line of facts above the head: `#{"t_start": ...}` of Stable-Baselines' monitor.
    start = next((index for index, line in enumerate(lines) if line.strip() and not line.startswith("#{")), 0)
    head = lines[start] if lines else ""
    delimiter = max(",;\t", key=head.count)
    try:
        read = list(csv.reader(lines[start:], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:
        raise NotImportable(f"{path} is no table: {error}", hint="expected text, a line for each row") from error
    table = [cells for cells in read if any(cell.strip() for cell in cells)]
    if len(table) < 2:
        raise NotImportable(f"{path} has no row below its head", hint="expected a table whose first line names columns")
    names = [name.strip().lstrip("\ufeff") for name in table[0]]
    if len(names) > MOST_COLUMNS:
        raise NotImportable(
            f"{path} has {len(names):,} columns; at most {MOST_COLUMNS:,} are read",
            hint=f"keep those that matter: cut -d, -f1-100 {path.name} > some.csv",
        )
    repeated = sorted(name for name, times in Counter(names).items() if name and times > 1)
    if repeated:
        raise NotImportable(f"{path} has two columns named {repeated[0]!r}", hint="rename one of them")
    if all(number(name) is not None for name in names):
        raise NotImportable(f"{path} has no names of columns in its first line", hint="add a line: seed,accuracy")
    return [_present(zip(names, cells, strict=False)) for cells in table[1:]]


def json_rows(path: Path) -> list[Row]:
    """Return the rows of a JSON file.

    It may hold a list of objects, an object a line, an object of lists (a Keras history), or an object with such a list
    in it (``log_history`` of a Hugging Face trainer).

    Raises
    ------
    NotImportable
        If it is none of these.
    """
    try:
        rows = [_present((name, _word(value)) for name, value in flat(item).items()) for item in _items(path)]
    except (RecursionError, MemoryError) as error:
        raise NotImportable(f"{path} is nested too deeply", hint="expected a list of objects") from error
    columns = len({name for row in rows for name in row})
    if columns > MOST_COLUMNS:
        raise NotImportable(
            f"{path} has {columns:,} names of values; at most {MOST_COLUMNS:,} are read", hint="keep those that matter"
        )
    if not any(rows):
        raise NotImportable(f"{path} holds no row of values", hint="expected a list of objects, or an object a line")
    return rows


def number(word: str) -> float | None:
    """Return the number a cell holds; a percentage without its sign; None for anything else.

    Examples
    --------
    >>> number("97.5%"), number("nan"), number("1_0"), number("seed")
    (97.5, nan, None, None)
    """
    if "_" in word:
        return None
    try:
        return float(word.strip().removesuffix("%"))
    except ValueError:
        return None


def flat(value: object, name: str = "") -> dict[str, Any]:
    """Return a nested object as one of depth one, its keys joined by slashes."""
    if isinstance(value, dict):
        parts = (flat(inside, f"{name}/{key}" if name else str(key)) for key, inside in value.items())
        return {key: leaf for part in parts for key, leaf in part.items()}
    return {name: value}


def read_bytes(path: Path) -> bytes:
    """Return what a file holds.

    Raises
    ------
    NotImportable
        If it cannot be read, or is too large.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise _too_large(path, f"has {size / (1 << 20):,.0f} MiB")
        with _opened(path) as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise _too_large(path, "does not end")
        return data
    except OSError as error:
        raise NotImportable(f"{path} cannot be read: {error.strerror}", hint="name a file that is there") from error


def _opened(path: Path) -> BinaryIO:
    with time_limit(PATIENCE):
        return path.open("rb")
    # A named pipe opens when a program opens its other end: at once for `<(zcat train.log.gz)`.
    raise NotImportable(f"{path} is a pipe into which nothing is written", hint="name a file that holds the results")


def _too_large(path: Path, what: str) -> NotImportable:
    return NotImportable(
        f"{path} {what}; at most {MOST_BYTES >> 20} MiB are read",
        hint="keep the lines that hold values: grep loss train.log > values.log",
    )


def check_text(path: Path, data: bytes) -> None:
    """Refuse what is no text.

    Raises
    ------
    NotImportable
        With the first byte that text does not have.
    """
    match = _NO_TEXT.search(data)
    if match:
        raise NotImportable(
            f"{path} is no text: byte {match[0].hex()} at {match.start()}", hint="expected text in UTF-8 or Latin-1"
        )


#: Control characters that neither text nor what programs do to a terminal (bell, backspace, escape) has in it.
_NO_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")


def _text(path: Path) -> str:
    data = read_bytes(path)
    check_text(path, data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _present(cells: Iterable[tuple[str, str]]) -> Row:
    return {name: word.strip() for name, word in cells if name and word.strip().lower() not in ABSENT}


def check_cells(path: Path, text: str, marks: str) -> None:
    """Refuse a text with more values than are read, as the marks between them show.

    Raises
    ------
    NotImportable
        With the number of the marks.
    """
    count = sum(map(text.count, marks))
    if count > MOST_CELLS:
        raise NotImportable(
            f"{path} has some {count:,} values; at most {MOST_CELLS:,} are read",
            hint=f"keep the columns and rows that matter: awk 'NR % 10 == 1' {path.name} > some{path.suffix}",
        )


def _items(path: Path) -> list[Any]:
    text = _text(path)
    check_cells(path, text, "[{,")
    try:
        whole = _parsed(text, path)
    except ValueError:
        whole = list(_lines(text, path))
    if isinstance(whole, list):
        return whole
    if not isinstance(whole, dict):
        return []
    lists = {key: value for key, value in whole.items() if isinstance(value, list) and value}
    rows = next((value for value in lists.values() if isinstance(value[0], dict)), None)
    if rows is not None:
        return rows
    if lists:
        longest = max(map(len, lists.values()))
        counted = {} if any(key in lists for key in ("epoch", "step", "iteration")) else {"epoch": list(range(longest))}
        return _transposed({**counted, **lists}, longest)
    return [whole]


def _parsed(text: str, path: Path) -> Any:
    """Return what a JSON text holds.

    Raises
    ------
    ValueError
        If it is no JSON.
    NotImportable
        If an object has two values under one name: Python would keep the last in silence.
    """
    return json.loads(text, object_pairs_hook=partial(_object, path))


def _object(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) < len(pairs):
        name, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise NotImportable(f"{path}: an object has two values of {name!r}", hint="keep one of them")
    return whole


def _transposed(columns: dict[str, list[Any]], longest: int) -> list[dict[str, Any]]:
    return [{key: values[index] for key, values in columns.items() if index < len(values)} for index in range(longest)]


def _lines(text: str, path: Path) -> Iterator[Any]:
    lines = [line for line in text.splitlines() if line.strip()]
    for line_number, line in enumerate(lines, 1):
        try:
            yield _parsed(line, path)
        except ValueError as error:
            if line_number == len(lines) and line_number > 1:
                # The torn end of a file that was being written.
                return
            raise NotImportable(
                f"{path}:{line_number} is no JSON: {error}", hint="expected a JSON file, or an object a line"
            ) from error


def _word(value: object) -> str:
    if value is None or isinstance(value, bool | list):
        return ""
    return repr(value) if isinstance(value, float) and math.isfinite(value) else str(value)
