"""By what runs of one experiment are not alike: environment variables, and files outside the project."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from deviate.core.frameworks import numerical_variables
from deviate.core.paths import TEXT_SUFFIXES
from deviate.observe.processes import Process
from deviate.observe.records import RunFiles
from deviate.store.folders import ExperimentFolder
from deviate.store.snapshot_rules import is_checkpoint_like

# The files outside their copies of the project that runs read and wrote, as the runtime saw them.

#: Bytes of a file that is read whole, and those of the two ends of a longer one, as in the runtime.
WHOLE = 1 << 20
END = 1 << 16

#: Seconds by which the clock of a file system may differ from that of the machine.
_SLACK = 0.05


class Stamp(NamedTuple):
    """What a file was like at a moment."""

    size: int
    #: Of its last change, in nanoseconds.
    time: int
    #: Checksum of all of it or of its two ends, and which; empty where it is not known.
    digest: str = ""

    def is_as(self, other: Stamp) -> bool:
        """Tell whether a file was the same at two moments; where only its ends were read, its time decides too."""
        if self.size != other.size or (self.digest and other.digest and self.digest != other.digest):
            return False
        return self.time == other.time or (self.digest == other.digest and self.digest.startswith("whole"))


class OpenedFile(msgspec.Struct, kw_only=True):
    """A file that a run opened."""

    #: As the run first read it; None where it did not, or wrote it before that.
    read: Stamp | None = None
    #: As the run left it; None where that is not known.
    left: Stamp | None = None
    #: The run opened it for writing.
    written: bool = False

    @property
    def changed(self) -> bool:
        """Whether the run wrote it, or it was another when the run had ended."""
        return self.written or (self.read is not None and self.left is not None and not self.left.is_as(self.read))


class Span(NamedTuple):
    """When a run went on, in seconds; empty where that is not known."""

    begun: float
    ended: float

    def holds(self, stamp: Stamp) -> bool:
        """Tell whether a file was last changed in that time."""
        return self.begun - _SLACK <= stamp.time / 1e9 <= self.ended + _SLACK

    def made(self, stamp: Stamp) -> bool:
        """Tell whether a file that a run read was made after the run had begun."""
        return stamp.time / 1e9 >= self.begun


class Opened(NamedTuple):
    """What a run opened outside its copy of the project."""

    run: str
    span: Span
    #: By path; what is linked into the copy, by its path from there.
    files: dict[str, OpenedFile]
    #: Of many files in one folder: how many were read, a checksum of their names, and one of their states.
    folders: dict[str, tuple[int, int, int]]
    #: All of its processes told of their files.
    complete: bool

    @property
    def inputs(self) -> dict[str, Stamp]:
        """The files that the run read as it found them."""
        read = {path: file.read for path, file in self.files.items()}
        return {path: stamp for path, stamp in read.items() if stamp and not self.span.made(stamp)}


def opened_files(run: RunFiles) -> Opened:
    """Return what the processes of a run opened, joined: of a file that several read, as the first found it."""
    files: dict[str, OpenedFile] = {}
    folders: dict[str, tuple[int, int, int]] = {}
    for process in run.processes:
        for event in _events(process):
            for row in event.get("files") or ():
                _join(files, row)
            _join_folder(folders, event.get("folder"))
    return Opened(run.name, _span(run), files, folders, _is_complete(run.processes))


def _events(process: Process) -> list[dict[str, Any]]:
    return [event for event in process.events if event["event"] == "opened"]


def _is_complete(processes: Sequence[Process]) -> bool:
    """Tell whether every process that came to its end, and the first in any case, told of all its files."""
    ended = [each for each in processes if any(event["event"] == "end" for event in each.events)]
    told = [any(event.get("ended") and not event.get("left") for event in _events(each)) for each in ended]
    return bool(told) and all(told)


def _join(files: dict[str, OpenedFile], row: Any) -> None:
    """Add a row of an event; one that is not as it must be says nothing."""
    try:
        path, read, digest, written, left = row
        found = Stamp(read[0], read[1], digest) if read else None
        known = files.setdefault(path, OpenedFile(read=found))
        if known.read is not None and found is not None and known.read.is_as(found) and not known.read.digest:
            known.read = found
        known.written |= bool(written)
        known.left = Stamp(left[0], left[1], left[2]) if left else found or known.left
    except (TypeError, ValueError, IndexError):
        return


def _join_folder(folders: dict[str, tuple[int, int, int]], row: Any) -> None:
    if isinstance(row, list) and len(row) == 4:
        folder, count, names, states = row
        before = folders.get(folder, (0, 0, 0))
        folders[folder] = (before[0] + count, before[1] ^ names, before[2] ^ states)


def _span(run: RunFiles) -> Span:
    if run.info is None or not run.info.started or run.outcome is None or run.outcome.seconds is None:
        return Span(float("inf"), float("-inf"))
    begun = datetime.fromisoformat(run.info.started).timestamp()
    return Span(begun, begun + run.outcome.seconds)


def stamp_of(path: Path, known: Sequence[Stamp]) -> Stamp | None:
    """Return what a file is like now; None where there is none. It is read only where its content decides."""
    try:
        status = os.stat(path)
        plain = Stamp(status.st_size, status.st_mtime_ns)
        same = [each for each in known if each[:2] == plain[:2]]
        if any(not each.digest.startswith("whole") for each in same) or all(each.size != plain.size for each in known):
            return plain
        with path.open("rb") as file:
            data = file.read(WHOLE if status.st_size <= WHOLE else END)
            if status.st_size > WHOLE:
                file.seek(-END, os.SEEK_END)
                data += file.read(END)
    except OSError:
        return None
    how = "whole" if status.st_size <= WHOLE else "ends"
    return Stamp(status.st_size, status.st_mtime_ns, f"{how} {zlib.crc32(data):08x}")


#: Folders of trackers' databases, which every run reads and writes.
_TRACKERS = ("/mlruns/", "/mlflow", "/wandb/", "/.aim/", "/.neptune/")


class ChangedInput(msgspec.Struct, frozen=True, kw_only=True):
    """A file that runs read and that was not the same for all of them."""

    path: str
    #: Names of the runs, those together that read the same.
    groups: list[list[str]]


class KeptState(msgspec.Struct, frozen=True, kw_only=True):
    """A file outside the project by which a run goes on from an earlier one."""

    path: str
    #: Names of the runs that left it as others read it.
    writers: list[str]
    #: Names of the runs that read what another one had left.
    readers: list[str]


class SharedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the files outside the project that runs read and wrote."""

    #: By path.
    changed: list[ChangedInput] = []
    kept: list[KeptState] = []
    #: Names of the runs whose files, as far as Python opened them, are all known.
    known: list[str] = []

    def of(self, runs: Set[str]) -> SharedFiles:
        """Return what concerns only some of the runs."""
        groups = [
            (each, [kept for group in each.groups if (kept := [run for run in group if run in runs])])
            for each in self.changed
        ]
        return SharedFiles(
            changed=[ChangedInput(path=each.path, groups=kept) for each, kept in groups if len(kept) > 1],
            kept=[each for each in self.kept if not runs.isdisjoint(each.readers)],
            known=[run for run in self.known if run in runs],
        )


