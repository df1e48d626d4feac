"""Make a run ready to start: its folder, its copy of the project, its command and the runtime's configuration."""

from __future__ import annotations

import datetime
import itertools
import os
import platform
import shutil
import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from deviate.core.errors import WorkspaceUnusable
from deviate.core.experiment import SCHEMA, Draw, Experiment, Metric, Run, Step
from deviate.core.factors import (
    FACTORS,
    IMPLEMENTATION,
    Variant,
    bit_seed,
    derive_seed,
    find_variant,
    parse_variant,
    run_seeds,
)
from deviate.core.frameworks import VARIABLES, deterministic, numerical_variables, thread_count, thread_variables
from deviate.core.secrets import mask_text, mask_variables, mask_words
from deviate.observe.surroundings import inherited
from deviate.runs.containers import Container, Inside, container_command, find_container, without_doubles
from deviate.runs.environment import (
    RUNTIME_VARIABLE,
    Moved,
    Platform,
    changed,
    cpu_flags,
    find_program,
    named_program,
    platform_variables,
    platforms,
    python_path,
    run_words,
    spellings,
)
from deviate.runs.executors.executor import Launch, Slot
from deviate.runs.hardware import BUS_ORDER, ORDER_VARIABLE, given_gpus, hardware, installed_gpus
from deviate.runs.kept import LIMIT, is_file, is_pattern
from deviate.runs.request import ReplicateOptions
from deviate.runs.snapshot.manifest import Snapshot, kept_snapshot, read_snapshot, require_whole
from deviate.runs.snapshot.working_copy import (
    GIVEN,
    GivenCode,
    bring_files,
    give_code,
    make_copy,
    overlay_path,
    redirected_exceptions,
    shared_paths,
)
from deviate.source.edits import FileCode
from deviate.store.files import content_digest, write_json
from deviate.store.folders import ExperimentFolder, RunFolder
from deviate.store.run_files import ContainerInfo, RunInfo

#: Folders that are being removed; never taken for a run.
_REMOVED = ".removed-"


class RuntimeMetric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the runtime needs to know of a metric; its id is its position."""

    #: Of what a framework reports, the name under which it does (``fit:loss``), whatever the user calls it.
    name: str
    how: str
    reads: str
    label: str
    #: Of what the source yields, the name under which a framework reports it once more.
    key: str = ""


class RuntimeDraw(msgspec.Struct, frozen=True, kw_only=True):
    """A draw in the project's own files that is wrapped; its id is its position."""

    #: Empty: the factor of the boundary that the program is in.
    factor: str
    file: str
    line: int
    call: str


class RuntimeOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What the runtime in the training process has to do: ``runtime.json``."""

    schema: int = SCHEMA
    #: Folder it appends its files to.
    records: str
    #: Imports from `original` are redirected to `overlay`, except below `kept`.
    original: str
    overlay: str
    kept: list[str]
    #: By file, relative to `overlay` or by its real path, what Python is given in its place.
    instrumented: dict[str, GivenCode]
    #: All files outside the project that the analysis read, by their real paths.
    read: list[str]
    #: ``streams``: each factor draws from a stream of its own. ``observe``: draws are looked at and left alone. None:
    #: nothing is done about them.
    control: Literal["streams", "observe"] | None
    #: By factor; None unless ``streams``.
    seeds: dict[str, int] | None
    #: Factors that vary between the runs of the variant.
    varying: list[str]
    #: True: every determinism switch is set.
    hold_impl: bool
    #: True: an operation without a deterministic form raises; False: it warns.
    strict: bool
    #: Chooses the weight that is moved by one unit in the last place before the first update; None: none is.
    bit: int | None
    #: For libraries that take it by a call; None: not set.
    threads: int | None
    metrics: list[RuntimeMetric]
    draws: list[RuntimeDraw]
    #: Factor whose draws are written by the line that made them, which is slow; None: none.
    explain: str | None = None
    #: What is kept of predictions: ``none``, ``labels`` or ``scores``.
    predictions: str = "none"
    #: What is kept of weights: ``none``, ``digest``, ``small``, ``final`` or ``every:K``, and at most how many bytes.
    weights: str = "digest"
    weights_limit: int = LIMIT
    #: For each comparison of the source, whether its left side is the target.
    comparisons: list[bool] = []
    #: True: it is noted from which lines of the program text is printed.
    reports: bool = False


@dataclass(frozen=True)
class Ready:
    """A run that only has to be started."""

    folder: RunFolder
    launch: Launch
    info: RunInfo
    #: The run's copy of the project.
    copy: Path


@dataclass(frozen=True)
class Source:
    """What all runs of an experiment are made from."""

    experiment: Experiment
    folder: ExperimentFolder
    snapshot: Snapshot
    #: Files in whose place Python is given others, by their path relative to the project; absolute where they lie
    #: outside it.
    overlay: Mapping[str, FileCode]
    #: The user's.
    environment: Mapping[str, str]
    #: What the first word of the command stands for.
    program: Path
    executor: str
    jobs: int
    strict: bool = False
    #: Seconds a run may take; None: as long as it likes.
    timeout: float | None = None
    #: Seconds without a record or output, and bytes of memory; None: no limit.
    stall: float | None = None
    memory: float | None = None
    #: Exit statuses with which a command has ended well.
    accepts: tuple[int, ...] = (0,)
    #: The project's commit, see `describe_commit`.
    git: str | None = None
    #: Factor whose draws runs that are only looked at tell line by line; None: none.
    explain: str | None = None
    #: Programs are those of a container, and which one it is on this machine; None: runs are not made here.
    contained: bool = False
    container: Container | None = None
    #: Note from which lines text is printed, though the source shows a main loop.
    reports: bool = False
    #: Stands for `folder` where runs are made on another disk, see `deviate.runs.scratch`, and where snapshots are
    #: kept on that.
    mirror: ExperimentFolder | None = None
    disk: Path | None = None

    def place(self, run: Run) -> RunFolder:
        """Return the folder in which a run is made."""
        return (self.mirror or self.folder).run(run)

    def taken(self) -> AbstractContextManager[Path]:
        """Return the folder of the snapshot that a run's copy is made from, as long as that takes."""
        if self.disk is None:
            return nullcontext(self.folder.snapshot)
        return kept_snapshot(self.disk, self.snapshot, self.folder)

    @property
    def stdin(self) -> Path | None:
        """What commands read from standard input; None: nothing."""
        return self.folder.stdin_file if self.experiment.stdin else None

    @property
    def inside(self) -> dict[str, FileCode]:
        """The files of the project itself."""
        return {name: code for name, code in self.overlay.items() if not os.path.isabs(name)}

    @property
    def metric_names(self) -> list[str]:
        """Names of the metrics, by id."""
        return [metric.name for metric in self.experiment.metrics]


def make_source(
    experiment: Experiment,
    folder: ExperimentFolder,
    overlay: Mapping[str, FileCode],
    environment: Mapping[str, str],
    options: ReplicateOptions,
    executor: str,
    *,
    jobs: int,
    git: str | None,
    here: bool = True,
) -> Source:
    """Return what the runs of a stored experiment are made from in this `environment`.

    Unless they are made `here`, containers are looked for where they are.

    Raises CommandNotFound or NoContainer if the command's program, or what it is to be started in, is not there. Raises
    WorkspaceUnusable if what runs read from standard input was damaged.
    """
    _require_input(experiment, folder)
    stood_in = folder.project / experiment.folder
    container = find_container(options.container, environment, stood_in) if options.container and here else None
    contained = options.container is not None
    return Source(
        experiment=experiment,
        folder=folder,
        snapshot=read_snapshot(folder),
        overlay=overlay,
        environment=environment,
        program=program_of(experiment.command[0], stood_in, environment, contained=contained),
        contained=contained,
        container=container,
        executor=executor,
        jobs=jobs,
        strict=options.strict,
        timeout=options.timeout,
        stall=options.stall,
        memory=None if options.memory is None else options.memory * 2**30,
        accepts=(0, *options.accept_status),
        git=git,
    )


def _require_input(experiment: Experiment, folder: ExperimentFolder) -> None:
    path = folder.stdin_file
    if experiment.stdin and not (path.is_file() and content_digest(path) == experiment.stdin):
        raise WorkspaceUnusable(
            f"{path}, which the runs of {folder.name!r} read from standard input, is missing or was changed",
            hint="put it back, or make an experiment of its own: --name NAME",
        )


def program_of(word: str, folder: Path, environment: Mapping[str, str], *, contained: bool) -> Path:
    """Return what the first word of a command stands for, typed in `folder`; in a container, what it says."""
    return named_program(word, folder) if contained else find_program(word, folder, environment)


