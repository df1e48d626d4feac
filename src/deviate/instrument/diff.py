"""Show what was done to a file."""

from __future__ import annotations

import difflib


def unified_diff(path: str, before: str, after: str) -> str:
    """Return the difference between two texts of the file `path`, in unified form; empty where there is none."""
    lines = difflib.unified_diff(split(before), split(after), f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def split(text: str) -> list[str]:
    """Split at newlines only: a form feed stays within its line."""
    return [line + "\n" for line in text.split("\n")[:-1]] + ([tail] if (tail := text.split("\n")[-1]) else [])
