"""The lines that a log shows when all of it has been displayed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deviate.collect.observed.screen import Screen

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

    Examples
    --------
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

    Examples
    --------
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