def shared_files(runs: Iterable[RunFiles]) -> SharedFiles:
    """Compare what runs that trained read outside the project."""
    opened = sorted((opened_files(run) for run in runs if not (run.info and run.info.same_as)), key=_begun)
    kept = kept_state(opened)
    return SharedFiles(
        changed=changed_inputs(opened, {each.path for each in kept}),
        kept=kept,
        known=[each.run for each in opened if each.complete],
    )


def _begun(opened: Opened) -> float:
    return opened.span.begun


def changed_inputs(runs: Sequence[Opened], state: Iterable[str] = ()) -> list[ChangedInput]:
    """Return the files that were not the same for all runs that read them, by path, but for what is `state`."""
    inputs: dict[str, list[tuple[Stamp, list[str]]]] = {}
    for run in runs:
        for path, stamp in run.inputs.items():
            _sort_in(inputs.setdefault(path, []), stamp, run.run)
    changed = {path: [names for _, names in groups] for path, groups in inputs.items() if len(groups) > 1}
    changed |= _changed_folders(runs)
    return [ChangedInput(path=path, groups=changed[path]) for path in sorted(changed.keys() - set(state))]


def _sort_in(groups: list[tuple[Stamp, list[str]]], stamp: Stamp, name: str) -> None:
    for known, names in groups:
        if stamp.is_as(known):
            names.append(name)
            return
    groups.append((stamp, [name]))


