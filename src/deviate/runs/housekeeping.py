"""Remove, rename and thin out stored experiments: nothing that another experiment has is touched.

Every step is a rename or can be done again, so that the same command goes on after it was killed.

Whole experiments as one file: a gzipped tar archive, which another workspace takes in.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import shutil
import tarfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from deviate.core.errors import UPDATE, BadInput, BadOption, NameTaken, WorkspaceUnusable
from deviate.core.experiment import AT, SCHEMA, Experiment, Step
from deviate.core.interrupts import at_any_end
from deviate.core.secrets import star_text
from deviate.core.shell_words import typed_word
from deviate.runs import todo
from deviate.runs.executors.local import LocalExecutor
from deviate.runs.experiment import elsewhere
from deviate.runs.lease import LeaseHeld, live_holder
from deviate.runs.orders import clear_submissions
from deviate.runs.prepare import clear_removed, discard, discard_work
from deviate.runs.snapshot.manifest import read_snapshot
from deviate.runs.snapshot.survey import COPY_LIMIT, CREDENTIALS, is_code, is_credentials
from deviate.runs.snapshot.working_copy import GIVEN
from deviate.runs.unpacking import BELOW, DAMAGE, HEAD, SEVERAL, Members, is_carried, read_head, unpacked
from deviate.store.files import sync_file
from deviate.store.folders import ExperimentFolder, RunFolder, Workspace, can_name
from deviate.store.locks import locked, locked_looks, locked_workspace
from deviate.store.looks import rename_looks
from deviate.store.run_files import Completed


def remove(workspace: Workspace, name: str) -> None:
    """Remove an experiment with all its runs; what a killed tool left running of it is ended.

    Data folders that its runs link stay, since only the links are removed.

    Raises UnknownExperiment if there is none of that name. Raises WorkspaceBusy or RunElsewhere if runs of it are being
    made, here or elsewhere.
    """
    with _held(workspace, name, "rm") as folder:
        end_leftovers(folder)
        clear_submissions(folder, all_of_them=True)
        discard(folder.path)
    clear_removed(folder.path.parent)


def remove_evaluation(workspace: Workspace, name: str, evaluation: str) -> None:
    """Remove an evaluation with what it recorded in each run; a command that asks for it makes it again.

    Raises UnknownExperiment or BadOption if there is no experiment of that name, or no evaluation. Raises WorkspaceBusy
    or RunElsewhere if runs of it are being made, here or elsewhere.
    """
    with _held(workspace, name, "rm") as folder:
        step = find_evaluation(folder.read_experiment(), evaluation)
        end_leftovers(folder)
        experiment = folder.read_experiment()
        # Killed from here on, what is left below the runs belongs to no evaluation, and a new one writes it anew.
        left = [each for each in experiment.steps if each != step]
        folder.write_experiment(msgspec.structs.replace(experiment, steps=left))
        for run in folder.runs():
            for repeat in range(step.repeat):
                discard(run.step(step.name, repeat).path)
        discard(folder.step_sources(step.name))


def find_evaluation(experiment: Experiment, name: str) -> Step:
    """Return the evaluation of that name.

    Raises BadOption with the names there are.
    """
    step = next((step for step in experiment.evaluations if step.name == name), None)
    if step is None:
        names = ", ".join(each.name for each in experiment.evaluations) or "none"
        raise BadOption(f"no evaluation of {experiment.name!r} is named {name!r}", hint=f"evaluations: {names}")
    return step


def rename(workspace: Workspace, name: str, new: str) -> ExperimentFolder:
    """Give an experiment another name; comparisons that were made with it are still accounted for.

    Raises UnknownExperiment if there is none of that name. Raises BadOption if the new name cannot be one. Raises
    NameTaken if there is an experiment of that name. Raises WorkspaceBusy or RunElsewhere if runs of it are being made,
    here or elsewhere.
    """
    target = workspace.experiment(new)
    with _held(workspace, name, "mv", new) as folder, locked(target, ["deviate", "mv", name, new]):
        if new in workspace.names():
            raise NameTaken(f"an experiment is named {new!r} already", hint=f"type another name, or: deviate rm {new}")
        end_leftovers(folder)
        experiment = folder.read_experiment()
        with locked_looks(workspace):
            rename_looks(workspace, name, new, "" if experiment.imported else experiment.created)
        # What is there without an `experiment.json` is what a killed tool left of one that it was making.
        discard(target.path)
        # Killed between the two, the folder has its old name, and the same command goes on.
        folder.write_experiment(msgspec.structs.replace(experiment, name=new))
        folder.path.rename(target.path)
    return target


def prune(workspace: Workspace, name: str) -> int:
    """Remove the working folders of completed runs; return how many bytes that freed.

    Records, logs, predictions and weights that were kept stay.

    Raises UnknownExperiment if there is none of that name. Raises WorkspaceBusy or RunElsewhere if runs of it are being
    made or evaluated, here or elsewhere.
    """
    with _held(workspace, name, "prune") as folder:
        freed = prunable(folder)
        for run in _completed(folder):
            discard_work(run)
        clear_removed(folder.runs_folder)
    clear_removed(folder.path.parent)
    return freed


def prunable(folder: ExperimentFolder) -> int:
    """Return how many bytes the working folders hold that `prune` removes.

    Raises RunElsewhere as `require_idle` does.
    """
    require_idle(folder)
    return sum(disk_size(run.work) for run in _completed(folder))


def _completed(folder: ExperimentFolder) -> Sequence[RunFolder]:
    return [run for run in folder.runs() if run.is_done and isinstance(run.read_outcome(), Completed)]


def end_leftovers(folder: ExperimentFolder) -> None:
    """End what a killed tool left running of the runs that are not done.

    Raises RunElsewhere as `require_idle` does.
    """
    require_idle(folder)
    deque(todo.end_leftovers(folder.runs(), LocalExecutor(1)), maxlen=0)


def require_idle(folder: ExperimentFolder) -> None:
    """Make sure that nobody makes or evaluates a run.

    Raises RunElsewhere if a worker on another machine, or of a cluster, does.
    """
    for run in folder.runs():
        if (holder := live_holder(run)) is not None:
            hint = f"wait until it has ended: deviate show {typed_word(folder.name)} says how each run stands"
            raise elsewhere(run.run.folder, LeaseHeld(holder), hint)


def disk_size(path: Path) -> int:
    """Return the bytes of the files below a folder; links lead elsewhere and count nothing, and a file counts once."""
    files = (os.lstat(Path(parent, name)) for parent, _, names in os.walk(path) for name in names)
    return sum({(each.st_dev, each.st_ino): each.st_blocks * 512 for each in files}.values())


@contextmanager
def _held(workspace: Workspace, name: str, *words: str) -> Iterator[ExperimentFolder]:
    """Hold an experiment, and the names of all."""
    command = ["deviate", words[0], name, *words[1:]]
    workspace.find_experiment(name)
    with locked_workspace(workspace, command):
        folder = workspace.find_experiment(name)
        with locked(folder, command):
            yield folder


#: Of the archives.
SUFFIX = ".tar.gz"

#: Files that a message names, at most.
LISTED = 5

#: What the system says of a name that it does not take.
_NAMES = (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive holds."""

    schema: int = SCHEMA
    #: Of the experiment, or of the grid that the experiments are cells of.
    name: str
    #: The folders that runs were made in, with all that they saved, are in it.
    work: bool
    #: Names of the cells; none of a single experiment.
    cells: list[str] = []


