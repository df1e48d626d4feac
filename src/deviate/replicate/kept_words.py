"""The words of a command with its secrets, for workers elsewhere: below the user's home, and not in a workspace.

A workspace is copied, exported and looked into by others; what is kept here is for its owner alone, as ``~/.netrc`` is,
and goes when no run needs it any more.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from deviate.errors import WorkspaceUnusable
from deviate.replicate.workspace.files import read_json, write_json


def keep_words(submission: str, command: Sequence[str]) -> str:
    """Store a command for the workers of a submission; return the file.

    Raises
    ------
    WorkspaceUnusable
        If it cannot be written.
    """
    path = _folder() / f"{submission}.json"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json(path, {"command": list(command)})
    except OSError as problem:
        raise WorkspaceUnusable(
            f"the command holds a secret, and {path}, where its workers find it, cannot be written: {problem.strerror}",
            hint="set it as a variable that the jobs have, and leave it out of the command",
        ) from problem
    return str(path)


def read_words(file: str) -> list[str]:
    """Return the command that was stored in a file.

    Raises
    ------
    WorkspaceUnusable
        If it is not there, such as on a machine without the user's home.
    """
    try:
        words: dict[str, list[str]] = read_json(Path(file), dict[str, list[str]])
    except WorkspaceUnusable as problem:
        raise WorkspaceUnusable(
            f"the command holds a secret, and this machine does not see {file}, where it is",
            hint="mount that folder here, or set the secret as a variable that the jobs have",
        ) from problem
    return words["command"]


def drop_words(submission: str) -> None:
    """Remove what was stored for a submission."""
    (_folder() / f"{submission}.json").unlink(missing_ok=True)


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    home = Path(state) if os.path.isabs(state) else Path(os.path.expanduser("~"), ".local", "state")
    return home / "deviate" / "commands"