def _changed_folders(runs: Sequence[Opened]) -> dict[str, list[list[str]]]:
    """Compare runs that read the same files of a folder; of those that read other ones nothing is known."""
    sums: dict[tuple[str, int, int], dict[int, list[str]]] = {}
    for run in runs:
        for folder, (count, names, states) in run.folders.items():
            sums.setdefault((folder, count, names), {}).setdefault(states, []).append(run.run)
    return {folder: list(states.values()) for (folder, _, _), states in sums.items() if len(states) > 1}


def kept_state(runs: Sequence[Opened]) -> list[KeptState]:
    """Return the files by which one run goes on from another, by path; `runs` are in the order they began.

    A run read what an earlier one had left there and changed it again. What is written once and then only read, such as
    a download, is none, unless it is a checkpoint that the run that wrote it did not read; nor is what runs append to,
    or write again with the same content.
    """
    kept = []
    for path in sorted({path for run in runs for path in run.files if not any(part in path for part in _TRACKERS)}):
        files = {run.run: run.files[path] for run in runs if path in run.files}
        left_by = {name: writers for name in files if (writers := _left_by(name, files, runs))}
        readers = [name for name in left_by if files[name].changed or _is_result(path, files, left_by[name])]
        if readers and not _is_constant(files):
            writers = [run.run for run in runs if any(run.run in left_by[name] for name in readers)]
            kept.append(KeptState(path=path, writers=writers, readers=readers))
    return kept


def _left_by(name: str, files: Mapping[str, OpenedFile], runs: Sequence[Opened]) -> list[str]:
    """Return the other runs during which a file became what the run called `name` read."""
    read = files[name].read
    if read is None:
        return []
    is_own = next(run.span for run in runs if run.run == name).made(read)
    # Of runs side by side, what one makes for itself alone is made while another goes on.
    return [
        run.run
        for run in runs
        if run.run != name
        and run.span.holds(read)
        and (not is_own or run.run in files)
        and (run.run not in files or files[run.run].changed)
    ]


def _is_result(path: str, files: Mapping[str, OpenedFile], writers: Sequence[str]) -> bool:
    """Tell whether a checkpoint was left by runs that did not read it: what is downloaded is read at once."""
    return is_checkpoint_like(path) and all(name in files and files[name].read is None for name in writers)


def _is_constant(files: Mapping[str, OpenedFile]) -> bool:
    """Tell whether all runs left a file with the same content."""
    digests = {file.left.digest if file.left else "" for file in files.values()}
    return len(digests) == 1 and next(iter(digests)).startswith("whole") and len(files) > 1


def changed_since(runs: Iterable[RunFiles], project: Path) -> list[str]:
    """Return the files that runs on this machine read as inputs and that are not as any of them found them, and how.

    What a run wrote, or changed while it went on, is no input.
    """
    opened = [opened_files(run) for run in runs]
    known: dict[str, list[Stamp]] = {}
    for run in opened:
        for path, stamp in run.inputs.items():
            known.setdefault(path, []).append(stamp)
    written = {path for run in opened for path, file in run.files.items() if file.changed}
    changed = []
    for path in sorted(known.keys() - written):
        now = stamp_of(project / path, known[path])
        if now is None:
            changed.append(f"{path} (gone)")
        elif not any(now.is_as(each) for each in known[path]) and not any(run.span.holds(now) for run in opened):
            changed.append(f"{path} (edited)")
    return changed


# The environment that runs inherit from whoever types the command, so that runs with another one can be told apart.
#
# Values may be secrets: a short checksum of each is kept, with which two can be compared and none can be found out.

