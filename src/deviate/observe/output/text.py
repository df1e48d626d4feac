"""What a log shows when all of it has been displayed, and the numbers and durations in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from deviate.lexicon.words import word_lists

# A terminal, as far as it decides which text of a log is left to be seen.

#: Rows that the cursor can go back to: more than any progress display has.
ROWS = 100
#: The cursor is never moved further to the right than this by an escape sequence.
COLUMNS = 2000

_TOKEN = re.compile(
    rb"(?P<text>[^\r\x08\x1b]+)|(?P<home>\r+)|(?P<back>\x08+)|"
    rb"\x1b\[(?P<numbers>[0-9;]*)[0-?]*[ -/]*(?P<command>[@-~])|(?:\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?)|\x1b.?",
    re.DOTALL,
)
_SILENT = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


class _Row:
    """The characters of a row, and the offset in the log where its text begins."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.characters: list[str] = []

    def shown(self) -> tuple[int, bytes]:
        return self.start, "".join(self.characters).rstrip().encode()


class Screen:
    """The last rows of a terminal."""

    def __init__(self) -> None:
        self._rows = [_Row(0)]
        self._row = 0
        self._column = 0

    def write(self, start: int, line: bytes) -> None:
        """Write one line of a log, without its end; `start` is its offset."""
        for token in _TOKEN.finditer(line):
            if token["text"] is not None:
                self._write_text(start + token.start(), token["text"])
            elif token["home"] is not None:
                self._column = 0
            elif token["back"] is not None:
                self._column = max(0, self._column - len(token["back"]))
            elif token["command"] is not None:
                self._obey(token["command"].decode(), token["numbers"].decode(), start + token.end())

    def feed_line(self, start: int) -> None:
        """Go to the start of the next row; `start` is the offset of what comes."""
        self._column = 0
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append(_Row(start))

    def scrolled(self) -> Iterator[tuple[int, bytes]]:
        """Hand out the rows that nothing can reach any more."""
        while len(self._rows) > ROWS and self._row > 0:
            yield self._rows.pop(0).shown()
            self._row -= 1

    def rows(self) -> Iterator[tuple[int, bytes]]:
        """Hand out the rows that are left, from above; a last one without text is none."""
        rows = [row.shown() for row in self._rows]
        return iter(rows if len(rows) == 1 or rows[-1][1] else rows[:-1])

    def _write_text(self, offset: int, data: bytes) -> None:
        text = _SILENT.sub("", data.decode("utf-8", "replace"))
        row = self._rows[self._row]
        if self._column == 0:
            row.start = offset
        missing = self._column - len(row.characters)
        if missing > 0:
            row.characters.extend(" " * missing)
        row.characters[self._column : self._column + len(text)] = text
        self._column += len(text)

    def _obey(self, command: str, numbers: str, offset: int) -> None:
        """Carry out a control sequence; what only changes the look is passed over."""
        first = int(numbers.split(";")[0][:4] or 0)
        times = max(first, 1)
        row = self._rows[self._row]
        if command == "K":
            self._erase(row, first)
        elif command == "J":
            self._erase(row, first)
            for below in self._rows[self._row + 1 :]:
                below.characters.clear()
        elif command in "AF":
            self._row = max(0, self._row - times)
        elif command in "BE":
            for _ in range(min(times, ROWS)):
                column = self._column
                self.feed_line(offset)
                self._column = column
        elif command in "Hf" and self._rows[-1].characters:
            # A new page: what was shown stays in the log above it.
            self._row = len(self._rows) - 1
            self.feed_line(offset)
        self._column = self._moved(command, times)

    def _moved(self, command: str, times: int) -> int:
        """Return the column in which a control sequence leaves the cursor."""
        column = {"C": self._column + times, "D": self._column - times, "G": times - 1, "E": 0, "F": 0}.get(
            command, self._column
        )
        return min(max(column, 0), max(COLUMNS, self._column))

    def _erase(self, row: _Row, part: int) -> None:
        """Erase to the end of a row (0), up to the cursor (1), or all of it (2)."""
        if part == 0:
            del row.characters[self._column :]
        elif part == 1:
            blank = min(self._column + 1, len(row.characters))
            row.characters[:blank] = " " * blank
        else:
            row.characters.clear()


