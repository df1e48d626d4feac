"""Read tables of text, in their dialects, into rows of words."""

from __future__ import annotations

import csv
import json
import math
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

from deviate.core.errors import NotImportable, NotRuns, some_of
from deviate.lexicon.words import meaning_of, plain

#: A row: word by column; a cell that is empty is not in it.
Row = dict[str, str]

#: Larger texts are refused: they are read as a whole, several times over.
MOST_BYTES = 256 << 20

#: More columns are refused.
MOST_COLUMNS = 5_000

#: More cells are refused: in memory each takes some hundred bytes.
MOST_CELLS = 2_500_000

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+%?")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")

#: Rows, and values, of these names summarise others.
SUMMARIES = frozenset(
    {"mean", "average", "avg", "std", "sd", "stddev", "stdev", "std dev", "std. dev", "standard deviation", "sem",
     "median", "min", "minimum", "max", "maximum", "mean ± std", "mean±std", "±", "var", "variance", "ci", "overall",
     "mittelwert", "standardabweichung", "moyenne", "écart-type", "media", "среднее", "平均", "平均值", "标准差"}
)  # fmt: skip

#: Lines in which the head of a table is looked for.
_LOOKED_AT = 200

#: A cell of the rule below a head, or an empty one.
_RULE = re.compile(r":?[-=]*:?")

#: A number that Markdown shows bold or as code, and what is drawn beside it.
_MARKED = re.compile(r"(?P<mark>[*_`]{1,3})(?P<text>[-+.\d][^*_`\s]*)(?P=mark)\W*")

#: A duration, ``1:02:03`` or ``12:30.5``: its hours, minutes and seconds.
_DURATION = re.compile(r"(?:(\d{1,6}):)?(\d{1,6}):(\d\d(?:\.\d+)?)")

#: Cells that say that there is no value. ``nan`` is not among them: it is the value of a training that diverged.
ABSENT = frozenset({"", "none", "null", "na", "n/a", "-"})


def csv_rows(path: Path) -> list[Row]:
    """Return the rows below a head, parted by commas, semicolons, tabs, bars or blanks; refuse what has none."""
    text = text_of(path)
    check_cells(path, text, ",;\t\n")
    lines = text.splitlines()
    start, delimiter = _head(lines) or _first_line(lines)
    if delimiter in "| ":
        check_cells(path, text, delimiter)
    try:
        read = list(_cells(_with_bars(lines[start:]) if delimiter == "|" else lines[start:], delimiter))
    except csv.Error as error:
        raise NotImportable(f"{path} is no table: {error}", hint="expected text, a line for each row") from error
    table = [cells for cells in read if not all(_RULE.fullmatch(cell) for cell in cells)]
    # A program that goes on, or is started again, writes the head again.
    rows = [cells for cells in table[1:] if cells != table[0]]
    if not rows:
        raise NotImportable(f"{path} has no row below its head", hint="expected a table whose first line names columns")
    names = _joined(table[0], lines[:start], delimiter)
    if len(names) > MOST_COLUMNS:
        raise NotImportable(
            f"{path} has {len(names):,} columns; at most {MOST_COLUMNS:,} are read",
            hint=f"keep those that matter: cut -d, -f1-100 {path.name} > some.csv",
        )
    repeated = sorted(name for name, times in Counter(names).items() if name and times > 1)
    if repeated:
        raise NotImportable(f"{path} has two columns named {repeated[0]!r}", hint="rename one of them")
    first = [math.nan if (value := number(cells[0])) is None else value for cells in rows]
    if not names[0] and (first[0] not in (0, 1) or any(not one < two for one, two in pairwise(first))):
        # The names of rows, as pandas calls them; those that number the rows say nothing.
        names = ["Unnamed: 0", *names[1:]]
    if names == ["Unnamed: 0", "0"] and all(is_name(cells[0]) for cells in rows):
        names = ["metric", "value"]  # as pandas writes a series
    are_values = [number(name) is not None for name in names]
    if any(are_values) and are_values == [number(cell) is not None for cell in rows[0]]:
        line = delimiter.join(["epoch", *(f"value {place}" for place in range(2, len(names) + 1))])
        raise NotImportable(f"{path} has no names of columns in its first line", hint=f"add a line such as {line}")
    longer = next((cells for cells in rows if any(cells[len(names) :])), None)
    if longer is not None:
        # Nothing shows which column has no name.
        raise NotImportable(
            f"{path}: a row has {len(longer)} values, and the head names {len(names)} columns: {some_of(longer, 3)}",
            hint="name each column in the first line, or quote cells with commas; for a log type --set format=log",
        )
    facts = _facts(lines[:start])
    return _with_points([{**facts, **present(zip(names, cells, strict=False))} for cells in rows])


