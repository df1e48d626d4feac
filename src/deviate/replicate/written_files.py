"""Keep the files with numbers that a run wrote into its copy of the project: tables, logs, files of trackers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from deviate.replicate.snapshot.link_watch import State, state
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


def keep_written(copy: Path, folder: RunFolder, before: State) -> list[str]:
    """Copy the files with numbers that are not as they were `before` the run; say how many were too large.

    `copy` is the run's copy of the project.
    """
    kept, total = [], 0
    written = sorted(_written(copy, before), key=lambda each: (each.size, str(each.path)))
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


def states(copy: Path) -> State:
    """Return what the files that may hold numbers are like before a command is started."""
    return state(str(path) for path, _ in _files(copy))


def _written(copy: Path, before: State) -> Iterator[WrittenFile]:
    for path, beside_tracker in _files(copy):
        size = path.stat().st_size
        if size and not is_as_before(path, before) and _holds_numbers(path, beside_tracker):
            yield WrittenFile(path.relative_to(copy), size)


def is_as_before(path: Path, before: State) -> bool:
    """Tell whether a file was not written; that it is newer than the run would not say so, since clocks may be set."""
    return state([str(path)]).items() <= before.items()


def _files(copy: Path) -> Iterator[tuple[Path, bool]]:
    """Yield files, and whether each lies beside a tracker's own; links are passed over."""
    for parent, folders, names in os.walk(copy):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in PASSED_OVER]
        own = is_own_folder(Path(parent), names)
        if own:
            folders.clear()
        for name in names:
            path = Path(parent, name)
            if not name.startswith(".") and not path.is_symlink() and os.path.isfile(path):
                yield path, own


def _holds_numbers(path: Path, beside_tracker: bool) -> bool:
    if path.suffix.lower() in SUFFIXES:
        return not beside_tracker
    return goes_with_metrics(path) or tracker_of(path) is not None
