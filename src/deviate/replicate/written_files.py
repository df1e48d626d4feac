"""Keep the files with numbers that a run wrote into its copy of the project: tables, logs, files of trackers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from deviate.replicate.workspace.folders import RunFolder
from deviate.trackers.recognition import goes_with_metrics, is_own_folder, tracker_of

#: Of text files that may hold a table or a log.
SUFFIXES = frozenset({".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".log", ".out"})

#: Bytes of a file, and of all files of a run; how many files.
MAX_BYTES = 16 << 20
MAX_TOTAL = 64 << 20
MAX_FILES = 200

#: Folders of libraries and tools, whose files are no reports.
PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages"})


class WrittenFile(NamedTuple):
    """A file that a run wrote, by its path in the copy of the project."""

    path: Path
    size: int


def keep_written(copy: Path, folder: RunFolder) -> list[str]:
    """Copy the files with numbers that were written since the run was prepared; say how many were too large.

    `copy` is the run's copy of the project. Files of the project that the run only read are older.
    """
    since = folder.runtime_file.stat().st_mtime_ns
    kept, total = [], 0
    written = sorted(written_since(copy, since), key=lambda each: (each.size, str(each.path)))
    for each in written[:MAX_FILES]:
        total += each.size
        if each.size <= MAX_BYTES and total <= MAX_TOTAL:
            kept.append(each.path)
    for path in kept:
        # Results are stored as UTF-8, which a name on disk need not be.
        target = folder.written / os.fsencode(path).decode("utf-8", "backslashreplace")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(copy / path, target)
    left = len(written) - len(kept)
    return (
        [f"Files that it wrote and that are too many or too large to be searched for metrics: {left}."] if left else []
    )


def written_since(copy: Path, since: int) -> Iterator[WrittenFile]:
    """Yield text files and files of trackers that were changed at or after `since`, in nanoseconds.

    Links are passed over.
    """
    for parent, folders, names in os.walk(copy):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in PASSED_OVER]
        own = is_own_folder(Path(parent), names)
        if own:
            folders.clear()
        for name in names:
            path = Path(parent, name)
            if name.startswith(".") or path.is_symlink() or not path.is_file():
                continue
            status = path.stat()
            if status.st_mtime_ns >= since and status.st_size and _holds_numbers(path, own):
                yield WrittenFile(path.relative_to(copy), status.st_size)


def _holds_numbers(path: Path, beside_tracker: bool) -> bool:
    if path.suffix.lower() in SUFFIXES:
        return not beside_tracker
    return goes_with_metrics(path) or tracker_of(path) is not None