def export_experiments(
    folders: Sequence[ExperimentFolder],
    path: Path,
    *,
    grid: str = "",
    work: bool = False,
    notes: list[str] | None = None,
) -> None:
    """Write an experiment to `path`: snapshot, records, logs, predictions and weights, and the runs' folders if asked.

    Of a `grid` it is all its cells. Files of credentials are left out, and stars stand for keys that other files hold;
    `notes` receives both. The file is written aside and renamed.

    Raises WorkspaceBusy or RunElsewhere if runs of it are being made or evaluated, here or elsewhere. Raises OSError if
    the file cannot be written.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    cells = [folder.name for folder in folders] if grid else []
    packing = _Packing()
    with at_any_end(partial(aside.unlink, missing_ok=True)):
        with tarfile.open(aside, "w:gz", compresslevel=6) as archive:
            packing.add_head(archive, Head(name=grid or folders[0].name, work=work, cells=cells))
            for folder in folders:
                with locked(folder, ["deviate", "export", folder.name]):
                    require_idle(folder)
                    packing.add(archive, folder, f"{SEVERAL}/{folder.name}" if grid else BELOW, work=work)
        sync_file(aside)
        aside.replace(path)
    if notes is not None:
        notes += packing.notes()


class _Packing:
    """Writes files to an archive, and remembers what was left out."""

    def __init__(self) -> None:
        # Of a file in several experiments the path in the project is said once.
        self._left_out: dict[str, None] = {}
        self._linked: dict[str, None] = {}
        self._starred: dict[str, None] = {}

    def add_head(self, archive: tarfile.TarFile, head: Head) -> None:
        """Write what the archive is."""
        _add_data(archive, tarfile.TarInfo(HEAD), msgspec.json.encode(head))

    def add(self, archive: tarfile.TarFile, folder: ExperimentFolder, below: str, *, work: bool) -> None:
        """Write the folder of an experiment."""
        with suppress(WorkspaceUnusable):
            for item in read_snapshot(folder).linked:
                (self._left_out if item.reason == CREDENTIALS else self._linked)[item.path] = None
        archive.add(folder.path, below, recursive=False)
        for path, parts in _walk(folder.path, work=work):
            member = archive.gettarinfo(path, "/".join((below, *parts)))
            if member is None or not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
                continue
            if member.isdir() or member.issym():
                archive.addfile(member)
            elif not _is_authored(parts):
                with path.open("rb") as file:
                    member.type, member.linkname, member.size = tarfile.REGTYPE, "", os.fstat(file.fileno()).st_size
                    archive.addfile(member, file)
            else:
                self._add_authored(archive, path, parts, member)

    def _add_authored(
        self, archive: tarfile.TarFile, path: Path, parts: tuple[str, ...], member: tarfile.TarInfo
    ) -> None:
        """Write a file that the user or a training made, if it may be given away."""
        inside = "/".join(parts[1:] if parts[0] == "snapshot" else parts)
        if is_credentials(inside):
            self._left_out[inside] = None
            return
        with path.open("rb") as file:
            member.type, member.linkname, member.size = tarfile.REGTYPE, "", os.fstat(file.fileno()).st_size
            if member.size > COPY_LIMIT:
                archive.addfile(member, file)
                return
            data = file.read()
        starred = star_text(data, is_code=is_code(inside))
        if starred != data:
            self._starred[inside] = None
        _add_data(archive, member, starred)

    def notes(self) -> list[str]:
        """Say what is not in the archive."""
        said = {
            "left out, since they hold credentials": self._left_out,
            "not in it, since runs share them by links": self._linked,
            "with stars in place of keys": self._starred,
        }
        return [f"{what}: {_listed(list(names))}" for what, names in said.items() if names]


def _add_data(archive: tarfile.TarFile, member: tarfile.TarInfo, data: bytes) -> None:
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def _walk(folder: Path, parts: tuple[str, ...] = (), *, work: bool) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield what an archive carries of a folder, folders before what is in them; no link is followed."""
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        below = (*parts, entry.name)
        if is_carried(below, work=work):
            yield Path(entry.path), below
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), below, work=work)


