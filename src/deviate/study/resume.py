"""Find the experiment that a request continues, or make a new one: runs of two different sources never mix."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath

import msgspec

from deviate.errors import NameTaken, WorkspaceUnusable, some_of
from deviate.experiment import Decided, Experiment, Run, Until
from deviate.factors import parse_variants
from deviate.instrument.project import instrument_experiment, skipped_edits
from deviate.project.config import FILE_NAME
from deviate.replicate.snapshot.manifest import Change, Snapshot, changes, read_snapshot, require_whole, take
from deviate.replicate.snapshot.named_files import is_log
from deviate.replicate.snapshot.working_copy import overlay_path
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace
from deviate.shell_words import typed_line
from deviate.study.inputs import INPUT, inputs_changed
from deviate.study.prepared import Prepared
from deviate.study.request import Request

#: Ends the text of a changed file that lies elsewhere.
OUTSIDE = " (outside the project)"

#: Changed files that are named.
PATHS_SHOWN = 10


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The experiment that a request is about."""

    folder: ExperimentFolder
    #: Of a new one: the experiment of the same command that could not be continued, and why; else empty.
    other: str = ""
    #: Files that differ from the experiment's copy and decide nothing.
    aside: list[Change] = []
    #: What changed although it decides; only with ``--anyway``.
    changed: list[str] = []
    #: Its runs read the standard input that it was made with, as none was given now.
    stdin: bool = False


#: Names of scripts that say nothing of the experiment, or that read like a split of the data beside a metric's name.
PLAIN_STEMS = frozenset({"cli", "train", "training", "trainer", "main", "run", "fit", "test", "eval", "evaluate"})


def open_experiment(
    request: Request,
    prepared: Prepared,
    workspace: Workspace,
    now: datetime,
    rule: Until | Decided | None = None,
    claim: Callable[[ExperimentFolder], object] = lambda folder: None,
) -> Opened:
    """Find the experiment that `request` continues, grown to what it asks for; or make a new one with its snapshot.

    The workspace is locked. `rule` decides how many runs are made, where the number of `request` does not. `claim`
    locks the experiment before it is written, or refuses to.

    Raises
    ------
    NameTaken
        If the experiment named by the request is of another command or source.
    WorkspaceUnusable
        If its copy of the project was damaged.
    """
    proposal = prepared.experiment("", requested_runs(request), now, request.seed, rule)
    snapshot = prepared.snapshot
    name = request.name
    folder = _named(name, workspace, proposal, snapshot, request) if name else _same(workspace, proposal, snapshot)
    if folder is None and request.anyway and name is None:
        latest = _latest(workspace, lambda each: _job(each) == _job(_given(proposal, each)))
        folder = workspace.experiment(latest.name) if latest else None
    if folder is None:
        other = "" if name else _other(workspace, proposal, snapshot)
        name = name or free_name(workspace, proposal.entry or _program_of(proposal.command))
        folder = workspace.experiment(name)
        claim(folder)
        _create(folder, msgspec.structs.replace(proposal, name=name), snapshot, prepared.stdin)
        return Opened(folder=folder, other=other)
    claim(folder)
    require_whole(read_snapshot(folder), folder)
    changed = _changed(folder, proposal, snapshot)
    _grow(folder, proposal, own_metrics=bool(changed))
    aside = [change for change in _changes(folder, snapshot) if not (change.decides or is_log(change.path))]
    took = bool(folder.read_experiment().stdin) and not proposal.stdin
    return Opened(folder=folder, aside=aside, changed=changed, stdin=took)


def requested_runs(request: Request) -> dict[str, int]:
    """Return how many runs of each variant are asked for."""
    return {variant.name: request.runs for variant in parse_variants(request.variants)}


def _identity(experiment: Experiment) -> tuple[object, ...]:
    """Return what runs must share to be of one experiment, beside the source.

    Name, direction and aggregate of a metric are not in it: they say how to read the records, not what is recorded.
    """
    captures = [(metric.file, metric.capture, metric.further) for metric in experiment.metrics]
    loop = experiment.main_loop
    recorded = (captures, (loop.file, loop.span) if loop else None, [each.span for each in experiment.further_loops])
    # What the analysis tells of draws is not in it: an experiment keeps the factors that it began with.
    factors = sorted((draw.file, draw.line, draw.call, draw.factor) for draw in experiment.draws if draw.by_hand)
    set_up = [step.command for step in experiment.steps if step.when == "setup"]
    return (*_job(experiment), set_up, factors, recorded)


def _job(experiment: Experiment) -> tuple[object, ...]:
    """Return what no option makes equal: what is run, and from which seed."""
    words = (experiment.command, experiment.folder, experiment.entry)
    return (*words, experiment.stdin, experiment.seed, experiment.imported is None)


