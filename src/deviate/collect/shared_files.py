"""Files outside the project by which runs of one experiment are not alike: inputs that changed, and state they keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

import msgspec

from deviate.collect.opened import Opened, OpenedFile, Stamp, opened_files, stamp_of
from deviate.collect.runs import RunFiles
from deviate.replicate.snapshot.rules import is_checkpoint_like

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
