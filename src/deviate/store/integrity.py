"""Whether the files of a run are what they were when it ended."""

from __future__ import annotations

from pathlib import Path

from deviate.store.files import FileSum, file_sum
from deviate.store.folders import PREDICTIONS, WEIGHTS, RunFolder
from deviate.store.run_files import Outcome


class DamagedError(ValueError):
    """A file of a run that does not hold what it should."""


def damage(folder: RunFolder, outcome: Outcome) -> str:
    """Say how records and events of an ended run differ from what its outcome says of them; empty where they are whole.

    What was appended since is no damage, see `growth`: the file begins as it did. Predictions, weights and text
    are checked where they are read: without them the metrics of the source are as good.
    """
    differences = (
        file_damage(folder, name, stored)
        for name, stored in outcome.files.items()
        if not (name.startswith((PREDICTIONS, WEIGHTS)) or _is_text(folder, name))
    )
    return "; ".join(difference for difference in differences if difference)


def sealed_size(folder: RunFolder, path: Path, outcome: Outcome | None) -> int | None:
    """Return how many bytes of a file of a run are of the run: 0 of one that appeared when it had ended.

    None: all, since that was not noted.
    """
    if outcome is None or not outcome.files:
        return None
    name = path.relative_to(folder.path).as_posix()
    stored = outcome.files.get(name)
    if stored is not None:
        return stored.size
    return None if _is_text(folder, name) else 0


def read_sealed(folder: RunFolder, path: Path, outcome: Outcome | None) -> bytes:
    """Return what is of the run in one of its files."""
    size = sealed_size(folder, path, outcome)
    with path.open("rb") as file:
        return file.read(-1 if size is None else size)


def growth(folder: RunFolder, outcome: Outcome | None) -> list[str]:
    """Return the files of an ended run to which something was written since, and those that appeared."""
    # It imports NumPy, and who reads a log needs none.
    from deviate.store.run_files import used_size

    sealed = {path: sealed_size(folder, path, outcome) for path in folder.result_files()}
    records = set(folder.record_files())
    sizes = {path: used_size(path) if path in records else path.stat().st_size for path in sealed}
    return [path.name for path, size in sealed.items() if size is not None and sizes[path] > size]


def text_damage(folder: RunFolder, outcome: Outcome | None) -> dict[Path, str]:
    """Say how text that a run reported differs from what its outcome says of it, by file; whole ones are not in it."""
    stored = {} if outcome is None else outcome.files
    differences = {
        folder.path / name: file_damage(folder, name, each) for name, each in stored.items() if _is_text(folder, name)
    }
    return {path: difference for path, difference in differences.items() if difference}


def _is_text(folder: RunFolder, name: str) -> bool:
    path = folder.path / name
    return path in (folder.stdout_file, folder.stderr_file) or path.is_relative_to(folder.written)


def file_damage(folder: RunFolder, name: str, stored: FileSum) -> str:
    """Say how a file differs from what was stored of it; empty where it is whole."""
    path = folder.path / name
    if not path.is_file():
        return f"{name} is missing"
    current = file_sum(path, stored.size)
    if current.size < stored.size:
        return f"{name} was cut from {stored.size} to {current.size} bytes"
    return "" if current == stored else f"{name} was changed"


def require_whole(folder: RunFolder, outcome: Outcome | None, name: str) -> None:
    """Raise where a file differs from what the outcome says of it; where that says nothing of any, all pass.

    Raises DamagedError with the difference.
    """
    if outcome is None or not outcome.files:
        return
    stored = outcome.files.get(name)
    grew = stored is None or (folder.path / name).stat().st_size > stored.size
    difference = file_damage(folder, name, stored) if stored is not None else ""
    if difference or grew:
        raise DamagedError(difference or f"{name} was written to after the run had ended")
