"""Tracebacks of a run with the files of the project as the user names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_PLACE = re.compile(r'^(?P<before>\s*File ")(?P<path>[^"]+)(?P<after>", line \d+.*)$')


def named_in_project(lines: Iterable[str], copy: Path) -> Iterator[str]:
    """Yield `lines` with the paths of frames in `copy`, the run's copy of the project, relative to it."""
    for line in lines:
        match = _PLACE.match(line)
        if match and Path(match["path"]).is_relative_to(copy):
            line = f"{match['before']}{Path(match['path']).relative_to(copy).as_posix()}{match['after']}"
        yield line
