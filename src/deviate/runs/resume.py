"""Find the experiment that a request continues, or make a new one, and which of its runs share a training."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

import msgspec

from deviate.core.errors import CommandNotFound, NameTaken, WorkspaceUnusable, some_of
from deviate.core.experiment import Decided, Experiment, Run, Until
from deviate.core.factors import IMPLEMENTATION, SEEDED, find_variant, parse_variants
from deviate.core.shell_words import typed_line
from deviate.observe.events import threads, used_gpu
from deviate.observe.processes import processes
from deviate.observe.records import RunFiles, read_run
from deviate.observe.surroundings import changed_since, differing, inherited, names_in_project
from deviate.runs.environment import find_program
from deviate.runs.prepared import Prepared
from deviate.runs.request import Request
from deviate.runs.snapshot.manifest import Change, Snapshot, changes, is_log, read_snapshot, require_whole, take
from deviate.runs.snapshot.working_copy import overlay_path
from deviate.source.config import FILE_NAME
from deviate.source.overlay import instrument_experiment, skipped_edits
from deviate.store.folders import ExperimentFolder, Workspace

# Whether what the runs of an experiment read beside their copy of the project is as it was, when runs are added.

#: Ends the text of an input that changed.
INPUT = "; an input)"


def inputs_changed(folder: ExperimentFolder, proposal: Experiment) -> list[str]:
    """Return the inputs of runs that are not as they were: files, variables that the project names, the interpreter.

    Empty where `proposal` adds no run, and for runs of another machine or in a container.
    """
    if not _adds(folder, proposal):
        return []
    host = socket.gethostname()
    runs = [
        RunFiles(each, each.read_outcome(), info, processes(each))
        for each in folder.completed_runs()
        if (info := each.read_info()) is not None and info.host == host and not info.container
    ]
    texts = [*changed_since(runs, folder.project), *_variables(folder, runs), *_interpreter(folder, proposal, runs)]
    return [f"{text.removesuffix(')')}{INPUT}" for text in texts]


def _adds(folder: ExperimentFolder, proposal: Experiment) -> bool:
    completed: dict[str, int] = {}
    for run in folder.completed_runs():
        completed[run.run.variant] = completed.get(run.run.variant, 0) + 1
    return any(runs > completed.get(name, 0) for name, runs in proposal.planned.items())


def _variables(folder: ExperimentFolder, runs: Sequence[RunFiles]) -> Iterator[str]:
    now = inherited(os.environ)
    known = [run.info.inherited for run in runs if run.info is not None and run.info.inherited]
    # One that was as it is now in any of them is none that changed since.
    changed = set.intersection(*(set(differing(each, now)) for each in known)) if known else set()
    yield from (f"{name} (environment variable)" for name in names_in_project(folder, sorted(changed)))


def _interpreter(folder: ExperimentFolder, proposal: Experiment, runs: Sequence[RunFiles]) -> Iterator[str]:
    try:
        now = str(find_program(proposal.command[0], folder.project / proposal.folder, os.environ))
    except CommandNotFound:
        return
    before = {run.info.argv[0] for run in runs if run.info is not None and run.info.argv}
    inside = any(path.startswith(f"{folder.path}/") for path in before)
    if before and now not in before and not inside:
        yield f"{now} (interpreter, before: {sorted(before)[0]})"


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
    #: What changed although it decides; only with ``--edited``.
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

    Raises NameTaken if the experiment named by the request is of another command or source. Raises WorkspaceUnusable if
    its copy of the project was damaged.
    """
    proposal = prepared.experiment("", requested_runs(request), now, request.seed, rule)
    snapshot = prepared.snapshot
    name = request.name
    folder = _named(name, workspace, proposal, snapshot, request) if name else _same(workspace, proposal, snapshot)
    if folder is None and request.edited and name is None:
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
    experiments = (_stored(workspace.experiment(name)) for name in workspace.names())
    return max(filter(alike, experiments), key=lambda each: each.created, default=None)