def _is_authored(parts: tuple[str, ...]) -> bool:
    """Tell whether a file is the user's or of a training; the others are Deviate's, which has stars in them."""
    return parts[0] in ("snapshot", "steps") or parts[2:3] in (("work",), ("written",), (GIVEN,))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def is_archive(path: Path) -> bool:
    """Tell whether a file is an experiment that was exported."""
    # A pipe or a device would be waited for.
    if not path.is_file():
        return False
    try:
        with Members(path) as members:
            first = next(iter(members), None)
    except DAMAGE:
        return False
    return first is not None and first.name == HEAD


def import_archive(
    path: Path, workspace: Workspace, name: str | None = None, notes: list[str] | None = None
) -> list[ExperimentFolder]:
    """Take what was exported into a workspace, under its own name or another; cells of a grid keep their settings.

    It is looked through, unpacked aside and renamed, so that half of an experiment is never seen. Cells that are there
    already, because the same command was killed, are left as they are. What was left out is added to `notes`.

    Raises BadInput if the file is damaged, or holds what no experiment does. Raises NameTaken if there is another
    experiment of one of the names.
    """
    command = ["deviate", "import", str(path)]
    head = _read_head(path)
    targets = _targets(head, workspace, name, path)
    if not head.cells:
        _require_free(targets[BELOW], workspace)
    workspace.prepare()
    try:
        with unpacked(path, workspace) as aside, locked_workspace(workspace, command):
            _take_all(aside.path, targets, head, workspace, path)
    except OSError as problem:
        if problem.errno not in _NAMES and not isinstance(problem, gzip.BadGzipFile):
            raise
        raise _damaged(path, problem.strerror or problem) from problem
    except DAMAGE as problem:
        raise _damaged(path, problem) from problem
    if notes is not None and aside.left_out:
        what = "links that lead out of the project, or to what is not in it here"
        notes.append(f"not made: {what}: {_listed(aside.left_out)}")
    return list(targets.values())


