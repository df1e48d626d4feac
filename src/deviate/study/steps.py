"""Commands beside the training: as they are asked for, read from their source, and taken into an experiment."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from deviate.analyse.entry import NAME_ENTRY
from deviate.analyse.joined import join_findings
from deviate.errors import BadOption, EntryNotFound, EntryNotPython, NoScript, WorkspaceUnusable
from deviate.experiment import Experiment, Step
from deviate.instrument.edits import FileCode
from deviate.instrument.project import file_codes, instrument_experiment, skipped_edits
from deviate.project.config import FILE_NAME, Config, EvaluateEntry, bad_entry, read_config
from deviate.project.selection import analyse_start
from deviate.project.target import find_target
from deviate.replicate.environment.masking import mask_variables, mask_words
from deviate.replicate.snapshot.manifest import read_snapshot
from deviate.replicate.workspace.folders import ExperimentFolder
from deviate.shell_words import typed_line, typed_word

#: ``--entry`` is of the training alone: the command of an evaluation must show its script.
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

    Raises
    ------
    BadConfig, BadOption
        If a command is empty or holds a secret, or a name is used twice.
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

    Raises
    ------
    WorkspaceUnusable
        If they are not as they were when the step was asked for.
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

    Raises
    ------
    BadOption
        If all runs that lack an evaluation lack their working folder too.
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
                hint="it was deleted (--discard-work, deviate prune), or not exported (--with-work); evaluate new "
                "runs by --then as they are trained",
            )


def require_as_trained(folder: ExperimentFolder, steps: Iterable[ReadStep]) -> None:
    """Make sure that evaluations share no file with the training that was edited since.

    Raises
    ------
    BadOption
        With the first such file.
    """
    taken = read_snapshot(folder).digests
    for each in steps:
        shared = set(each.step.sources) - set(each.step.own)
        for file in sorted(file for file in shared if taken.get(file) != each.step.sources[file]):
            raise BadOption(
                f"{file} was edited since the runs of {folder.name!r} were trained with it, and "
                f"{typed_line(each.step.command)} reads it too",
                hint="take the edit back, or evaluate all the same with --anyway",
            )
