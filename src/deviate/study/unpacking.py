"""Unpack an archive that somebody else may have made: nothing is written outside of one folder, through no link.

All members are checked before the first is written, and again while they are. Links are made last, and only where a
copy of a project has them: below the snapshot and the working folders of runs. One that leads within its copy leads
there; one that leads out of it leads to the same place of the project here, or is not made.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil

from deviate.errors import WorkspaceUnusable
from deviate.replicate.interrupts import at_any_end
from deviate.replicate.snapshot.manifest import read_snapshot
from deviate.replicate.snapshot.working_copy import GIVEN, overlay_path
from deviate.replicate.workspace.folders import FOLDER, ExperimentFolder, Workspace
from deviate.study.members import Member, Members, RefusedMember

#: Says what an archive is; all else lies below the folder, or those of several experiments each below a folder of its
#: name.
HEAD, BELOW, SEVERAL = "deviate-archive.json", "experiment", "experiments"

#: The file that every experiment has.
_DESCRIPTION = (ExperimentFolder(Path()).experiment_file.name,)

#: Bytes of the head, which names the cells of a grid.
MOST_HEAD = 1 << 22

#: Begins the names of folders that an archive is unpacked to, before the process's id.
_UNPACKING = ".unpacking-"


@dataclass
class Unpacked:
    """What was unpacked."""

    path: Path
    #: Links that were not made.
    left_out: list[str] = field(default_factory=list)


def divided(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder of an experiment in an archive that a member lies below, and what follows; empty: none."""
    parts = tuple(name.split("/"))
    depth = 2 if parts[0] == SEVERAL else 1
    return ("/".join(parts[:depth]), parts[depth:]) if parts[0] in (BELOW, SEVERAL) else ("", ())


def is_carried(parts: tuple[str, ...], *, work: bool = True) -> bool:
    """Tell whether an archive carries what lies so below the folder of an experiment.

    Not what clusters were handed, what workers of this machine left, or what a killed tool left half removed or
    written; nor working folders and their code unless there is to be `work`.
    """
    in_runs = parts[:1] == ("runs",)
    if parts[:1] == ("submissions",) or (in_runs and parts[2:3] == ("worker",)):
        return False
    if in_runs and parts[2:3] in (("work",), (GIVEN,)) and not work:
        return False
    if in_runs and parts[2:3] == (GIVEN,) and len(parts) > 3 and not parts[-1].endswith((".py", ".json")):
        # What Python makes of its code, where keys that are written in it cannot be told.
        return False
    return not any(part.startswith(".") for part in parts[: 3 if in_runs else 1])


def copy_depth(parts: tuple[str, ...]) -> int:
    """Return how many parts lead to the snapshot or a working folder that something lies below; 0: it does not."""
    if parts[:1] == ("snapshot",) and len(parts) > 1:
        return 1
    return 3 if parts[:1] == ("runs",) and parts[2:3] == ("work",) and len(parts) > 3 else 0


def read_head(path: Path) -> tuple[bytes, set[str]]:
    """Return what an archive says of itself, and the folders of experiments that are in it.

    All of it is looked at: names, sizes, kinds and checksum.

    Raises
    ------
    RefusedMember
        If it holds what no exported experiment does.
    OSError, EOFError, zlib.error, tarfile.TarError
        If it is damaged.
    """
    head, found = b"", set()
    with Members(path) as members:
        for number, member in enumerate(members):
            if (number == 0) != (member.name == HEAD):
                raise RefusedMember(f"{HEAD} must come first in it")
            if number == 0:
                head = members.read(MOST_HEAD)
            else:
                _require_place(member)
                below, parts = divided(member.name)
                if parts == _DESCRIPTION:
                    found.add(below)
    return head, found


def _require_place(member: Member) -> None:
    below, parts = divided(member.name)
    if not below and member.name != SEVERAL:
        raise RefusedMember(f"{member.name!r} is no part of an experiment")
    if member.kind == "link" and not copy_depth(parts):
        raise RefusedMember(f"{member.name!r} is a link, where an experiment has none")


@contextmanager
def unpacked(path: Path, workspace: Workspace) -> Iterator[Unpacked]:
    """Unpack an archive beside the experiments; it goes when the caller has taken what it wants."""
    beside = workspace.path / "experiments"
    for left in beside.glob(f"{_UNPACKING}*"):
        maker = left.name.removeprefix(_UNPACKING)
        if not (maker.isdigit() and psutil.pid_exists(int(maker))):
            shutil.rmtree(left, ignore_errors=True)
    place = Unpacked(beside / f"{_UNPACKING}{os.getpid()}")
    with at_any_end(partial(shutil.rmtree, place.path, ignore_errors=True)):
        place.path.mkdir()
        _unpack(path, place, workspace.project)
        yield place


def _unpack(path: Path, place: Unpacked, project: Path) -> None:
    links, folders = [], []
    with Members(path) as members:
        for member in members:
            if member.name == HEAD:
                continue
            _require_place(member)
            below, parts = divided(member.name)
            if not below or not is_carried(parts):
                continue
            target = place.path / member.name
            if member.kind == "link":
                links.append(member)
            elif member.kind == "folder":
                target.mkdir(parents=True, exist_ok=True)
                folders.append((target, member))
            else:
                _write(members, member, target)
    for member in links:
        _link(member, place, project)
    # A file that is made in a folder gives it another time.
    for target, member in reversed(folders):
        target.chmod(member.mode | 0o700)
        os.utime(target, (member.mtime, member.mtime))


def _write(members: Members, member: Member, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Never through a link, and over nothing.
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        members.copy(file)
    target.chmod(member.mode | 0o600)
    os.utime(target, (member.mtime, member.mtime))


def _link(member: Member, place: Unpacked, project: Path) -> None:
    below, parts = divided(member.name)
    depth = copy_depth(parts)
    path = place.path / member.name
    target = (
        member.target if _stays(parts[depth:-1], member.target) else _here(path, place.path / below, parts, project)
    )
    if target is None:
        place.left_out.append(member.name)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def _stays(folder: tuple[str, ...], target: str) -> bool:
    """Tell whether a link in a folder of a copy leads within the copy, whatever other links there are.

    It may go up before it goes down: what it passes on its way up are folders, and not links.
    """
    parts = target.split("/")
    down = [part for part in parts if part not in ("..", ".")]
    ups = parts.count("..")
    if not target or "" in parts or "\0" in target or len(os.fsencode(target)) > 4000:
        return False
    return ups <= len(folder) and [part for part in parts if part != "."] == [".."] * ups + down


def _here(path: Path, experiment: Path, parts: tuple[str, ...], project: Path) -> str | None:
    """Return the place of the project here that stands where a link of a copy does; None where there is none."""
    copy = experiment / "snapshot"
    if parts[0] == "runs":
        folder = ExperimentFolder(experiment)
        run = next((run for run in folder.runs() if run.path.name == parts[1]), None)
        with suppress(WorkspaceUnusable, ValueError, IndexError):
            copy = overlay_path(run, read_snapshot(folder)) if run else copy
    inside = path.relative_to(copy).parts if path.is_relative_to(copy) else ()
    place = project.joinpath(*inside)
    return str(place) if inside and inside[0] != FOLDER and os.path.lexists(place) else None
