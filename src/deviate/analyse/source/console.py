"""Programs that a project installs of its functions: ``train = "package.cli:main"`` in ``pyproject.toml``."""

from __future__ import annotations

import configparser
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from deviate.paths import settings_text

#: The project's own files are looked for in so many folders, from the one the user stands in upwards.
MAX_ABOVE = 3
_TARGET = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")
#: In ``setup.py``: a text that gives a program's name and its function.
_IN_SETUP = re.compile(r"""["']([\w.-]+)\s*=\s*([A-Za-z_][\w.]*:[A-Za-z_]\w*)["']""")


class ConsoleScript(NamedTuple):
    """A program, the file that holds its function, and the function."""

    name: str
    file: Path
    function: str


def console_scripts(folder: Path) -> list[ConsoleScript]:
    """Return the programs that the project around a folder installs of files that it holds."""
    found = []
    for home in [folder, *folder.parents][:MAX_ABOVE]:
        for name, target in _declared(home):
            match = _TARGET.match(target)
            file = _file_of(home, match[1]) if match is not None else None
            if match is not None and file is not None:
                found.append(ConsoleScript(name, file, match[2]))
        if found or os.path.exists(home / ".git"):
            break
    return found


def _declared(home: Path) -> Iterator[tuple[str, str]]:
    """Yield names and targets in the files of a folder that say how it is installed."""
    try:
        loaded = tomllib.loads(settings_text(home / "pyproject.toml"))
    except (OSError, ValueError, RecursionError):
        loaded = {}
    tools = loaded.get("tool", {})
    for table in (loaded.get("project", {}), tools.get("poetry", {}) if isinstance(tools, dict) else {}):
        scripts = table.get("scripts", {}) if isinstance(table, dict) else {}
        for name, target in scripts.items() if isinstance(scripts, dict) else ():
            yield name, str(target)
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(settings_text(home / "setup.cfg"))
    except (OSError, ValueError, configparser.Error):
        parser.clear()
    for line in parser.get("options.entry_points", "console_scripts", fallback="").splitlines():
        name, sign, target = line.partition("=")
        if sign:
            yield name.strip(), target.strip()
    try:
        yield from _IN_SETUP.findall(settings_text(home / "setup.py"))
    except (OSError, ValueError):
        return


def _file_of(home: Path, module: str) -> Path | None:
    parts = module.split(".")
    for base in (home, home / "src"):
        at = base.joinpath(*parts)
        for path in (at.with_name(at.name + ".py"), at / "__init__.py"):
            if os.path.isfile(path):
                return path.resolve()
    return None
