"""What is known of a request before anything is written: its target, what its source shows, and its snapshot."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath

import msgspec

from deviate.core.errors import BadOption, EntryNotFound, EntryNotPython, EntrySyntax, NoScript, WorkspaceUnusable
from deviate.core.experiment import (
    DEFAULT_PREDICTIONS,
    DEFAULT_WEIGHTS,
    Decided,
    Experiment,
    Findings,
    ObservedWish,
    Step,
    Until,
)
from deviate.core.secrets import mask_variables, mask_words
from deviate.core.shell_words import typed_line, typed_word
from deviate.runs.environment import find_program, named_program
from deviate.runs.request import Request, option_words
from deviate.runs.snapshot.manifest import Snapshot, describe, read_snapshot
from deviate.source.analysis import join_findings
from deviate.source.config import FILE_NAME, Config, EvaluateEntry, bad_entry, read_config
from deviate.source.edits import FileCode
from deviate.source.entry import NAME_ENTRY, Target, file_digests, find_target, unscripted_target
from deviate.source.overlay import file_codes, instrument_experiment, skipped_edits
from deviate.source.selection import analyse_start, extract_starts
from deviate.store.files import content_digest
from deviate.store.folders import ExperimentFolder, Workspace
from deviate.store.snapshot_rules import SnapshotRules

# Commands beside the training: as they are asked for, read from their source, and taken into an experiment.

#: The setting ``entry`` is of the training alone: the command of an evaluation must show its script.
NAME_SCRIPT = "write the code into a script, and start that: python evaluate.py"

#: Names that no evaluation may have.
RESERVED = ("setup", "cleanup")


class ReadStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step with what its source says."""

    step: Step
    #: The files of the project that it was read from, by path.
    files: dict[str, bytes] = {}


def asked_steps(
    then: Sequence[str],
    project: Path,
    more: Sequence[EvaluateEntry] = (),
    environment: Mapping[str, str] | None = None,
) -> list[Step]:
    """Return the steps that ``deviate.toml`` and ``--then`` ask for; one without a name is called after its script.

    `more` are evaluations beside those at the top of the file; `environment` are variables of all steps.

    Raises BadConfig or BadOption if a command is empty or holds a secret, or a name is used twice.
    """
    config = read_config(project)
    steps = [*_around(config), *_configured([*config.evaluate, *more], len(config.evaluate), project)]
    for text in then:
        command = _words(text, "--then")
        steps.append(Step(name=_free(_called(command), [step.name for step in steps]), command=command))
    if environment:
        steps = [msgspec.structs.replace(step, environment={**environment, **step.environment}) for step in steps]
    for step in steps:
        if mask_words(step.command) != step.command or mask_variables(step.environment) != step.environment:
            raise BadOption(
                f"the command of {step.name!r} holds a secret, and it is stored with the experiment",
                hint="set it as a variable in the environment that you start deviate in",
            )
    return steps


def _around(config: Config) -> list[Step]:
    named = (("setup", config.setup), ("cleanup", config.cleanup))
    return [
        Step(name=when, when=when, command=_words(entry.command, f"[{when}] command"))  # type: ignore[arg-type]
        for when, entry in named
        if entry is not None
    ]


def _configured(entries: Sequence[EvaluateEntry], top: int, project: Path) -> list[Step]:
    """Return the steps of evaluations: the first `top` stand at the top of the file, the others in an experiment."""
    steps: list[Step] = []
    for index, entry in enumerate(entries):
        taken = [*RESERVED, *(step.name for step in steps)]
        if entry.name in taken or "/" in (entry.name or "") or entry.repeat < 1 or (entry.threads or 1) < 1:
            raise bad_entry(
                f"evaluate[{index}]" if index < top else f"experiment.evaluate[{index - top}]",
                project,
                f"name = {entry.name!r}, repeat = {entry.repeat}, threads = {entry.threads}",
                hint="a name of its own without a slash, and numbers of at least 1",
            )
        steps.append(_step(entry, taken))
    return steps