#: Digits of a checksum: too few to look for the value that it was made of.
DIGITS = 4

#: Of the shell, the terminal, the desktop and the scheduler: they differ whenever a command is typed.
_SHELL = (
    r"_|PWD|OLDPWD|SHLVL|PATH|PS[1-4]|PROMPT.*|COLUMNS|LINES|TERM.*|COLORTERM|VTE_.*|WINDOWID|TMUX.*|STY|WT_.*|KITTY.*"
    r"|ITERM.*|LC_TERMINAL.*|LS_COLORS|LSCOLORS|LESS.*|PAGER|EDITOR|VISUAL|HIST.*|MAIL|HOSTNAME|SSH_.*|GPG_.*|KRB5CCNAME"
)
_DESKTOP = (
    r"XDG_(SESSION|RUNTIME|SEAT|VTNR|CURRENT|MENU|DATA|CONFIG_DIRS).*|DBUS_.*|DISPLAY|WAYLAND.*|XAUTHORITY|ICEAUTHORITY"
    r"|SESSION_.*|DESKTOP_.*|GNOME_.*|KDE_.*|GTK_.*|QT_.*|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_.*|XPC_.*"
    r"|SECURITYSESSIONID|VSCODE_.*|GIT_.*|VIRTUAL_ENV.*|CONDA_.*|_CE_.*"
)
_SCHEDULERS = (
    r"SLURM_.*|SBATCH_.*|SRUN_.*|PBS_.*|LSB_.*|SGE_.*|JOB_.*|RAY_.*|SKYPILOT_.*|KUBERNETES_.*|GITHUB_.*|RUNNER_.*"
    r"|CI_.*|BUILD_.*|DEVIATE_.*|PYTHONPATH|PYTEST_.*|COV_.*"
)
_NOISE = re.compile("|".join((_SHELL, _DESKTOP, _SCHEDULERS)))


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Return a checksum of each variable that says something of a run, by name.

    Those that numerical libraries read are recorded with their values elsewhere.
    """
    numerical = numerical_variables(environment)
    return {
        name: hashlib.sha256(f"{name}={value}".encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]
        for name, value in sorted(environment.items())
        if name not in numerical and not _NOISE.fullmatch(name)
    }


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names of the variables in which two environments differ."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def named_in(texts: Collection[str], names: Collection[str]) -> list[str]:
    """Return those of `names` that stand in one of the texts as a word."""
    if not names:
        return []
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, sorted(names)))})(?!\w)")
    return sorted({match for text in texts for match in pattern.findall(text)})


class ChangedVariable(ChangedInput, frozen=True, kw_only=True):
    """An environment variable that was not the same for all runs; `path` is its name."""

    #: The project's source or its command names it, so that it may decide.
    named: bool


def changed_variables(folder: ExperimentFolder, runs: Iterable[RunFiles]) -> list[ChangedVariable]:
    """Return the variables in which runs of an experiment differ; runs that did not note theirs say nothing."""
    known = {run.name: run.info.inherited or {} for run in runs if run.info is not None and run.info.inherited}
    reference = next(iter(known.values()), {})
    names = sorted({name for each in known.values() for name in differing(reference, each)})
    named = names_in_project(folder, names)
    changed = []
    for name in names:
        groups: dict[str | None, list[str]] = {}
        for run, values in known.items():
            groups.setdefault(values.get(name), []).append(run)
        changed.append(ChangedVariable(path=name, groups=list(groups.values()), named=name in named))
    return changed


def names_in_project(folder: ExperimentFolder, names: Sequence[str]) -> list[str]:
    """Return those of `names` that the project's text files or the command name."""
    return named_in([*folder.read_experiment().command, *_texts(folder)], names) if names else []


def _texts(folder: ExperimentFolder) -> Iterator[str]:
    for path in folder.snapshot.rglob("*"):
        with suppress(OSError):
            if path.suffix in TEXT_SUFFIXES and path.is_file():
                yield path.read_text(encoding="utf-8", errors="replace")
