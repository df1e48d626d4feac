"""Tracebacks of a run with the lines of the project as it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_PLACE = re.compile(r'^(?P<indent>\s*)File "(?P<path>[^"]+)", line (?P<line>\d+)(?P<rest>.*)$')

#: How names of the runtime begin, which stand in the copy's instrumented lines only.
_RUNTIME = "__dv_"

#: Python's marks below a line of source.
_MARKS = frozenset("~^ ")


def own_lines(lines: Iterable[str], copy: Path, source: Path) -> Iterator[str]:
    """Yield `lines` with paths in `copy` relative to it, and with source lines as they are in `source`.

    In `copy`, the run's copy of the project, some lines are instrumented; `source` is the project as it was.
    """
    line_below: str | None = None
    marks_below = False
    for line in lines:
        if (match := _PLACE.match(line)) and Path(match["path"]).is_relative_to(copy):
            path = Path(match["path"]).relative_to(copy)
            line_below, marks_below = _line(source / path, int(match["line"])), False
            yield f'{match["indent"]}File "{path.as_posix()}", line {match["line"]}{match["rest"]}'
        elif line_below is not None and _RUNTIME in line:
            indent = line[: len(line) - len(line.lstrip())]
            yield indent + line_below
            # Marks are of columns of the instrumented line.
            line_below, marks_below = None, True
        elif not (marks_below and line and set(line) <= _MARKS):
            line_below, marks_below = None, False
            yield line


def _line(path: Path, number: int) -> str | None:
    """Return one line of a file without its indentation; None where there is none."""
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else None
