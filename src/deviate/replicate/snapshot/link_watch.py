"""Watch what runs share with the project by links: a training that writes there changes the user's own files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from deviate.replicate.snapshot.manifest import Snapshot

#: Folders looked at below each linked folder. A file that comes or goes changes its folder's time; one that is written
#: in place is seen only where it is linked itself.
FOLDERS_LIMIT = 200

#: Size and time by path; None where nothing is.
State = dict[str, tuple[int, int] | None]


def watched_paths(snapshot: Snapshot) -> list[str]:
    """Return the linked files, and the linked folders with the first folders below them."""
    targets = [item.target for item in snapshot.linked]
    targets += [item.target for item in snapshot.items if item.kind == "symlink" and os.path.isabs(item.target)]
    targets += [outside.target for outside in snapshot.outside if outside.linked and outside.named]
    return sorted({path for target in targets for path in _with_folders(target, snapshot.project)})


def _with_folders(target: str, project: str) -> list[str]:
    if not os.path.isdir(target):
        return [target]
    folders: list[str] = []
    for folder, below, _ in os.walk(target):
        # Not into another workspace, nor back into the project, where the user may work meanwhile.
        below[:] = sorted(name for name in below if not name.startswith(".") and f"{folder}/{name}" != project)
        folders.append(folder)
        if len(folders) >= FOLDERS_LIMIT:
            break
    return folders


def state(paths: Iterable[str]) -> State:
    """Return size and time of each path as they are now."""
    return {path: _stat(Path(path)) for path in paths}


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (0 if os.path.isdir(path) else status.st_size, status.st_mtime_ns)


def written_to(before: State, after: State) -> list[str]:
    """Return a warning for each shared path that is not as it was."""
    return [
        f"{path} is shared with the project by a link and changed during this run"
        for path in sorted(before)
        if before[path] != after.get(path)
    ]


def pinned_warnings(snapshot: Snapshot) -> list[str]:
    """Return a warning for each file in which the project's own absolute path stands: it leads out of the copy."""
    return [
        f"{name} names {snapshot.project} by its absolute path: what is written there is shared by all runs"
        for name in snapshot.pinned
    ]
