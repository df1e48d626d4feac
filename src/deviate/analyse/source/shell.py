"""The simple commands of a shell script or a makefile, as far as they can be read without running it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

#: Words of the shell that a command may follow.
_KEYWORDS = {"if", "then", "elif", "else", "do", "while", "until", "!", "{", "("}

#: Seconds that ``make --just-print`` may take.
_MAKE_SECONDS = 20


def simple_commands(text: str, folder: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield the words of each command, with the folder that the ``cd`` before it leads to."""
    for part in _parts(text):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            continue
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        if words[:1] == ["cd"]:
            folder = folder / words[1] if len(words) == 2 and os.path.isdir(folder / words[1]) else folder
        elif words:
            yield words, folder


def _parts(text: str) -> list[str]:
    joined = re.sub(r"\\\r?\n", " ", text)
    return [
        part.strip()
        for line in joined.splitlines()
        for part in re.split(r"&&|\|\||;|\||(?<![>&])&(?!>)", line)
        if part.strip()
    ]


def made_commands(words: list[str], folder: Path) -> str:
    """Return the lines that ``make`` would run, as it prints them itself; empty where it prints none."""
    command = [*words, "--just-print", "--no-print-directory"]
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_MAKE_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
