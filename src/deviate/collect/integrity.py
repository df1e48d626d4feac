"""Whether the files of a run are what they were when it ended."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.replicate.workspace.files import file_sum
from deviate.replicate.workspace.folders import RunFolder
from deviate.replicate.workspace.run_files import Outcome


def damage(folder: RunFolder, outcome: Outcome) -> str:
    """Say how files of an ended run differ from what its outcome says of them; empty where they are whole.

    What a process appended that outlived its run is no damage: the file begins as it did.
    """
    return "; ".join(_damages(folder, outcome))


def _damages(folder: RunFolder, outcome: Outcome) -> Iterator[str]:
    for name, stored in outcome.files.items():
        path = folder.path / name
        if not path.is_file():
            yield f"{name} is missing"
            continue
        current = file_sum(path, stored.size)
        if current.size < stored.size:
            yield f"{name} was cut from {stored.size} to {current.size} bytes"
        elif current != stored:
            yield f"{name} was changed"
