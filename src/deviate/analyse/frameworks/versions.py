"""The version of a library that a project says it runs with."""

from __future__ import annotations

import re
from pathlib import Path

from deviate.analyse.source.documents import read_texts
from deviate.paths import globbed

#: Files that say it, those that a package manager reads before those that people read.
_SAYING = (
    ("requirements*.txt", "requirements/*.txt", "environment*.y*ml", "pyproject.toml", "setup.py", "setup.cfg"),
    ("README*",),
)

Version = tuple[int, ...]


def stated_version(root: Path, library: str) -> Version | None:
    """Return the newest version of a library that a project allows by its files; None where they leave it open.

    The files of `root` count, then, where none of them names one version, those of the folder around it.
    """
    exact = re.compile(
        rf"(?<![\w./-]){re.escape(library)}(\[[\w, -]*\])?['\"]?\s*(={{1,3}}|<=)\s*['\"]?v?(\d+(\.\d+)+)"
    )
    for folder in (root, root.parent):
        for patterns in _SAYING:
            stated = [exact.finditer(text) for _, text in read_texts(globbed(folder, *patterns))]
            versions = [tuple(map(int, match[3].split("."))) for matches in stated for match in matches]
            if versions:
                return max(versions)
    return None
