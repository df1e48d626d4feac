"""Which runs two sides had each time they were compared or checked: a file each, below ``.deviate/looks``."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from deviate.core.errors import WorkspaceUnusable
from deviate.core.experiment import AT, SCHEMA
from deviate.store.files import read_json, write_json
from deviate.store.folders import Workspace

#: What was asked of two sides: by ``deviate compare``, or by ``deviate check``. Each has looks of its own. ``grid``: of
#: all cells of a grid, which stands for both sides; a look then has the number of runs of each cell.
Asked = Literal["compare", "check", "grid"]


class ComparedSide(msgspec.Struct, frozen=True, order=True):
    """A variant of an experiment."""

    experiment: str
    variant: str
    #: When the experiment was made: another one of that name is another side. Empty for imported results, which may be
    #: imported again with more runs.
    created: str = ""


def grid_side(cells: Iterable[ComparedSide]) -> ComparedSide:
    """Return what stands for the cells of a grid on both sides, however they are named; other cells are another one."""
    made = "\n".join(_of_cell(cell) for cell in cells)
    return ComparedSide("grid", hashlib.sha256(made.encode()).hexdigest()[:24])


def _of_cell(cell: ComparedSide) -> str:
    """Return what stays of a cell where it is renamed; results that were imported are known by their name alone."""
    return f"{cell.experiment.partition(AT)[2] if cell.created else cell.experiment} {cell.variant} {cell.created}"


class RecordedLook(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison of two sides."""

    #: Indices of the completed runs of each side.
    runs_a: list[int]
    runs_b: list[int]
    #: Local time in ISO 8601.
    at: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What one comparison of two sides was the first to claim."""

    #: Names of metrics; of one that has two, the first in the alphabet.
    metrics: list[str]
    #: From 1: comparisons of one of the sides that claimed something new until then, this one included.
    number: int
    #: Tests of all pairs that it made together.
    tests: int


class RecordedLooks(msgspec.Struct, frozen=True, kw_only=True):
    """All comparisons, or all checks, of two sides, in the order in which they were made."""

    schema: int = SCHEMA
    a: ComparedSide
    b: ComparedSide
    #: Runs per side at the last look, where that was fixed before the first.
    most: int | None = None
    looks: list[RecordedLook] = []
    asked: Asked = "compare"
    #: Of side b, where those are other runs.
    most_b: int | None = None
    claims: list[Claim] = []

    @property
    def claimed(self) -> int:
        """Number of the last claim; 0 where nothing was claimed."""
        return max((claim.number for claim in self.claims), default=0)

    @property
    def last(self) -> tuple[int, int] | None:
        """Runs of each side at the last look; None where that was not fixed before the first."""
        return None if self.most is None else (self.most, self.most_b or self.most)

    def planned(self, last: tuple[int, int] | None) -> RecordedLooks:
        """Return the same with this plan, where none was made before the first look."""
        if self.last is not None or last is None:
            return self
        return msgspec.structs.replace(self, most=last[0], most_b=None if last[1] == last[0] else last[1])

    def swapped(self) -> RecordedLooks:
        """Return the same with the sides exchanged."""
        most, most_b = (self.most, None) if self.most_b is None else (self.most_b, self.most)
        looks = [RecordedLook(runs_a=look.runs_b, runs_b=look.runs_a, at=look.at) for look in self.looks]
        return msgspec.structs.replace(self, a=self.b, b=self.a, most=most, most_b=most_b, looks=looks)


def read_looks(workspace: Workspace, a: ComparedSide, b: ComparedSide, asked: Asked = "compare") -> RecordedLooks:
    """Return how often two sides were compared before, and with which runs.

    Raises WorkspaceUnusable if the file was damaged.
    """
    first, second = sorted((a, b))
    unread = RecordedLooks(a=first, b=second, asked=asked)
    path = _file(workspace, unread)
    stored: RecordedLooks = read_json(path, RecordedLooks) if path.is_file() else unread
    return stored if stored.a == a else stored.swapped()


def last_claim(workspace: Workspace, sides: Collection[ComparedSide]) -> int:
    """Return the highest number of a claim about any of the sides; 0 where nothing was claimed."""
    about = (looks for looks in _stored(workspace) if looks.a in sides or looks.b in sides)
    return max((looks.claimed for looks in about), default=0)


def comparisons(workspace: Workspace) -> list[RecordedLooks]:
    """Return all comparisons of two sides by ``deviate compare``; none that was damaged, as comparing again says so."""
    found = []
    for path in _files(workspace):
        with suppress(WorkspaceUnusable):
            found.append(read_json(path, RecordedLooks))
    return [each for each in found if each.asked == "compare" and each.looks]


def add_look(
    workspace: Workspace,
    before: RecordedLooks,
    runs: tuple[Sequence[int], Sequence[int]] | None,
    claim: Claim | None = None,
) -> None:
    """Record a comparison with these runs of the two sides, where those are new, and what it was the first to claim.

    Raises OSError if the workspace cannot be written.
    """
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    added = [RecordedLook(runs_a=list(runs[0]), runs_b=list(runs[1]), at=now)] if runs else []
    claims = [*before.claims, *([claim] if claim else [])]
    looks = msgspec.structs.replace(before, looks=[*before.looks, *added], claims=claims)
    stored = looks if looks.a <= looks.b else looks.swapped()
    path = _file(workspace, stored)
    path.parent.mkdir(exist_ok=True)
    write_json(path, stored, durable=True)


def rename_looks(workspace: Workspace, name: str, new: str, created: str) -> None:
    """Record the looks at an experiment under its new name, too; the looks are locked.

    Those under the old name stay: they are of an experiment made at that moment, and no other one has it.
    """
    for looks in _stored(workspace):
        a, b = (
            msgspec.structs.replace(side, experiment=new)
            if (side.experiment, side.created) == (name, created)
            else side
            for side in (looks.a, looks.b)
        )
        if (a, b) != (looks.a, looks.b):
            renamed = msgspec.structs.replace(looks, a=a, b=b)
            stored = renamed if a <= b else renamed.swapped()
            write_json(_file(workspace, stored), stored, durable=True)


def _stored(workspace: Workspace) -> list[RecordedLooks]:
    return [read_json(path, RecordedLooks) for path in _files(workspace)]


def _files(workspace: Workspace) -> list[Path]:
    return sorted(workspace.looks_file("").parent.glob("*.json"))


def _file(workspace: Workspace, looks: RecordedLooks) -> Path:
    key: list[object] = [looks.a, looks.b]
    if looks.asked != "compare":
        key.append(looks.asked)
    return workspace.looks_file(hashlib.sha256(msgspec.json.encode(key)).hexdigest()[:24])
