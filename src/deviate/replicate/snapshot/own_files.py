"""Files that Deviate itself wrote into a project, such as reports: they are no source of a training."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from deviate.paths import real_path
from deviate.replicate.workspace.folders import FOLDER, Workspace


def note_written(path: Path) -> None:
    """Remember that Deviate wrote the file at `path`, in the workspace of the project it lies in.

    What lies in no project with a workspace is not remembered: it enters no snapshot.
    """
    resolved = Path(real_path(path))
    project = next((folder for folder in resolved.parents if os.path.isdir(folder / FOLDER)), None)
    if project is None or not os.path.isfile(resolved):
        return
    attributes = resolved.stat()
    with resolved.open("rb") as written:
        content = hashlib.file_digest(written, "sha256").hexdigest()
    # One write of one line: commands that end at the same time do not mix theirs.
    with Workspace(project).written_file.open("a", encoding="ascii") as file:
        file.write(f"{content} {stamp(attributes.st_size, attributes.st_mtime_ns)}\n")


def stamp(size: int, mtime_ns: int) -> str:
    """Return what stands for the content of a file that is not read."""
    return f"{size}@{mtime_ns}"


def read_written(project: Path) -> frozenset[str]:
    """Return the SHA-256 and the stamp of every file that Deviate wrote into `project`.

    A file that was edited since has others. What was damaged of this list matches no file.
    """
    path = Workspace(project).written_file
    return (
        frozenset(path.read_text(encoding="ascii", errors="replace").split()) if os.path.isfile(path) else frozenset()
    )