def _step(entry: EvaluateEntry, taken: Sequence[str]) -> Step:
    command = _words(entry.command, f"[[evaluate]] command in {FILE_NAME}")
    return Step(
        name=entry.name or _free(_called(command), taken),
        command=command,
        repeat=entry.repeat,
        threads=entry.threads,
        device=entry.device,
        environment=entry.environment,
        python=entry.python,
    )


def _words(text: str, where: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadOption(f"{where} {text!r}: {problem}", hint="quote it as for a shell") from problem
    if not words:
        raise BadOption(f"{where} is empty", hint="type for example: python evaluate.py")
    return words


def _called(command: Sequence[str]) -> str:
    script = next((PurePosixPath(word).stem for word in command if word.endswith((".py", ".sh"))), "")
    return script or PurePosixPath(command[0]).name


def _free(name: str, taken: Iterable[str]) -> str:
    used = {*taken, *RESERVED}
    return next(
        each for each in (name, *(f"{name}-{number}" for number in range(2, len(used) + 3))) if each not in used
    )


def read_steps(steps: Iterable[Step], project: Path, folder: str, training: Iterable[str]) -> list[ReadStep]:
    """Read the source of evaluations; `folder` is where their commands are started, relative to the project.

    `training` are the files that the training reads. Set-up and clean-up are commands without metrics.
    """
    known = set(training)
    return [_read(step, project, folder, known) if step.is_evaluation else ReadStep(step=step) for step in steps]


def _read(step: Step, project: Path, folder: str, training: set[str]) -> ReadStep:
    cwd = project / folder
    try:
        target = find_target(step.command, cwd, None, project)
    except NoScript as unread:
        return ReadStep(step=msgspec.structs.replace(step, notes=[f"No source was read ({unread.message})."]))
    except (EntryNotFound, EntryNotPython) as unread:
        raise type(unread)(unread.message, hint=unread.hint.replace(NAME_ENTRY, NAME_SCRIPT)) from unread
    findings = join_findings([analyse_start(project, start, cwd) for start in target.starts])
    entries = [start.entry for start in target.starts]
    inside = [file for file in dict.fromkeys([*entries, *findings.files]) if not os.path.isabs(file)]
    files = {file: (project / file).read_bytes() for file in inside}
    read = msgspec.structs.replace(
        step,
        entry=findings.entry,
        metrics=[metric for metric in findings.metrics if metric.selected],
        main_loop=findings.main_loop,
        draws=findings.draws,
        sources={file: hashlib.sha256(text).hexdigest() for file, text in files.items()},
        own=[file for file in inside if file not in training],
        scripts=findings.scripts,
    )
    return ReadStep(step=read, files=files)


def take_steps(folder: ExperimentFolder, steps: Sequence[ReadStep]) -> Experiment:
    """Add to an experiment the evaluations that it has not; what is done around its runs is as `steps` say.

    The same command with another source is another evaluation, under another name.
    """
    experiment = folder.read_experiment()
    around = [each.step for each in steps if not each.step.is_evaluation]
    evaluations = {step.name: step for step in experiment.evaluations}
    for each in (each for each in steps if each.step.is_evaluation):
        known = next((step for step in evaluations.values() if _what(step) == _what(each.step)), None)
        if known is not None:
            if not _is_whole(folder, known):
                _store(folder, experiment, known, each.files)
            evaluations[known.name] = msgspec.structs.replace(known, repeat=max(known.repeat, each.step.repeat))
            continue
        step = msgspec.structs.replace(each.step, name=_free(each.step.name, evaluations))
        notes = _store(folder, experiment, step, each.files)
        evaluations[step.name] = msgspec.structs.replace(step, notes=[*step.notes, *notes])
    grown = msgspec.structs.replace(experiment, steps=[*around, *evaluations.values()])
    if grown != experiment:
        folder.write_experiment(grown)
    return grown


def _what(step: Step) -> tuple[object, ...]:
    """Return what makes two evaluations one."""
    return (step.command, step.sources, step.threads, step.device, step.environment, step.python)


def _store(folder: ExperimentFolder, experiment: Experiment, step: Step, files: dict[str, bytes]) -> list[str]:
    """Keep the files of an evaluation; say what of it is not recorded."""
    place = folder.step_sources(step.name)
    shutil.rmtree(place, ignore_errors=True)
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(text)
    return skipped_edits(instrument_experiment(place, experiment.of_step(step)))


def _is_whole(folder: ExperimentFolder, step: Step) -> bool:
    return not any(_differs(folder.step_sources(step.name) / name, digest) for name, digest in step.sources.items())


def _differs(path: Path, digest: str) -> bool:
    return not os.path.isfile(path) or hashlib.sha256(path.read_bytes()).hexdigest() != digest


def step_overlay(folder: ExperimentFolder, experiment: Experiment, step: Step) -> dict[str, FileCode]:
    """Return the files of a step by their path relative to the project.

    Raises WorkspaceUnusable if they are not as they were when the step was asked for.
    """
    place = folder.step_sources(step.name)
    if not _is_whole(folder, step):
        raise WorkspaceUnusable(
            f"files in {place} were changed, and runs are evaluated with them",
            hint="with these files in the project as they were, this puts them back: deviate run --name "
            f"{typed_word(folder.name)} --then {typed_word(shlex.join(step.command))}",
        )
    instrumented = instrument_experiment(place, experiment.of_step(step))
    plain = {name: FileCode(source=(place / name).read_bytes()) for name in step.sources}
    return {**plain, **file_codes(instrumented)}


def require_folders(folder: ExperimentFolder, steps: Iterable[ReadStep]) -> None:
    """Make sure that a run is there to be evaluated, before an evaluation is taken into the experiment.

    Raises BadOption if all runs that lack an evaluation lack their working folder too.
    """
    known = folder.read_experiment().evaluations
    runs = [run for run in folder.completed_runs() if (info := run.read_info()) is None or not info.same_as]
    for step in (each.step for each in steps if each.step.is_evaluation):
        name = next((other.name for other in known if _what(other) == _what(step)), None)
        passes = range(step.repeat)
        lacking = [run for run in runs if name is None or not all(run.step(name, each).is_done for each in passes)]
        if lacking and not any(os.path.isdir(run.work) for run in lacking):
            raise BadOption(
                f"the runs of {folder.name!r} have no working folder any more, in which {step.name!r} would be run",
                hint="it was deleted (discard_work, deviate prune), or not exported (--with-work); evaluate new "
                "runs by --then as they are trained",
            )


def require_as_trained(folder: ExperimentFolder, steps: Iterable[ReadStep]) -> None:
    """Make sure that evaluations share no file with the training that was edited since.

    Raises BadOption with the first such file.
    """
    taken = read_snapshot(folder).digests
    for each in steps:
        shared = set(each.step.sources) - set(each.step.own)
        for file in sorted(file for file in shared if taken.get(file) != each.step.sources[file]):
            raise BadOption(
                f"{file} was edited since the runs of {folder.name!r} were trained with it, and "
                f"{typed_line(each.step.command)} reads it too",
                hint="take the edit back, or evaluate all the same with --edited",
            )


#: Variables of the user's that decide which code runs.
DECISIVE = ("PYTHONPATH",)


#: What a user has to know of a command whose source was not read.
PYTHON_CONTROLLED = (
    "Draws of its Python processes are controlled; those of other programs vary as they do by themselves."
)
UNCONTROLLED = "Its runs are made as they are, and vary as they do by themselves; --vary controls Python processes."


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a request before anything is written."""

    target: Target
    #: What the first word of the command stands for.
    program: Path
    findings: Findings
    #: What a snapshot of the project would hold.
    snapshot: Snapshot
    #: See `Experiment`.
    options: list[str] = []
    variables: dict[str, str] = {}
    notes: list[str] = []
    #: False where it starts no Python that is known, so that runs are made as they are unless the user says otherwise.
    controlled: bool = True
    predictions: str = DEFAULT_PREDICTIONS
    weights: str = DEFAULT_WEIGHTS
    #: Exit statuses with which a training has ended well, beside 0.
    accept_status: tuple[int, ...] = ()
    #: What runs read from standard input.
    stdin: Path | None = None
    #: See `Experiment`.
    observed: list[ObservedWish] = []
    #: Commands beside the training.
    steps: list[ReadStep] = []

    @property
    def evaluated(self) -> list[str]:
        """Names of the metrics of its evaluations, as far as their source shows them."""
        return [each.step.prefix + metric.name for each in self.steps for metric in each.step.metrics]

    def experiment(
        self,
        name: str,
        planned: dict[str, int],
        created: datetime,
        seed: int,
        rule: Until | Decided | None = None,
    ) -> Experiment:
        """Return the experiment that runs of the command make, with the metrics that are selected."""
        target, findings = self.target, self.findings
        return Experiment(
            name=name,
            command=mask_words(target.command),
            folder=target.folder,
            entry=target.entry,
            metrics=[metric for metric in findings.metrics if metric.selected],
            main_loop=findings.main_loop,
            draws=findings.draws,
            comparisons=findings.comparisons,
            predictions=self.predictions,
            weights=self.weights,
            outside=file_digests(findings.outside),
            source=self.snapshot.source,
            seed=seed,
            planned=planned,
            created=created.isoformat(timespec="seconds"),
            until=rule if isinstance(rule, Until) else None,
            decided=rule if isinstance(rule, Decided) else None,
            observed=self.observed,
            options=self.options,
            notes=self.notes,
            variables=self.variables,
            steps=[each.step for each in self.steps if not each.step.is_evaluation],
            scripts=findings.scripts,
            stdin=content_digest(self.stdin) if self.stdin is not None else "",
        )


def with_steps(prepared: Prepared, request: Request) -> Prepared:
    """Return what is known of a request with the commands beside the training, read from their source.

    Raises BadInput if one of them is not as it must be.
    """
    target, training = prepared.target, prepared.findings.files
    asked = asked_steps(request.then, target.project, request.evaluate, request.environment)
    steps = read_steps(asked, target.project, target.folder, training)
    beside = sorted({file for each in steps for file in each.step.own})
    snapshot = msgspec.structs.replace(prepared.snapshot, beside=beside)
    return msgspec.structs.replace(prepared, steps=steps, snapshot=snapshot)


def prepare_request(request: Request, *, scripted: bool = True) -> Prepared:
    """Find what a request is about and refuse what cannot be run.

    Unless it must be `scripted`, the command may be any. Nothing is written.

    Raises BadInput if the command, the entry, the configuration or the workspace is not as it must be.
    """
    notes: list[str] = []
    controlled = True
    try:
        target = find_requested(request)
    except NoScript as unread:
        if scripted:
            raise
        target = unscripted_target(request.command, request.here or Path.cwd(), request.project)
        controlled = unread.starts_python
        notes = [
            f"No source was read ({unread.message}): metrics are read from the output. "
            f"{PYTHON_CONTROLLED if controlled else UNCONTROLLED}"
        ]
    cwd = target.project / target.folder
    find = named_program if request.container else functools.partial(find_program, environment=os.environ)
    program = find(target.command[0], cwd)
    findings = (
        extract_starts(target.project, target.starts, request.factor, cwd)
        if target.entry
        else Findings(entry="", main_loop=None, metrics=[])
    )
    Workspace(target.project).check_usable()
    rules = snapshot_rules(request, target.project)
    if target.entry:
        target = msgspec.structs.replace(target, entry=findings.entry)  # of several scripts, the one that trains
    sources = [*(start.entry for start in target.starts), *findings.files]
    snapshot = describe(target.project, rules, folder=target.folder, words=target.command, sources=sources)
    _require_in_runs(target.entry, findings, snapshot)
    return Prepared(
        target=target,
        program=program,
        findings=findings,
        snapshot=snapshot,
        options=option_words(request),
        variables={name: os.environ[name] for name in DECISIVE if os.environ.get(name)},
        notes=notes,
        controlled=controlled,
        predictions=request.predictions,
        weights=request.weights,
        accept_status=accepted_statuses(request, target.project),
        stdin=request.stdin,
        observed=read_config(target.project).observed,
    )


def accepted_statuses(request: Request, project: Path) -> tuple[int, ...]:
    """Return the exit statuses with which a training has ended well, beside 0."""
    return tuple(sorted({*request.accept_status, *read_config(project).accept_status} - {0}))


def _require_in_runs(entry: str, findings: Findings, snapshot: Snapshot) -> None:
    """Refuse to leave out what is instrumented: no run could start.

    Raises EntryNotFound with the file, and why it is left out.
    """
    recorded = {metric.file for metric in findings.metrics if metric.selected} | {draw.file for draw in findings.draws}
    needed = {entry, *recorded, *([findings.main_loop.file] if findings.main_loop else [])}
    for item in snapshot.left_out:
        missing = sorted(file for file in needed if file == item.path or file.startswith(f"{item.path}/"))
        if missing and not any(held.path == missing[0] for held in snapshot.items if held.kind != "left out"):
            raise EntryNotFound(
                f"{missing[0]} is {'the entry' if missing[0] == entry else 'imported and instrumented'}, and it would "
                f"be left out of the runs: {item.reason}",
                hint=f"leave exclude away, or type --set include={missing[0]}",
            )


def find_requested(request: Request) -> Target:
    """Find the project and an entry that can run; one in ``deviate.toml`` helps where the command shows none.

    Raises EntryNotFound, EntryNotPython or EntrySyntax if there is none, or it is written in a Python that Deviate
    cannot instrument.
    """
    target = _find(request)
    for start in target.starts:
        _refuse_old_syntax(target.project, start.entry)
    return target


def _find(request: Request) -> Target:
    here = (request.here or Path.cwd()).resolve()
    try:
        return find_target(request.command, here, request.entry, request.project)
    except EntryNotFound:
        entry = read_config(request.project or here).entry
        if request.entry or entry is None:
            raise
        return find_target(request.command, here, entry, request.project)


def _refuse_old_syntax(project: Path, entry: str) -> None:
    """Refuse an entry that is read only when masked (see `deviate.source.files`): it could not be run."""
    try:
        ast.parse((project / entry).read_bytes())
    except (RecursionError, MemoryError) as problem:
        raise EntrySyntax(
            f"{entry}: an expression in it is nested too deeply for Python {platform.python_version()}",
            hint="divide it into several lines with names of their own",
        ) from problem
    except SyntaxError as problem:
        text = (problem.text or "").strip()
        raise EntrySyntax(
            f"{entry}:{problem.lineno}: Python {platform.python_version()} does not parse this ({problem.msg}): {text}",
            hint="cuda(async=True) is cuda(non_blocking=True) since Python 3.7"
            if re.search(r"\basync\s*=", text)
            else "correct the line; if it is newer syntax, install Deviate with the Python that trains",
        ) from problem


def snapshot_rules(request: Request, project: Path) -> SnapshotRules:
    """Join the patterns of the command line with those of ``deviate.toml``."""
    configured = read_config(project).snapshot
    return SnapshotRules(
        include=(*configured.include, *request.include),
        exclude=(*configured.exclude, *request.exclude),
        link=(*configured.link, *request.link),
    )