def prepare_run(source: Source, run: Run, offered: Slot) -> Ready:
    """Make the folder of a run, in place of what an interrupted tool may have left there.

    `offered` is its room. Under ``as-is`` without other runs beside it nothing is held or set but its GPUs.
    """
    variant = find_variant(run.variant) or parse_variant(run.variant)
    folder = source.place(run)
    empty(folder)
    with source.taken() as taken:
        copy = make_copy(source.snapshot, taken, folder)
    # Between the look at the snapshot and this copy hours may lie.
    require_whole(source.snapshot, source.folder, copy)
    seeds = run_seeds(variant, source.experiment.seed, run.index)
    return make_ready(source, variant, folder, copy, given_slot(source, variant, offered), seeds=seeds)


def given_slot(source: Source, variant: Variant, offered: Slot) -> Slot:
    """Return the room that a command under `variant` is held to."""
    if variant.controlled or source.jobs > 1:
        return offered
    return Slot(index=offered.index, gpus=offered.gpus, gpus_by_bus=offered.gpus_by_bus)


def make_ready(
    source: Source, variant: Variant, folder: RunFolder, copy: Path, slot: Slot, *, seeds: dict[str, int] | None
) -> Ready:
    """Write what the runtime has to do into `folder`; `copy` is the run's copy of the project."""
    threads = thread_count(slot.threads, source.environment)
    machine = _platform(variant, folder.run.index, threads)
    order = _order(source, variant, folder, copy, machine.threads if machine else threads, seeds)
    write_json(folder.runtime_file, order)
    launch = _launch(source, folder, copy, slot, order, machine)
    info = _info(source, folder.run, launch, order, machine)
    folder.write_info(info)
    return Ready(folder, launch, info, copy)


def _platform(variant: Variant, index: int, threads: int | None) -> Platform | None:
    """Return the machine that a run is to believe to be on; where there are more runs than machines they come again."""
    if variant.disturbed != "platform":
        return None
    machines = platforms(cpu_flags(), threads)
    return machines[index % len(machines)]


def _order(
    source: Source,
    variant: Variant,
    folder: RunFolder,
    copy: Path,
    threads: int | None,
    seeds: dict[str, int] | None,
) -> RuntimeOrder:
    return RuntimeOrder(
        records=str(folder.path),
        original=source.snapshot.project,
        overlay=str(copy),
        kept=redirected_exceptions(source.snapshot, source.inside),
        instrumented=give_code(folder, copy, source.overlay),
        read=sorted(os.path.realpath(file) for file in source.experiment.outside),
        control="streams" if variant.controlled else "observe" if variant.observed else None,
        seeds=seeds,
        varying=[factor for factor in FACTORS if factor in variant.varying],
        hold_impl=IMPLEMENTATION not in variant.varying,
        strict=source.strict,
        bit=bit_seed(variant, source.experiment.seed, folder.run.index),
        threads=threads,
        metrics=[runtime_metric(metric) for metric in source.experiment.metrics],
        draws=[_runtime_draw(draw) for draw in source.experiment.draws],
        explain=source.explain if variant.observed else None,
        predictions="none" if is_file(source.experiment.predictions) else source.experiment.predictions,
        weights="digest" if is_pattern(source.experiment.weights) else source.experiment.weights,
        comparisons=[comparison.target_first for comparison in source.experiment.comparisons],
        reports=source.reports or source.experiment.main_loop is None,
    )


def _runtime_draw(draw: Draw) -> RuntimeDraw:
    factor = draw.factor if draw.by_hand or draw.factor != "other" else ""
    return RuntimeDraw(factor=factor, file=draw.file, line=draw.line, call=draw.call)


def runtime_metric(metric: Metric) -> RuntimeMetric:
    """Return what the runtime needs to know of `metric`."""
    capture = metric.capture
    if capture.how == "framework":
        return RuntimeMetric(name=capture.key or metric.variable, how=capture.how, reads="", label=capture.label)
    key = capture.key if metric.selected else ""
    return RuntimeMetric(name=metric.name, how=capture.how, reads=capture.reads, label=capture.label, key=key)