def _joined(names: list[str], above: list[str], delimiter: str) -> list[str]:
    """Return names below those of their groups, which span the blanks behind them: ``cifar.acc``, ``cifar.loss``."""
    groups = next(_cells(above[-1:], delimiter), [])
    if (all(names[1:]) and len(set(names)) == len(names)) or len(groups) != len(names) or any(map(number, groups)):
        return names
    spread: Iterator[str] = accumulate(groups, lambda left, cell: cell or left)
    joined = [f"{group}.{name}".strip(".") for group, name in zip(spread, names, strict=True)]
    return _joined(joined, above[:-1], delimiter)


def _with_points(rows: list[Row]) -> list[Row]:
    """Write the decimal commas of a column as points where some value of it has no thousands: ``0,91``."""
    for name in {name for row in rows for name in row}:
        words = [row[name] for row in rows if name in row]
        if have_commas(words) and not all(_THOUSANDS.fullmatch(word) for word in words if "," in word):
            for row in rows:
                if name in row:
                    row[name] = row[name].replace(",", ".")
    return rows


def have_commas(words: Sequence[str]) -> bool:
    """Tell whether words are numbers, some of them with a comma: ``0,91`` beside ``1``."""
    return any("," in word for word in words) and all(
        _DECIMAL_COMMA.fullmatch(word) or number(word) is not None for word in words
    )


def is_table(text: str) -> bool:
    """Tell whether lines of text are a head, and rows with as many fields as it has."""
    lines = [line for line in text.splitlines() if line.strip()]
    head = _head(lines)
    if head is None:
        return False
    try:
        below = _with_bars(lines[head[0] :]) if head[1] == "|" else lines[head[0] :]
        lengths = [len(cells) for cells in _cells(below[:50], head[1])]
    except csv.Error:
        return False
    if head[1] == "|" and 2 * sum("|" in line for line in lines) < len(lines):
        # A log may show a table of its data.
        names = next(_cells(below, "|"))
        return any(meaning_of(name) or plain(name) == "epoch" for name in names)
    return lengths[0] > 1 and lengths.count(lengths[0]) > 0.8 * len(lengths)


def _head(lines: list[str]) -> tuple[int, str] | None:
    """Return the index of the line that names the columns, and what parts them; None where no line is sure to.

    Above it may be facts and remarks: `#{"t_start": ...}` of Stable-Baselines' monitor, the arguments of the program.
    """
    filled = [index for index, line in enumerate(lines[:_LOOKED_AT]) if line.strip()]
    for index, below in pairwise(filled):
        delimiter = max(",;\t|", key=lines[index].count)
        delimiter = delimiter if delimiter in lines[index] else " "
        try:
            head, *rows = _cells([lines[index], *lines[below : below + 2]], delimiter)
        except (csv.Error, ValueError):
            continue
        row = next((cells for cells in rows if not all(_RULE.fullmatch(cell) for cell in cells)), [])
        words = [cell for cell in head if cell]
        numbers = [cell for cell in row if number(cell) is not None]
        # Of a log, `param {` and `is deprecated.` are no heads.
        in_line = (delimiter == " " and word.endswith((":", "{", ".")) for word in words)
        is_named = not any(in_line) and all(number(word) is None for word in words)
        if len(head) == len(row) > 1 and numbers and is_named:
            return index, delimiter
    return None


