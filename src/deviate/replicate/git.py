"""What git knows of a project: the commit that was trained, and whether it was changed since."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

#: Seconds git may take; on a huge tree the state stays unknown rather than the training waiting.
PATIENCE = 20.0


def describe_commit(project: Path) -> str | None:
    """Return the project's commit with the number of tracked files changed since; None where git does not know it.

    Returns
    -------
    str or None
        ``1f0c2d9…`` or ``1f0c2d9… + 2 changed files``.
    """
    commit = _git(project, "rev-parse", "HEAD")
    if commit is None:
        return None
    status = _git(project, "status", "--porcelain", "--untracked-files=no", "--", ".")
    changed = len(status.splitlines()) if status is not None else 0
    return f"{commit} + {changed} changed file{'' if changed == 1 else 's'}" if changed else commit


def _git(project: Path, *words: str) -> str | None:
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(project), *words], capture_output=True, env=quiet, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
