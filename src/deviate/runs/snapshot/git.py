"""What git knows of a project: the commit that was trained, what was changed since, and what is in no commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

#: Seconds git may take; on a huge tree the state stays unknown rather than the training waiting.
PATIENCE = 20.0

#: The same for listing files: without the list a tracked checkpoint would be left out.
LISTING_PATIENCE = 60.0


def describe_commit(project: Path) -> str | None:
    """Return the project's commit with what differs from it; None where git does not know it.

    ``1f0c2d9…`` or ``1f0c2d9… + 2 changed files + 1 untracked``. A folder without a tracked file counts as one;
    what git ignores does not count.
    """
    commit = _git(project, "rev-parse", "HEAD")
    if commit is None:
        return None
    status = _git(project, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    if status is None:
        return f"{commit} + changes not known"
    lines = status.splitlines()
    untracked = sum(line.startswith("??") for line in lines)
    changed = len(lines) - untracked
    parts = [f"{changed} changed file{'' if changed == 1 else 's'}"] if changed else []
    return " + ".join([commit, *parts, *([f"{untracked} untracked"] if untracked else [])])


def tracked_files(project: Path) -> frozenset[str]:
    """Return the files below `project` that git tracks; none where git does not know the project."""
    listed = _output(project, "ls-files", "-z", patience=LISTING_PATIENCE)
    return frozenset(os.fsdecode(listed or b"").split("\0")) - {""}


def lead_to_repository(project: Path, copy: Path) -> None:
    """Have git take `copy` for the working tree of the repository whose top is `project`; of no other.

    A program that notes its commit and ``git diff`` finds what it would find in the project, and one that checks a file
    out writes it into the copy.
    """
    place = project / ".git"
    try:
        if os.path.isfile(place):
            place = project / place.read_text("utf-8", "surrogateescape").removeprefix("gitdir:").strip()
        if os.path.isdir(place):
            (copy / ".git").write_text(f"gitdir: {place}\n", "utf-8", "surrogateescape")
    except OSError:
        # Git will say that there is none.
        return


def _git(project: Path, *words: str) -> str | None:
    output = _output(project, *words, patience=PATIENCE)
    return None if output is None else output.decode(errors="replace").strip()


def _output(project: Path, *words: str, patience: float) -> bytes | None:
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(project), *words], capture_output=True, env=quiet, timeout=patience, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