def _launch(
    source: Source, folder: RunFolder, copy: Path, slot: Slot, order: RuntimeOrder, machine: Platform | None
) -> Launch:
    moved = Moved(
        project=spellings(Path(order.original), source.experiment.folder, source.environment),
        copy=str(copy),
        kept=tuple(item.path for item in source.snapshot.environments),
    )
    cwd = Path(os.path.normpath(copy / source.experiment.folder))
    environment = _environment(source, folder, slot, order, moved, cwd)
    environment |= platform_variables(machine, environment) if machine else {}
    argv = run_words(source.experiment.command, source.program, moved)
    if source.container is not None:
        argv, environment = container_command(
            source.container, _inside(source, folder, Inside(argv, environment, cwd, [], slot.cores, has_gpus=False))
        )
    return Launch(
        argv=argv,
        environment=environment,
        cwd=cwd,
        stdout=folder.stdout_file,
        stderr=folder.stderr_file,
        slot=slot,
        runtime_file=folder.runtime_file,
        ended_file=folder.ended_file,
        timeout=source.timeout,
        stall=source.stall,
        memory=source.memory,
        accepts=source.accepts,
        stdin=source.stdin,
        counted=source.container is None or source.container.engine == "apptainer",
    )


def _inside(source: Source, folder: RunFolder, command: Inside) -> Inside:
    """Return a command with what it reads and writes of this machine."""
    run = source.place(folder.run)
    sees_gpus = bool(installed_gpus()) and command.environment.get("CUDA_VISIBLE_DEVICES") != ""
    mounts = [str(run.path), *shared_paths(source.snapshot)]
    return command._replace(mounts=mounts, has_gpus=sees_gpus, reads=source.stdin is not None)


def _environment(
    source: Source, folder: RunFolder, slot: Slot, order: RuntimeOrder, moved: Moved, cwd: Path
) -> dict[str, str]:
    user = source.environment
    stood_in = Path(order.original) / source.experiment.folder
    environment = {
        **user,
        **thread_variables(order.threads, user),
        **(deterministic(user) if order.hold_impl else {}),
        RUNTIME_VARIABLE: str(folder.runtime_file),
        "PYTHONPATH": python_path(user.get("PYTHONPATH"), stood_in, moved),
        "PWD": str(cwd),
    }
    if order.seeds is not None:
        # Read before the interpreter starts: it orders sets and dictionaries of strings, class indices among them.
        environment["PYTHONHASHSEED"] = str(order.seeds["other"])
    if slot.gpus is not None:
        environment["CUDA_VISIBLE_DEVICES"] = slot.gpus
        if slot.gpus_by_bus:
            environment.setdefault(ORDER_VARIABLE, BUS_ORDER)
    return environment


def _info(source: Source, run: Run, launch: Launch, order: RuntimeOrder, machine: Platform | None) -> RunInfo:
    return RunInfo(
        variant=run.variant,
        index=run.index,
        seeds=order.seeds,
        hold_impl=order.hold_impl,
        strict=order.strict,
        platform=machine.name if machine else None,
        argv=mask_words(launch.argv),
        cwd=str(launch.cwd),
        environment=mask_variables(changed(source.environment, without_doubles(launch.environment))),
        executor=source.executor,
        host=socket.gethostname(),
        slot=launch.slot.index,
        jobs=source.jobs,
        cores=list(launch.slot.cores) if launch.slot.cores is not None else None,
        threads=order.threads,
        gpus=launch.environment.get("CUDA_VISIBLE_DEVICES"),
        variables={name: mask_text(value) for name, value in numerical_variables(launch.environment).items()},
        git=source.git,
        installed_gpus=list(installed_gpus()),
        devices=[f"{gpu.name} {gpu.uuid}" for gpu in given_gpus(launch.environment)] or msgspec.UNSET,
        hardware=hardware(launch.environment),
        container=_container_info(source.container) if source.container else msgspec.UNSET,
        inherited=inherited(source.environment),
        system=platform.platform(),
        started=datetime.datetime.now().astimezone().isoformat(timespec="milliseconds"),
    )


def _container_info(container: Container) -> ContainerInfo:
    return ContainerInfo(engine=container.engine, image=container.image, identity=container.identity)


def discard(path: Path) -> None:
    """Remove a run's folder; at no moment does half of it look like a run."""
    if not path.exists():
        return
    aside = _aside(path)
    path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def _aside(path: Path) -> Path:
    paths = (path.with_name(f"{_REMOVED}{path.name}-{number}") for number in itertools.count())
    return next(aside for aside in paths if not aside.exists())