def _other(workspace: Workspace, proposal: Experiment, snapshot: Snapshot) -> str:
    """Say of the latest experiment with the same command why it is not continued."""
    latest = _latest(workspace, lambda each: (each.command, each.folder) == (proposal.command, proposal.folder))
    if latest is None:
        return ""
    differences = _differences(latest, proposal, workspace.experiment(latest.name), snapshot)
    hint = (
        f"; --edited adds runs to {latest.name!r} from its copy of the project"
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
    if _is_same(folder, proposal, snapshot) or (request.edited and can_go_on):
        return folder
    ways = [f"add --edited to make more runs from the copy that {name!r} has of the project"] if can_go_on else []
    ways += [] if folder.completed_runs() else [f"remove it, as none of its runs completed: deviate rm {name}"]
    raise NameTaken(
        f"experiment {folder.name!r} has {'; '.join(_differences(existing, proposal, folder, snapshot))}",
        hint="; or ".join([*ways, "type another --name, or none: then a new one is made"]),
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
        yield f"other factors of draws, as {FILE_NAME} or --set factor sets them"
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


# Which runs of several variants draw the same, so that one training serves them all.

#: Varies with its seed although nothing is drawn for it: the seed orders sets and dictionaries of strings, too
#: (PYTHONHASHSEED).
ALWAYS = "other"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a completed run shows of an experiment."""

    #: Factors that it did not draw for.
    absent: frozenset[str]
    #: Its threads were pinned, and it used no GPU.
    without_noise: bool


def seen(folder: ExperimentFolder) -> Seen | None:
    """Return what the first completed run shows whose draws were looked at; None where there is none."""
    for each in folder.completed_runs():
        run = read_run(each)
        if prints := run.fingerprints:
            return Seen(
                absent=frozenset(name for name in SEEDED if name not in prints or prints[name].is_undrawn),
                without_noise=threads(run) is not None and not used_gpu(run),
            )
    return None


@dataclass
class Sharing:
    """Decides for each run of a call whether another one's training is its own.

    Two runs draw the same where the factors that vary in their variants, and that are drawn for, are the same, and so
    is their index; those with index 0 always do. Where the implementation varies, runs are trained unless nothing of
    it was seen that could vary and a first run, trained with it free and with it held, is equal to the bit.
    """

    folder: ExperimentFolder
    planned: Mapping[str, int]
    known: Seen | None = None
    #: Whether the two first runs are equal; None: that is not known yet.
    repeats: bool | None = None

    @property
    def waits(self) -> bool:
        """Tell whether what the first run draws for may decide which of the others are trained."""
        return any(self._varying(name) for name in self.planned) or all(self._by_noise())

    def twin(self, run: Run) -> Run | None:
        """Return the run whose training is also this one's; itself where it is to be trained, None where neither is.

        A run that is not made yet is also returned where the decision waits for it.
        """
        self.known = self.known or seen(self.folder)
        free, pair = self._by_noise()[0], self._pair()
        if run in pair:
            return run
        if pair and self.repeats is None and self._depends(run.variant):
            waits = next((each for each in pair if not self.folder.run(each).is_done), None)
            if waits is not None:
                return waits
            self.repeats = _are_equal(self.folder, *pair)
        own = self._varying(run.variant)
        if own is None:
            return run
        alike = self._alike(run.index, own)
        if own or not run.index or alike[0] == "control":
            return Run(variant=alike[0], index=run.index)
        # All runs of all these variants are one training; that it repeats is for `control` to prove.
        return run if run.variant in free else None

    def _depends(self, name: str) -> bool:
        """Tell whether the implementation varies in a variant, or in another one that else varies the same."""
        free = self._by_noise()[0]
        drawn = {each: self._drawn(each) - {IMPLEMENTATION} for each in (*free, name)}
        return name in free or (bool(drawn[name]) and drawn[name] in [drawn[each] for each in free])

    def _alike(self, index: int, own: frozenset[str]) -> list[str]:
        """Return the variants whose run `index` draws the same as one in which `own` varies, the one to train first."""
        varying = {name: self._varying(name) for name, runs in self.planned.items() if runs > index}
        alike = [name for name, factors in varying.items() if factors is not None and (factors == own or not index)]
        return sorted(alike, key=lambda name: (name != "control", name not in self._by_noise()[0]))

    def _by_noise(self) -> tuple[list[str], list[str]]:
        """Return the controlled variants in which the implementation varies, and those in which it is held."""
        variants = [variant for name in self.planned if (variant := find_variant(name)) and variant.controlled]
        plain = [variant for variant in variants if not variant.disturbed]
        free = [variant.name for variant in plain if IMPLEMENTATION in variant.varying]
        return free, [variant.name for variant in plain if IMPLEMENTATION not in variant.varying]

    def _pair(self) -> tuple[Run, ...]:
        """Return a first run with the implementation free and one with it held; empty where nothing can be shared."""
        free, held = self._by_noise()
        if not free or not held or self.known is None or not self.known.without_noise:
            return ()
        return Run(variant=free[0], index=0), Run(variant="control" if "control" in held else held[0], index=0)

    def _varying(self, name: str) -> frozenset[str] | None:
        """Return what varies between the runs of a variant and is drawn for; None where its runs stand alone."""
        variant = find_variant(name)
        if variant is None or not variant.controlled or variant.disturbed:
            return None
        varying = self._drawn(name) - ({IMPLEMENTATION} if self.repeats else set())
        return None if IMPLEMENTATION in varying else varying

    def _drawn(self, name: str) -> frozenset[str]:
        variant = find_variant(name)
        absent = (self.known.absent - {ALWAYS}) if self.known else frozenset()
        return variant.varying - absent if variant else frozenset()


def _are_equal(folder: ExperimentFolder, one: Run, other: Run) -> bool:
    """Tell whether two runs completed with equal values and final weights, to the bit."""
    from deviate.runs.packing import compare_made, made_of

    experiment = folder.read_experiment()
    first, second = (made_of(experiment, folder, run) for run in (one, other))
    values, reason = compare_made(first, second)
    return first.has_completed and second.has_completed and values > 0 and not reason
