"""Whole experiments as one file: a gzipped tar archive, which another workspace takes in."""

from __future__ import annotations

import gzip
import io
import os
import platform
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import psutil

from deviate.errors import UPDATE, BadInput, BadOption, NameTaken
from deviate.experiment import SCHEMA
from deviate.project.cells import AT
from deviate.replicate.interrupts import at_any_end
from deviate.replicate.snapshot.working_copy import GIVEN
from deviate.replicate.workspace.files import sync_file
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace
from deviate.replicate.workspace.lock import locked, locked_workspace
from deviate.study.housekeeping import require_idle

#: Of the archives.
SUFFIX = ".tar.gz"

#: The first member says that the file is one of these; all others lie below the folder, or those of several experiments
#: each below a folder of its name.
HEAD, BELOW, SEVERAL = "deviate-archive.json", "experiment", "experiments"

#: Bytes read at once.
_CHUNK = 1 << 20

#: What reading a damaged archive raises.
_DAMAGE = (OSError, EOFError, zlib.error, tarfile.TarError)

#: Begins the names of folders that an archive is unpacked to, before the process's id.
_UNPACKING = ".unpacking-"


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive holds."""

    schema: int = SCHEMA
    #: Of the experiment, or of the grid that the experiments are cells of.
    name: str
    #: The folders that runs were made in, with all that they saved, are in it.
    work: bool
    #: Names of the cells; none of a single experiment.
    cells: list[str] = []


def export_experiments(folders: Sequence[ExperimentFolder], path: Path, *, grid: str = "", work: bool = False) -> None:
    """Write an experiment to `path`: snapshot, records, logs, predictions and weights, and the runs' folders if asked.

    Of a `grid` it is all its cells. The file is written aside and renamed.

    Raises
    ------
    WorkspaceBusy, RunElsewhere
        If runs of it are being made or evaluated, here or elsewhere.
    OSError
        If the file cannot be written.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    cells = [folder.name for folder in folders] if grid else []
    with at_any_end(partial(aside.unlink, missing_ok=True)):
        with tarfile.open(aside, "w:gz", compresslevel=6) as archive:
            _add_head(archive, Head(name=grid or folders[0].name, work=work, cells=cells))
            for folder in folders:
                _add(archive, folder, f"{SEVERAL}/{folder.name}" if grid else BELOW, work=work)
        sync_file(aside)
        aside.replace(path)


def _add(archive: tarfile.TarFile, folder: ExperimentFolder, below: str, *, work: bool) -> None:
    with locked(folder, ["deviate", "export", folder.name]):
        require_idle(folder)
        archive.add(folder.path, below, filter=lambda member: _kept(member, len(below.split("/")), work=work))


def _add_head(archive: tarfile.TarFile, head: Head) -> None:
    data = msgspec.json.encode(head)
    member = tarfile.TarInfo(HEAD)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def _kept(member: tarfile.TarInfo, depth: int, *, work: bool) -> tarfile.TarInfo | None:
    """Leave out working folders and their code unless asked for, and what a killed tool left half done."""
    parts = member.name.split("/")[depth:]
    in_runs = parts[:1] == ["runs"]
    in_work = in_runs and parts[2:3] in (["work"], [GIVEN]) and not work
    aside = any(part.startswith(".") for part in parts[: 3 if in_runs else 1])
    return None if in_work or aside else member


def is_archive(path: Path) -> bool:
    """Tell whether a file is an experiment that was exported."""
    # A pipe or a device would be waited for.
    if not path.is_file():
        return False
    try:
        with tarfile.open(path, "r:gz") as archive:
            first = archive.next()
    except _DAMAGE:
        return False
    return first is not None and first.name == HEAD