def _given(proposal: Experiment, existing: Experiment) -> Experiment:
    """Return a proposal with the standard input of an experiment where it has none itself."""
    return proposal if proposal.stdin else msgspec.structs.replace(proposal, stdin=existing.stdin)


def _is_same(folder: ExperimentFolder, proposal: Experiment, snapshot: Snapshot) -> bool:
    existing = _stored(folder)
    return _identity(existing) == _identity(_given(proposal, existing)) and not _changed(folder, proposal, snapshot)


def _changed(folder: ExperimentFolder, proposal: Experiment, snapshot: Snapshot) -> list[str]:
    """Return the changes of the source since the experiment was made, and those of what its runs read beside it."""
    existing = folder.read_experiment()
    edited: list[str] = []
    if existing.source != proposal.source and existing.imported is None:
        edited = [change.text for change in _changes(folder, snapshot) if change.decides]
    files = {file for file, digest in (existing.outside.items() ^ proposal.outside.items()) if digest}
    return [*edited, *(f"{file}{OUTSIDE}" for file in sorted(files)), *inputs_changed(folder, proposal)]


def _changes(folder: ExperimentFolder, snapshot: Snapshot) -> list[Change]:
    """Return what differs from the experiment's copy; what its own runs write is an output, wherever it appears."""
    beside = [file for step in folder.read_experiment().steps for file in step.own]
    taken = msgspec.structs.replace(read_snapshot(folder), beside=beside)
    differing, known = changes(taken, snapshot), {item.path for item in taken.items}
    new = [change.path for change in differing if change.decides and change.how == "new" and change.path not in known]
    copies = [overlay_path(run, taken) for run in folder.completed_runs() if run.work.is_dir()] if new else []
    outputs = {path for path in new if copies and all(os.path.lexists(copy / path) for copy in copies)}
    return [
        msgspec.structs.replace(change, decides=False) if change.path in outputs else change for change in differing
    ]


def _stored(folder: ExperimentFolder) -> Experiment:
    """Read an experiment that may be the one that goes on: where it is damaged, the user says whether it is."""
    try:
        return folder.read_experiment()
    except WorkspaceUnusable as problem:
        hint = f"{problem.hint}; or make an experiment of its own: --name NAME"
        raise WorkspaceUnusable(problem.message, hint=hint) from problem


def _same(workspace: Workspace, proposal: Experiment, snapshot: Snapshot) -> ExperimentFolder | None:
    folders = [workspace.experiment(name) for name in workspace.names()]
    same = [folder for folder in folders if _is_same(folder, proposal, snapshot)]
    # One with the standard input of another call comes after one that was made without.
    return min(same, key=lambda folder: folder.read_experiment().stdin != proposal.stdin, default=None)


def _latest(workspace: Workspace, alike: Callable[[Experiment], bool]) -> Experiment | None:
    """Return the latest of the experiments that are alike."""
    experiments = (_stored(workspace.experiment(name)) for name in workspace.names())
    return max(filter(alike, experiments), key=lambda each: each.created, default=None)


def _other(workspace: Workspace, proposal: Experiment, snapshot: Snapshot) -> str:
    """Say of the latest experiment with the same command why it is not continued."""
    latest = _latest(workspace, lambda each: (each.command, each.folder) == (proposal.command, proposal.folder))
    if latest is None:
        return ""
    differences = _differences(latest, proposal, workspace.experiment(latest.name), snapshot)
    hint = (
        f"; --anyway adds runs to {latest.name!r} from its copy of the project"
        if _job(latest) == _job(_given(proposal, latest))
        else ""
    )
    return f"{latest.name!r} has {'; '.join(differences)}{hint}"


def _named(
    name: str, workspace: Workspace, proposal: Experiment, snapshot: Snapshot, request: Request
) -> ExperimentFolder | None:
    folder = workspace.experiment(name)
    if folder.name not in workspace.names():
        return None
    existing = folder.read_experiment()
    can_go_on = _job(existing) == _job(_given(proposal, existing))
    if _is_same(folder, proposal, snapshot) or (request.anyway and can_go_on):
        return folder
    anyway = f"add --anyway to make more runs from the copy that {name!r} has of the project; or " if can_go_on else ""
    raise NameTaken(
        f"experiment {folder.name!r} has {'; '.join(_differences(existing, proposal, folder, snapshot))}",
        hint=f"{anyway}type another --name, or none: then a new one is made",
    )


