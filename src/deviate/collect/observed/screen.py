"""A terminal, as far as it decides which text of a log is left to be seen."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