def _first_line(lines: list[str]) -> tuple[int, str]:
    start = next((index for index, line in enumerate(lines) if line.strip() and not line.startswith("#{")), 0)
    return start, max(",;\t", key=(lines[start] if lines else "").count)


def _with_bars(lines: list[str]) -> list[str]:
    """Return the lines of a table between bars; text around it, and tables with heads of their own, are none."""
    blocks = [list(block) for barred, block in groupby(lines, key=lambda line: "|" in line) if barred]
    head = blocks[0][0].strip()
    goes_on = (
        block[0].strip() == head or (not _is_headed(block) and block[0].strip().count("|") == head.count("|"))
        for block in blocks
    )
    return [line for block, is_of_it in zip(blocks, goes_on, strict=True) if is_of_it for line in block]


def _is_headed(block: list[str]) -> bool:
    """Tell whether a rule stands below the first line of a table."""
    return len(block) > 1 and all(_RULE.fullmatch(cell.strip()) for cell in block[1].strip(" |\t").split("|"))


def _cells(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of lines; a head may be marked as a remark, and bars may stand around each line."""
    lines = [lines[0].lstrip("\ufeff"), *lines[1:]] if lines else []
    if lines and lines[0].startswith("#"):
        lines[0] = lines[0].lstrip("# ")
    if delimiter in "| ":
        lines = [line.strip(" |\t") for line in lines]
    for cells in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
        if any(cell.strip() for cell in cells):
            yield [_MARKED.sub(r"\g<text>", cell.strip()) if delimiter == "|" else cell.strip() for cell in cells]


def _facts(lines: list[str]) -> Row:
    """Return the facts in a line above the head, named as settings are."""
    for line in lines:
        if line.startswith("#{"):
            with suppress(ValueError):
                return present((f"config/{name}", str(value)) for name, value in flat(json.loads(line[1:])).items())
    return {}


def number(word: str) -> float | None:
    """Return the number a cell holds, of a percentage without its sign; None for anything else.

    >>> number("97.5%"), number("nan"), number("1_0"), number("seed")
    (97.5, nan, None, None)
    """
    if "_" in word:
        return None
    try:
        return float(word.strip().removesuffix("%"))
    except ValueError:
        return None


def seconds(word: str) -> float | None:
    """Return the seconds of a number, or of a duration.

    >>> seconds("1.5"), seconds("0:01:30"), seconds("soon")
    (1.5, 90.0, None)
    """
    parts = _DURATION.fullmatch(word.strip())
    return 3600 * int(parts[1] or 0) + 60 * int(parts[2]) + float(parts[3]) if parts else number(word)


#: A date, or the time of a day, alone or with more.
_MOMENT = re.compile(r"\d{4}[-/.]\d\d?[-/.]\d\d?(?:\b|T\d)|\d\d?[-/.]\d\d?[-/.]\d{4}\b|.*\b\d\d?:\d\d:\d\d\b")


def alike(word: str) -> str | float:
    """Return what two ways to write one value have in common: ``True`` and ``true``, ``1`` and ``1.0``.

    The last digits of ``9.999999999999983e-05`` are the rounding of a computed value.
    """
    value = number(word)
    if value is None or math.isnan(value):
        return word.lower()
    return value if value.is_integer() else float(f"{value:.9g}")


def is_moment(word: str) -> bool:
    """Tell whether a cell holds a date, a time of day or a duration with colons.

    >>> [is_moment(word) for word in ("08:38:07", "2024-01-31T08:38", "Mon Jan 31 08:38:07 2024", "1:30", "a:1", "3.5")]
    [True, True, True, True, False, False]
    """
    return _MOMENT.match(word) is not None or (":" in word and seconds(word) is not None)


def is_name(word: str) -> bool:
    """Tell whether a cell may name something: it holds no number and no moment."""
    return number(word) is None and not is_moment(word)


def flat(value: object, name: str = "") -> dict[str, Any]:
    """Return a nested object as one of depth one, its keys joined by slashes."""
    if isinstance(value, dict):
        parts = (flat(inside, f"{name}/{key}" if name else str(key)) for key, inside in value.items())
        return {key: leaf for part in parts for key, leaf in part.items()}
    return {name: value}


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, without the zeros that a machine which stopped leaves at the end of what it wrote.

    Raises NotImportable if it cannot be read, or is too large.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise _too_large(path, f"has {size / (1 << 20):,.0f} MiB")
        with _opened(path) as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise _too_large(path, "does not end")
        _check_merged(path, data)
        return data.decode("utf-16", "replace").encode() if data[:2] in _WIDE else data.rstrip(b"\0")
    except OSError as error:
        raise NotImportable(f"{path} cannot be read: {error.strerror}", hint="name a file that is there") from error


#: How a text in UTF-16 begins, as PowerShell writes it.
_WIDE = (b"\xff\xfe", b"\xfe\xff")

#: The conflict markers of Git.
_MERGED, _BETWEEN = re.compile(rb"(?:<{7}|>{7}) \S"), b"=" * 7


def _check_merged(path: Path, data: bytes) -> None:
    """Refuse a file with two versions of its lines."""
    if not _MERGED.search(data):
        return
    lines = data.splitlines()
    marks = [place for place, line in enumerate(lines, 1) if _MERGED.match(line)]
    if marks:
        marks += [place for place, line in enumerate(lines, 1) if line == _BETWEEN]
        raise NotRuns(
            f"{path} has marks of a conflict of Git in the lines {some_of(list(map(str, sorted(marks))), 6)}: two "
            "versions of one file",
            hint="keep one version of the lines between them, and remove the marks",
        )


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
    """Refuse what is no text."""
    match = _NO_TEXT.search(data)
    if match:
        raise NotImportable(
            f"{path} is no text: byte {match[0].hex()} at {match.start()}", hint="expected text in UTF-8 or Latin-1"
        )


#: Control characters that neither text nor what programs do to a terminal (bell, backspace, escape) has in it.
_NO_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")


def text_of(path: Path) -> str:
    """Return the text of a file.

    Raises NotImportable if it is no text.
    """
    data = read_bytes(path)
    check_text(path, data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def present(cells: Iterable[tuple[str, str]]) -> Row:
    """Return the cells of a row that hold something."""
    return {name: word.strip() for name, word in cells if name and word.strip().lower() not in ABSENT}


def check_cells(path: Path, text: str, marks: str) -> None:
    """Refuse a text with more values than are read, as the marks between them show."""
    count = sum(map(text.count, marks))
    if count > MOST_CELLS:
        raise NotImportable(
            f"{path} has some {count:,} values; at most {MOST_CELLS:,} are read",
            hint=f"keep the columns and rows that matter: awk 'NR % 10 == 1' {path.name} > some{path.suffix}",
        )


# A time limit for what cannot be asked to stop: a regular expression that tries all ways to divide a line, a pipe.

#: Seconds that a pattern may take for one line, and a file to open.
PATIENCE = 2.0


class Limit:
    """Whether the time passed."""

    passed: bool = False


class _TimePassedError(Exception):
    """Ends what takes too long."""


@contextmanager
def time_limit(seconds: float) -> Iterator[Limit]:
    """End what is within after `seconds`, and say so; only the main thread can, in others nothing is ended."""
    limit = Limit()
    if threading.current_thread() is not threading.main_thread():
        yield limit
        return
    before = signal.signal(signal.SIGALRM, _end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield limit
    except _TimePassedError:
        limit.passed = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _end(number: int, frame: FrameType | None) -> None:
    raise _TimePassedError
