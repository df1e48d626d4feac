"""Texts beside the source of a project: its README, requirements and shell scripts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from deviate.paths import folders_below

#: Texts larger than this, and shell scripts beyond so many, are not read.
MAX_BYTES = 500_000
MAX_SCRIPTS = 60

_ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Z_a-z]\w*)=(\S+)", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{?([A-Z_a-z]\w*)\}?")


def shell_scripts(root: Path) -> list[Path]:
    """Return the shell scripts of a project, up to two folders deep."""
    return sorted(home / name for home, names in folders_below(root, 2) for name in names if name.endswith(".sh"))[
        :MAX_SCRIPTS
    ]


def read_texts(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yield files with their text; what is no file, too large or unreadable is left out."""
    for path in paths:
        try:
            if os.path.isfile(path) and path.stat().st_size <= MAX_BYTES:
                yield path, path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue


def exported_folders(root: Path) -> list[Path]:
    """Return what the shell scripts of a project put on the search path: ``export PYTHONPATH=$PWD/tools``."""
    found = [folder for script, text in read_texts(shell_scripts(root)) for folder in _exported(script.parent, text)]
    return list(dict.fromkeys(found))


def _exported(home: Path, text: str) -> Iterator[Path]:
    """Yield the folders of ``PYTHONPATH`` in a script that is started where it stands; unknown variables are empty."""
    known = {"PWD": str(home)}
    for name, value in _ASSIGNED.findall(text) if "PYTHONPATH" in text else ():
        filled = _VARIABLE.sub(lambda part: known.get(part[1], ""), value.strip("\"'"))
        if name == "PYTHONPATH":
            yield from (home / part for part in filled.split(":") if part)
        known[name] = filled