def empty(folder: RunFolder) -> None:
    """Make the folder of a run that is to be made; of what is in it only the lease of its worker stays."""
    folder.path.mkdir(parents=True, exist_ok=True)
    # Without these two it is no run that has ended, and none that goes on.
    first = [path for path in (folder.outcome_file, folder.info_file) if path.exists()]
    found = [*first, *(path for path in folder.path.iterdir() if path not in (folder.worker, *first))]
    if not found:
        return
    aside = _aside(folder.path)
    aside.mkdir()
    for path in found:
        path.rename(aside / path.name)
    shutil.rmtree(aside, ignore_errors=True)


def discard_work(folder: RunFolder) -> None:
    """Remove what a run saved, and what it was made with; its records and logs stay."""
    for path in (folder.work, folder.path / GIVEN):
        shutil.rmtree(path, ignore_errors=True)


def clear_removed(runs_folder: Path) -> None:
    """Go on removing what a killed tool was removing."""
    with suppress(FileNotFoundError):
        for path in runs_folder.iterdir():
            if path.name.startswith(_REMOVED):
                shutil.rmtree(path, ignore_errors=True)


# Make a command beside the training ready to start: in the folder of its run, with records of its own.

#: Why a step cannot be run in the folder of a run that was made before.
NO_COPY = "the folder of its run was deleted (discard_work, deviate prune), or not imported"

#: What ``device = "cpu"`` makes of CUDA_VISIBLE_DEVICES: no GPU is seen.
NO_GPU = ""


@dataclass(frozen=True)
class StepSource:
    """What a step is made from."""

    step: Step
    #: That of the runs, with the command, the metrics and the files of the step.
    source: Source


def step_source(source: Source, step: Step, overlay: Mapping[str, FileCode]) -> StepSource:
    """Return what a step is made from; `overlay` are its files by their path relative to the project.

    Raises CommandNotFound if its program is not there.
    """
    environment = {**source.environment, **_device(step), **_threads(step), **step.environment}
    stood_in = source.folder.project / source.experiment.folder
    return StepSource(
        step,
        replace(
            source,
            experiment=source.experiment.of_step(step),
            overlay=overlay,
            environment=environment,
            program=program_of(step.python or step.command[0], stood_in, environment, contained=source.contained),
            explain=None,
            accepts=(0,),
        ),
    )


def _device(step: Step) -> dict[str, str]:
    return {} if step.device is None else {"CUDA_VISIBLE_DEVICES": NO_GPU if step.device == "cpu" else step.device}


def _threads(step: Step) -> dict[str, str]:
    return {} if step.threads is None else dict.fromkeys(VARIABLES, str(step.threads))


def has_copy(source: Source, run: Run) -> bool:
    """Tell whether the run's copy of the project is still there."""
    return overlay_path(source.place(run), source.snapshot).is_dir()


def new_folder(source: Source, step: Step, run: Run, repeat: int) -> RunFolder:
    """Make the folder of a step, in place of what may be there."""
    folder = source.place(run).step(step.name, repeat)
    discard(folder.path)
    folder.path.mkdir(parents=True)
    return folder


def prepare_step(steps: StepSource, run: Run, repeat: int, offered: Slot) -> Ready:
    """Make the folder of a step, and bring its files into the run's copy of the project.

    What varies between runs varies between repeats too: each draws from seeds of its own.
    """
    source, step = steps.source, steps.step
    folder, copy = new_folder(source, step, run, repeat), overlay_path(source.place(run), source.snapshot)
    bring_files(copy, source.inside)
    variant = find_variant(run.variant)
    assert variant is not None  # the run was made, or is being made, under it
    slot = given_slot(source, variant, offered)
    if step.device is not None:
        slot = msgspec.structs.replace(slot, gpus=None)
    if step.threads is not None:
        slot = msgspec.structs.replace(slot, threads=step.threads)
    return make_ready(source, variant, folder, copy, slot, seeds=_seeds(variant, source.experiment.seed, run, repeat))


def _seeds(variant: Variant, seed: int, run: Run, repeat: int) -> dict[str, int] | None:
    seeds = run_seeds(variant, seed, run.index)
    if seeds is None or not repeat:
        return seeds
    anew = {factor: derive_seed(seed, factor, run.index, "repeat", repeat) for factor in variant.drawn}
    return {**seeds, **anew}
