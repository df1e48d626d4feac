"""The files of this checkout, and none of what programs have left in it: workspaces, environments, reports."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]


def tracked_files(*patterns: str, root: Path = ROOT) -> list[Path]:
    """Return the files below `root` whose path from there fits a pattern, in which ``*`` spans folders.

    Git knows which are its own; where there is no git, all are taken that no ignored folder holds.
    """
    # Git refuses a checkout of somebody else's, such as one mounted into a container, unless it is allowed.
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z"]
    try:
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
        paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        names = [path.as_posix() for path in paths if not ignored.intersection(path.parts)]
    # A file that was deleted is listed until that is committed.
    return sorted(
        root / name for name in names if any(fnmatch(name, each) for each in patterns) and (root / name).is_file()
    )