#: A block of lines is split at once; what is waiting stays small however long the log is.
BLOCK = 4 << 20

#: Colours and other attributes: they take no room.
_ATTRIBUTES = re.compile(rb"\x1b\[[0-9;:]*m")
#: What moves the cursor within a line, or may.
_MOVES = re.compile(rb"[\r\x08\x1b]")
#: What moves it to another line.
_LEAVES_LINE = re.compile(rb"\x1b\[[0-9;]*[ABEFHJf]|\x1bM")


_TRACEBACK = b"Traceback (most recent call last)"


def reported_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Yield the displayed lines but those of tracebacks, which show source code.

    >>> log = b"loss 1\nTraceback (most recent call last):\n  File \"a.py\", line 3\n    acc = 2\nError: 4\nloss 5"
    >>> [line for _, line in reported_lines(log)]
    [b'loss 1', b'loss 5']
    """
    lines = displayed_lines(data)
    return _without_tracebacks(lines) if _TRACEBACK in data else lines


def _without_tracebacks(lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    before: bytes | None = None
    for start, line in lines:
        at = line.find(_TRACEBACK)
        if at >= 0 and before is None:
            # A launcher puts a mark of the process before each line.
            before = line[:at]
        elif before is None:
            yield start, line
        elif not line.removeprefix(before).startswith((b" ", b"\t")):
            # The exception itself, but behind a group of them.
            if b"Group" in before:
                yield start, line
            before = None


def displayed_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Yield the lines of a log as a terminal shows them in the end, each with the offset where its text begins.

    A line that is rewritten (a progress bar) comes once, in its last state, with the offset of that state. The text is
    without escape sequences; bytes that are no UTF-8 stay as they are, or become U+FFFD in lines that are rewritten.

    >>> list(displayed_lines(b"1/2\r2/2 done\n\x1b[1mloss\x1b[0m 0.5\r\nend"))
    [(4, b'2/2 done'), (13, b'loss 0.5'), (31, b'end')]
    """
    if _LEAVES_LINE.search(data):
        yield from _on_screen(data)
        return
    for offset, block in _blocks(data):
        start = offset
        rewritten = _MOVES.search(block) is not None
        for line in block.split(b"\n"):
            if rewritten and _MOVES.search(line):
                yield _settled(start, line)
            else:
                yield start, line
            start += len(line) + 1


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Split a log at line ends; the newline that ends a block is in none."""
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + BLOCK)
        end = data.find(b"\n", start + BLOCK) if end < 0 else end
        end = len(data) if end < 0 else end
        yield start, data[start:end]
        start = end + 1


def _settled(start: int, line: bytes) -> tuple[int, bytes]:
    """Return the last state of a line in which the cursor moves."""
    plain = _ATTRIBUTES.sub(b"", line).rstrip(b"\r")
    if not _MOVES.search(plain):
        return start, plain
    if b"\x08" not in line and b"\x1b" not in line:
        return _overwritten(start, line)
    screen = Screen()
    screen.write(start, line)
    return next(screen.rows())


def _overwritten(start: int, line: bytes) -> tuple[int, bytes]:
    """Return what is left of a line that is only ever written again from its first column."""
    states = line.split(b"\r")
    last = max(position for position, state in enumerate(states) if state)
    shown = states[last].decode("utf-8", "replace")
    for state in reversed(states[:last]):
        # No character takes less than a byte.
        if len(state) > len(shown):
            shown += state.decode("utf-8", "replace")[len(shown) :]
    return start + sum(map(len, states[:last])) + last, shown.rstrip().encode()


def _on_screen(data: bytes) -> Iterator[tuple[int, bytes]]:
    screen = Screen()
    for offset, block in _blocks(data):
        start = offset
        for line in block.split(b"\n"):
            screen.write(start, line)
            yield from screen.scrolled()
            start += len(line) + 1
            if start <= len(data):
                screen.feed_line(start)
    yield from screen.rows()


# Numbers as they are printed: what is one, its value, and to which digit it was rounded.

#: Written directly behind a number.
UNITS = word_lists("printed")["units"]

#: Integers below 10^15 and powers of ten up to 10^22 are exact as doubles, so that their quotient is the double next to
#: the printed decimal.
EXACT_DIGITS = 15

#: Groups this small are read one by one, which is faster than as columns.
FEW = 12

#: Digits after the point of what has none that count: ``nan``, ``inf``.
NO_DECIMALS = 0

_SIGN = r"(?:(?<![\w.+\-/)\]%'\"])[+-])?"
_NOT_FINITE = r"(?:[nN]a[nN]|NAN|[iI]nf(?:inity)?|INF)(?![\w%]|[-/.@]\w)"
_THOUSANDS = r"\d{1,3}(?:,\d{3})++(?![\d]|,\d)(?:\.\d*+)?+|\d{1,3}(?:_\d{3})++(?!\w)"
_DECIMAL = r"(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+"
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
#: Neither an identifier nor anything else goes on behind a number, but a unit may.
_END = rf"(?![A-Za-z_\d]|\.\d)|(?=(?:{_UNIT})(?![A-Za-z_\d]))"


def number_pattern(thousands: bool) -> str:
    """Return the regular expression of a number; `thousands` says whether ``1,234`` is one."""
    body = rf"(?:{_THOUSANDS}|{_DECIMAL})" if thousands else rf"(?:\d{{1,3}}(?:_\d{{3}})++(?!\w)|{_DECIMAL})"
    return rf"{_SIGN}(?:{_NOT_FINITE}|(?>{body})(?:{_END}))"


@cache
def _number() -> re.Pattern[str]:
    return re.compile(number_pattern(thousands=True), re.ASCII)


def read_number(text: str) -> tuple[float, int] | None:
    """Return the value of a printed number, and its digits after the point; None of anything else.

    A percent sign behind it is passed over. The number of digits is negative where a power of ten is printed with fewer
    digits than it has: ``1.2e5`` is known to 10^4.

    >>> read_number("97.50%"), read_number("1,234"), read_number("1.2e5"), read_number("v2")
    ((97.5, 2), (1234.0, 0), (120000.0, -4), None)
    """
    word = text.strip().removesuffix("%").rstrip()
    match = _number().fullmatch(word)
    return None if match is None else (_value(word), decimals_of(word))


def decimals_of(word: str) -> int:
    """Return the digits after the point of a printed number, the exponent subtracted."""
    mantissa, _, exponent = word.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    if not exponent or not exponent.lstrip("+-").isdigit():
        return decimals if mantissa[-1:].isdigit() or mantissa.endswith(".") else NO_DECIMALS
    return max(-400, min(400, decimals - int(exponent[:6])))


def _value(word: str) -> float:
    return float(word.replace(",", "").replace("_", ""))


def read_column(lines: Sequence[bytes], start: int, end: int) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """Read the number between two positions of lines that are alike but for their digits.

    Returns
    -------
    values : float64 array, shape (n,)
        The doubles nearest to the printed decimals.
    decimals : int16 array, shape (n,)
        Their digits after the point.
    """
    word = lines[0][start:end].decode("latin-1")
    digits = [position for position, character in enumerate(word) if character.isdigit()]
    is_plain = "e" not in word.lower() and 0 < len(digits) <= EXACT_DIGITS
    if len(lines) <= FEW or not is_plain:
        words = [line[start:end].decode("latin-1") for line in lines]
        values = np.array([_value(one) for one in words])
        if is_plain:
            return values, np.full(len(lines), decimals_of(word), dtype=np.int16)
        return values, np.array([decimals_of(one) for one in words], dtype=np.int16)
    cells = np.frombuffer(b"".join(line[start:end] for line in lines), dtype=np.uint8).reshape(len(lines), -1)
    weights = 10.0 ** np.arange(len(digits) - 1, -1, -1)
    decimals = decimals_of(word)
    values = (cells[:, digits] - np.uint8(ord("0"))).astype(np.float64) @ weights / 10.0**decimals
    return (-values if word.startswith("-") else values), np.full(len(lines), decimals, dtype=np.int16)


def scaled(
    values: NDArray[np.float64], decimals: NDArray[np.int16], scale: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """Move the point of numbers to the left by `scale` digits, or take their reciprocals, known to as many digits."""
    if scale == 0:
        return values, decimals
    if scale is not None:
        return values / 10.0**scale, (decimals + scale).astype(np.int16)
    with np.errstate(divide="ignore"):
        digits = np.where(values > 0, np.floor(2 * np.log10(np.abs(values))), 0)
        return 1.0 / values, (decimals + digits).astype(np.int16)


# Durations as clocks show them: ``0:00:05.94``, ``1 day, 2:03:04``, ``took 01:23``. They are read as seconds.

_LISTS = word_lists("durations")

#: As Python and pandas print a difference of times with its days.
WITH_DAYS = r"(?<![\w.\-])\d++ days?,? \+?\d{1,2}:\d{2}:\d{2}(?:\.\d++)?+(?![\w:])"

_CLOCK = re.compile(r"(?P<hours>\d+:)?\d{2}:\d{2}(?:[.,]\d+)?|\d:\d{2}(?:[.,]\d+)?", re.ASCII)
_TIMEDELTA = re.compile(r"\d:\d{2}:\d{2}(?:\.\d+)?", re.ASCII)
_WORDS_BEFORE = re.compile(r"(?P<words>[A-Za-z][A-Za-z _\-]*?)['\"]?\s*(?:[:=]|\bis\b|\bof\b)?\s*[(\[]?\s*$")
_WORDS_AFTER = re.compile(r"\s*[)\]]?\s*(?P<word>[a-z]+)")

#: Characters before a clock in which its name is looked for.
_REACH = 40


def is_duration(clock: str, before: str, after: str) -> bool:
    """Whether what a clock shows is how long something took, and neither a time of day nor a time that is left.

    It is one by the words around it, or as Python prints a difference of times: one digit for the hours. Bars, which
    show elapsed times in brackets with what is left, are none.

    >>> is_duration("0:00:05", "Time: ", ""), is_duration("01:23", "took ", ""), is_duration("12:30:00", "at ", "")
    (True, True, False)
    >>> is_duration("0:00:05", "ETA: ", ""), is_duration("00:05", "7/9 [", "<00:03"), is_duration("9:30:00", "", "AM")
    (False, False, False)
    """
    match = _WORDS_BEFORE.search(before[-_REACH:])
    words = re.findall(r"[a-z]+", match["words"].lower()) if match else []
    follows = _WORDS_AFTER.match(after)
    near = {*words[-3:], *([follows["word"]] if follows else [])}
    if near & _LISTS["no durations"] or not _CLOCK.fullmatch(clock) or after[:1] == "<":
        return False
    spent = near & _LISTS["durations"] or (words[-1:] == ["time"] and len(words) > 1) or words[-1:] == ["in"]
    return bool(spent) or (bool(words) and _TIMEDELTA.fullmatch(clock) is not None)


def seconds_of(text: str) -> tuple[float, int]:
    """Return the seconds of a printed duration, and its digits after the point.

    >>> seconds_of("0:00:05.94"), seconds_of("01:23"), seconds_of("1 day, 2:03:04")
    ((5.94, 2), (83.0, 0), (93784.0, 0))
    """
    days, _, clock = text.rpartition(" ")
    *parts, last = clock.lstrip("+").replace(",", ".").split(":")
    whole, _, decimals = last.partition(".")
    minutes = int(parts[-1]) + 60 * (int(parts[-2]) if len(parts) > 1 else 0)
    minutes += 24 * 60 * (int(days.split()[0]) if days else 0)
    return float(f"{60 * minutes + int(whole)}.{decimals}"), len(decimals)
