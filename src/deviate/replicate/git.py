"""What git knows of a project: the commit that was trained, what was changed since, and what is in no commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

#: Seconds git may take; on a huge tree the state stays unknown rather than the training waiting.
PATIENCE = 20.0


def describe_commit(project: Path) -> str | None:
    """Return the project's commit with what differs from it; None where git does not know it.

    Returns
    -------
    str or None
        ``1f0c2d9…`` or ``1f0c2d9… + 2 changed files + 1 untracked``. A folder of which git tracks nothing counts as
        one; what git ignores does not count.
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


def _git(project: Path, *words: str) -> str | None:
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(project), *words], capture_output=True, env=quiet, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
