"""Which runs two sides had each time they were compared: a file a pair of sides, below ``.deviate/looks``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime

import msgspec

from deviate.experiment import SCHEMA
from deviate.replicate.workspace.files import read_json, write_json
from deviate.replicate.workspace.folders import Workspace


class ComparedSide(msgspec.Struct, frozen=True, order=True):
    """A variant of an experiment."""

    experiment: str
    variant: str
    #: When the experiment was made: another one of that name is another side. Empty for imported results, which may be
    #: imported again with more runs.
    created: str = ""


class RecordedLook(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison of two sides."""

    #: Indices of the completed runs of each side.
    runs_a: list[int]
    runs_b: list[int]
    #: Local time in ISO 8601.
    at: str = ""


class RecordedLooks(msgspec.Struct, frozen=True, kw_only=True):
    """All comparisons of two sides, in the order in which they were made."""

    schema: int = SCHEMA
    a: ComparedSide
    b: ComparedSide
    #: Runs a side at the last look, where that was fixed before the first.
    most: int | None = None
    looks: list[RecordedLook] = []

    def swapped(self) -> RecordedLooks:
        """Return the same with the sides exchanged."""
        looks = [RecordedLook(runs_a=look.runs_b, runs_b=look.runs_a, at=look.at) for look in self.looks]
        return RecordedLooks(schema=self.schema, a=self.b, b=self.a, most=self.most, looks=looks)


def read_looks(workspace: Workspace, a: ComparedSide, b: ComparedSide) -> RecordedLooks:
    """Return how often two sides were compared before, and with which runs.

    Raises
    ------
    WorkspaceUnusable
        If the file was damaged.
    """
    first, second = sorted((a, b))
    path = workspace.looks_file(_digest(first, second))
    stored: RecordedLooks = read_json(path, RecordedLooks) if path.is_file() else RecordedLooks(a=first, b=second)
    return stored if stored.a == a else stored.swapped()


def add_look(workspace: Workspace, before: RecordedLooks, runs: tuple[Sequence[int], Sequence[int]]) -> None:
    """Record a comparison with these runs of the two sides.

    Raises
    ------
    OSError
        If the workspace cannot be written.
    """
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    look = RecordedLook(runs_a=list(runs[0]), runs_b=list(runs[1]), at=now)
    looks = msgspec.structs.replace(before, looks=[*before.looks, look])
    stored = looks if looks.a <= looks.b else looks.swapped()
    path = workspace.looks_file(_digest(stored.a, stored.b))
    path.parent.mkdir(exist_ok=True)
    write_json(path, stored, durable=True)


def _digest(first: ComparedSide, second: ComparedSide) -> str:
    return hashlib.sha256(msgspec.json.encode([first, second])).hexdigest()[:24]
