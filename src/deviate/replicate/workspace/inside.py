"""Nothing in a workspace leads out of it: no link where Deviate has files of its own, and no name in these files.

An experiment may have come from somebody else. Whoever opens one passes here, so that nobody who reads, writes or
removes below it has to look.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from deviate.errors import WorkspaceUnusable

#: Folders below folders, at most: Deviate makes some ten.
DEEPEST = 100


def require_no_link(folder: Path, free: Callable[[tuple[str, ...]], bool]) -> None:
    """Make sure that an experiment's folder is none, and has none in it, but below the folders that are `free`.

    Those, by their parts from `folder` on, are copies of projects, which have links of their own. It costs a look at
    each folder, and none at a file.

    Raises
    ------
    WorkspaceUnusable
        With the first link.
    """
    if os.path.islink(folder):
        raise _refused(folder)
    try:
        _look(folder, (), free)
    except OSError as problem:
        raise WorkspaceUnusable(
            f"{problem.filename or folder} cannot be read: {problem.strerror}",
            hint="give yourself the right to read it",
        ) from problem


def _look(folder: Path | str, parts: tuple[str, ...], free: Callable[[tuple[str, ...]], bool]) -> None:
    if len(parts) > DEEPEST:
        raise WorkspaceUnusable(f"{folder} lies too deep", hint="restore the experiment, or remove its folder")
    for entry in _entries(folder):
        if entry.is_symlink():
            raise _refused(Path(entry.path))
        below = (*parts, entry.name)
        # Nobody reads what is half written or half removed.
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and not free(below):
            _look(entry.path, below, free)


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        # There is none yet, or a run that is made anew does away with it.
        return []


def _refused(path: Path) -> WorkspaceUnusable:
    return WorkspaceUnusable(
        f"{path} is a link, where Deviate has a file or folder of its own", hint=f"remove the link: rm {path}"
    )


def require_names(file: Path, names: Iterable[str], parts: int = DEEPEST) -> None:
    """Make sure that names in a file of an experiment lead below its folder: of at most so many `parts`, none upward.

    Raises
    ------
    WorkspaceUnusable
        With the first that does not.
    """
    for name in names:
        listed = name.split("/")
        if len(listed) > parts or "\0" in name or any(part in ("", ".", "..") for part in listed):
            raise WorkspaceUnusable(
                f"{file} names {name!r}, which is no name of a file or folder of this experiment",
                hint="restore the file, or remove the experiment's folder",
            )