def _differences(
    existing: Experiment, proposal: Experiment, folder: ExperimentFolder, snapshot: Snapshot
) -> Iterator[str]:
    if existing.imported:
        yield "results that were imported, and these are never continued"
        return
    if existing.command != proposal.command:
        yield f"another command: {typed_line(existing.command)}"
    if (existing.folder, existing.entry) != (proposal.folder, proposal.entry):
        yield f"another entry: {existing.entry}, started in {existing.folder}"
    if existing.stdin != proposal.stdin and proposal.stdin:
        yield "other data from standard input" if existing.stdin else "no data from standard input"
    if existing.seed != proposal.seed:
        yield f"another --seed: {existing.seed}"
    if changed := _changed(folder, proposal, snapshot):
        yield f"{_kind(changed)}, changed since: {some_of(changed, PATHS_SHOWN)}"
        return
    if _identity(existing)[-1] != _identity(proposal)[-1]:
        yield "other metrics or another main loop"
    if _identity(existing)[-2] != _identity(proposal)[-2]:
        yield f"other factors of draws, as {FILE_NAME} or --factor sets them"
    if _identity(existing)[-3] != _identity(proposal)[-3]:
        yield f"another [setup] in {FILE_NAME}"


def _kind(changed: Sequence[str]) -> str:
    if any(not text.endswith((OUTSIDE, INPUT)) for text in changed):
        return "another source"
    return "other code outside the project" if any(text.endswith(OUTSIDE) for text in changed) else "other inputs"


def free_name(workspace: Workspace, entry: str) -> str:
    """Name an experiment after its entry, or after the project where the entry's name would read like a metric.

    ``resnet.py`` in ``cifar``: ``resnet``, then ``resnet-2``; ``train.py``: ``cifar``.
    """
    pure = PurePosixPath(entry)
    stem = pure.parent.name if pure.stem == "__main__" else pure.stem
    stem = workspace.project.name if stem.lower() in PLAIN_STEMS else stem
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip(".-") or "experiment"
    taken = set(workspace.names())
    return next(
        name for name in (base, *(f"{base}-{number}" for number in range(2, len(taken) + 2))) if name not in taken
    )


def _program_of(command: Sequence[str]) -> str:
    """Return what a command is called after: its first word with a suffix, else its program."""
    return next((word for word in command if PurePosixPath(word).suffix), command[0])


def _create(folder: ExperimentFolder, experiment: Experiment, snapshot: Snapshot, stdin: Path | None) -> None:
    """Make the folder; ``experiment.json`` comes last, so that a folder without it is known to be unfinished."""
    shutil.rmtree(folder.path, ignore_errors=True)
    taken = take(snapshot, folder)
    if stdin is not None:
        shutil.copyfile(stdin, folder.stdin_file)
    skipped = skipped_edits(instrument_experiment(folder.snapshot, experiment))
    folder.write_experiment(
        msgspec.structs.replace(experiment, source=taken.source, notes=[*experiment.notes, *skipped])
    )


def _grow(folder: ExperimentFolder, proposal: Experiment, *, own_metrics: bool) -> None:
    """Plan what `proposal` asks for; with `own_metrics` those of an edited source do not replace the experiment's."""
    existing = folder.read_experiment()
    more = any(runs > existing.planned.get(name, 0) for name, runs in proposal.planned.items())
    # Who asks for more runs than were made decides their number again.
    ruled = proposal if more or proposal.until or proposal.decided else existing
    metrics = existing.metrics if own_metrics else proposal.metrics
    rules = {"until": ruled.until, "decided": ruled.decided}
    _plan(folder, proposal.planned, metrics=metrics, observed=proposal.observed, **rules)


def plan_runs(folder: ExperimentFolder, planned: Mapping[str, int]) -> Experiment:
    """Plan more runs of an experiment; those planned already stay, and of the variants not named none are added."""
    return msgspec.structs.replace(_plan(folder, planned), planned=dict(planned))


def note_needless(folder: ExperimentFolder, planned: Mapping[str, int], runs: Sequence[Run]) -> None:
    """Plan no more the `runs` that nothing is to be learnt from, and note how many there were of each variant."""
    existing = folder.read_experiment()
    spared = {name: sum(run.variant == name for run in runs) for name in planned}
    needless = {**existing.needless, **spared}
    noted = msgspec.structs.replace(
        existing,
        planned={name: runs - spared.get(name, 0) for name, runs in existing.planned.items()},
        needless={name: runs for name, runs in needless.items() if runs},
    )
    if noted != existing:
        folder.write_experiment(noted)


def _plan(folder: ExperimentFolder, planned: Mapping[str, int], **changes: object) -> Experiment:
    existing = folder.read_experiment()
    more = {name: max(runs, existing.planned.get(name, 0)) for name, runs in planned.items()}
    grown = msgspec.structs.replace(existing, planned={**existing.planned, **more}, **changes)
    if grown != existing:
        folder.write_experiment(grown)
    return grown