def _targets(head: Head, workspace: Workspace, name: str | None, path: Path) -> dict[str, ExperimentFolder]:
    if not head.cells:
        return {BELOW: workspace.experiment(name or head.name)}
    if wrong := next((cell for cell in head.cells if not can_name(cell)), None):
        raise _damaged(path, f"{wrong!r} cannot name an experiment")
    names = {cell: (name or head.name) + AT + cell.partition(AT)[2] for cell in head.cells}
    return {f"{SEVERAL}/{cell}": workspace.experiment(target) for cell, target in names.items()}


def _take_all(aside: Path, targets: dict[str, ExperimentFolder], head: Head, workspace: Workspace, path: Path) -> None:
    for below in targets:
        try:
            ExperimentFolder(aside / below).read_experiment()
        except WorkspaceUnusable as problem:
            raise _damaged(
                path, f"its {ExperimentFolder(aside / below).experiment_file.name} cannot be read"
            ) from problem
    missing = {
        below: target
        for below, target in targets.items()
        if not (head.cells and _is_there(target, ExperimentFolder(aside / below), workspace))
    }
    for target in missing.values():
        _require_free(target, workspace)
    for below, target in missing.items():
        with locked(target, ["deviate", "import", str(path)]):
            _take(ExperimentFolder(aside / below), target)


def _is_there(target: ExperimentFolder, taken: ExperimentFolder, workspace: Workspace) -> bool:
    """Tell whether an experiment was taken in before; it may have more runs since."""
    if target.name not in workspace.names():
        return False
    return target.read_experiment().created == taken.read_experiment().created


def _take(taken: ExperimentFolder, target: ExperimentFolder) -> None:
    for run in taken.runs():
        with suppress(WorkspaceUnusable):
            _forget_process(run)
    experiment = taken.read_experiment()
    taken.write_experiment(msgspec.structs.replace(experiment, name=target.name))
    # What is there without an `experiment.json` is what a killed tool left of one that it was making.
    shutil.rmtree(target.path, ignore_errors=True)
    taken.path.rename(target.path)


def _forget_process(run: RunFolder) -> None:
    """Take from a run that was cut short what would be ended before it is made again: it was no process of here."""
    if (info := run.read_info()) is not None and not run.is_done:
        here = msgspec.structs.replace(info, pid=None, created=None, job=msgspec.UNSET, scratch=msgspec.UNSET)
        run.write_info(here)


def _read_head(path: Path) -> Head:
    try:
        data, found = read_head(path)
        head = msgspec.json.decode(data, type=Head)
    except (*DAMAGE, msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise _damaged(path, problem) from problem
    if not found.issuperset([f"{SEVERAL}/{cell}" for cell in head.cells] or [BELOW]):
        raise _damaged(path, "it does not hold what its head names")
    if head.schema > SCHEMA:
        raise BadInput(f"{path} was made by a newer Deviate", hint=UPDATE)
    return head


def _require_free(target: ExperimentFolder, workspace: Workspace) -> None:
    if target.name in workspace.names():
        raise NameTaken(f"an experiment is named {target.name!r} already", hint="type --name for another name")


def _damaged(path: Path, problem: object) -> BadOption:
    return BadOption(
        f"{path} cannot be read as an exported experiment: {problem}", hint="export it again, and copy it whole"
    )