def import_archive(path: Path, workspace: Workspace, name: str | None = None) -> list[ExperimentFolder]:
    """Take what was exported into a workspace, under its own name or another; cells of a grid keep their settings.

    It is unpacked aside and renamed, so that half of an experiment is never seen. Cells that are there already, because
    the same command was killed, are left as they are.

    Raises
    ------
    BadInput
        If the file is damaged, or holds what no experiment does.
    NameTaken
        If there is another experiment of one of the names.
    """
    if not hasattr(tarfile, "tar_filter"):
        raise BadInput(
            f"{path} is an archive, and Python {platform.python_version()} cannot unpack one safely",
            hint="install Deviate with Python 3.11.4 or newer",
        )
    command = ["deviate", "import", str(path)]
    _require_whole(path)
    head = _read_head(path)
    targets = _targets(head, workspace, name)
    if not head.cells:
        _require_free(targets[BELOW], workspace)
    workspace.prepare()
    with _unpacked(path, workspace) as aside, locked_workspace(workspace, command):
        missing = {
            below: target
            for below, target in targets.items()
            if not (head.cells and _is_there(target, ExperimentFolder(aside / below), workspace))
        }
        for target in missing.values():
            _require_free(target, workspace)
        for below, target in missing.items():
            with locked(target, command):
                _take(ExperimentFolder(aside / below), target)
    return list(targets.values())


def _targets(head: Head, workspace: Workspace, name: str | None) -> dict[str, ExperimentFolder]:
    """Return where each folder of an archive goes."""
    if not head.cells:
        return {BELOW: workspace.experiment(name or head.name)}
    names = {cell: (name or head.name) + AT + cell.partition(AT)[2] for cell in head.cells}
    return {f"{SEVERAL}/{cell}": workspace.experiment(target) for cell, target in names.items()}


def _is_there(target: ExperimentFolder, unpacked: ExperimentFolder, workspace: Workspace) -> bool:
    """Tell whether an experiment was taken in before; it may have more runs since."""
    if target.name not in workspace.names():
        return False
    return target.read_experiment().created == unpacked.read_experiment().created


def _take(unpacked: ExperimentFolder, target: ExperimentFolder) -> None:
    experiment = unpacked.read_experiment()
    unpacked.write_experiment(msgspec.structs.replace(experiment, name=target.name))
    # What is there without an `experiment.json` is what a killed tool left of one that it was making.
    shutil.rmtree(target.path, ignore_errors=True)
    unpacked.path.rename(target.path)


def _require_whole(path: Path) -> None:
    """Make sure that a file is what was written: its last bytes, which a tar reader leaves unread, hold a checksum."""
    try:
        with gzip.open(path) as file:
            while file.read(_CHUNK):
                pass
    except _DAMAGE as problem:
        raise _damaged(path, problem) from problem


def _read_head(path: Path) -> Head:
    try:
        with tarfile.open(path, "r:gz") as archive:
            data = archive.extractfile(HEAD)
            head = msgspec.json.decode(data.read() if data else b"", type=Head)
    except (*_DAMAGE, KeyError, msgspec.DecodeError) as problem:
        raise _damaged(path, problem) from problem
    if head.schema > SCHEMA:
        raise BadInput(f"{path} was made by a newer Deviate", hint=UPDATE)
    return head


def _require_free(target: ExperimentFolder, workspace: Workspace) -> None:
    if target.name in workspace.names():
        raise NameTaken(f"an experiment is named {target.name!r} already", hint="type --name for another name")


@contextmanager
def _unpacked(path: Path, workspace: Workspace) -> Iterator[Path]:
    """Unpack an archive beside the experiments."""
    beside = workspace.path / "experiments"
    for left in beside.glob(f"{_UNPACKING}*"):
        maker = left.name.removeprefix(_UNPACKING)
        if not (maker.isdigit() and psutil.pid_exists(int(maker))):
            shutil.rmtree(left, ignore_errors=True)
    place = beside / f"{_UNPACKING}{os.getpid()}"
    try:
        with at_any_end(partial(shutil.rmtree, place, ignore_errors=True)):
            place.mkdir()
            with tarfile.open(path, "r:gz") as archive:
                archive.extractall(place, members=_checked(archive, path), filter="tar")
            yield place
    except tarfile.TarError as problem:
        raise _damaged(path, problem) from problem


def _checked(archive: tarfile.TarFile, path: Path) -> Iterator[tarfile.TarInfo]:
    """Yield the members that an experiment may have; `extractall` refuses those that lead out of the folder."""
    for member in archive:
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            raise _damaged(path, f"{member.name} is no file")
        if member.name.split("/")[0] in (BELOW, SEVERAL):
            yield member


def _damaged(path: Path, problem: object) -> BadOption:
    return BadOption(
        f"{path} cannot be read as an exported experiment: {problem}", hint="export it again, and copy it whole"
    )
