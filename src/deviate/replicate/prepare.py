"""Make a run ready to start: its folder, its copy of the project, its command and what the runtime is told."""

from __future__ import annotations

import datetime
import itertools
import os
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from deviate.experiment import SCHEMA, Experiment, Metric, Run
from deviate.factors import IMPLEMENTATION, Variant, parse_variant, run_seed
from deviate.replicate import command
from deviate.replicate.determinism import deterministic
from deviate.replicate.executors import Launch, Slot
from deviate.replicate.files import write_json
from deviate.replicate.snapshot import Snapshot
from deviate.replicate.threads import thread_count, thread_variables
from deviate.replicate.workcopy import make_copy, redirected_exceptions
from deviate.replicate.workspace import ExperimentFolder, RunFolder, RunInfo

#: Folders that are being removed; never taken for a run.
_REMOVED = ".removed-"


class RuntimeMetric(msgspec.Struct, frozen=True, kw_only=True):
    """What the runtime needs to know of a metric; its id is its position."""

    #: Of what a framework reports, the name under which it does (``fit:loss``), whatever the user calls it.
    name: str
    how: str
    reads: str
    label: str


class RuntimeOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What the runtime in the training process has to do: ``runtime.json``."""

    schema: int = SCHEMA
    #: Folder it appends its files to.
    records: str
    #: Imports from `original` are redirected to `overlay`, except below `kept`.
    original: str
    overlay: str
    kept: list[str]
    #: None: the program's own seeds are left alone.
    seed: int | None
    #: True: every determinism switch is set.
    hold_impl: bool
    #: For libraries that are told by a call; None: not told.
    threads: int | None
    metrics: list[RuntimeMetric]


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
    #: Instrumented files by their path relative to the project.
    overlay: Mapping[str, bytes]
    #: The user's.
    environment: Mapping[str, str]
    #: What the first word of the command stands for.
    program: Path
    executor: str
    jobs: int

    @property
    def metric_names(self) -> list[str]:
        """Names of the metrics, by id."""
        return [metric.name for metric in self.experiment.metrics]


def prepare_run(source: Source, run: Run, offered: Slot) -> Ready:
    """Make the folder of a run, in place of what an interrupted tool may have left there.

    Parameters
    ----------
    source : Source
        What the run is made from.
    run : Run
        Which run.
    offered : Slot
        Its room. Under ``as-is`` without other runs beside it nothing is held or told.
    """
    variant = parse_variant(run.variant)
    slot = offered if variant.controlled or source.jobs > 1 else Slot(index=offered.index)
    folder = source.folder.run(run)
    discard(folder.path)
    folder.path.mkdir(parents=True)
    copy = make_copy(source.snapshot, source.folder.snapshot, folder, source.overlay)
    threads = thread_count(slot.threads, source.environment)
    order = _order(source, variant, folder, copy, threads)
    write_json(folder.runtime_file, order)
    launch = _launch(source, folder, copy, slot, order)
    info = _info(source, run, launch, order)
    folder.write_info(info)
    return Ready(folder, launch, info, copy)


def _order(source: Source, variant: Variant, folder: RunFolder, copy: Path, threads: int | None) -> RuntimeOrder:
    return RuntimeOrder(
        records=str(folder.path),
        original=source.snapshot.project,
        overlay=str(copy),
        kept=redirected_exceptions(source.snapshot, source.overlay),
        seed=run_seed(variant, source.experiment.seed, folder.run.index),
        hold_impl=variant.controlled and IMPLEMENTATION not in variant.varying,
        threads=threads,
        metrics=[_runtime_metric(metric) for metric in source.experiment.metrics],
    )


def _runtime_metric(metric: Metric) -> RuntimeMetric:
    capture = metric.capture
    name = metric.variable if capture.how == "framework" else metric.name
    return RuntimeMetric(name=name, how=capture.how, reads=capture.reads, label=capture.label)


def _launch(source: Source, folder: RunFolder, copy: Path, slot: Slot, order: RuntimeOrder) -> Launch:
    moved = command.Moved(
        project=command.spellings(Path(order.original), source.experiment.folder, source.environment),
        copy=str(copy),
        kept=tuple(item.path for item in source.snapshot.environments),
    )
    cwd = Path(os.path.normpath(copy / source.experiment.folder))
    return Launch(
        argv=command.run_words(source.experiment.command, source.program, moved),
        environment=_environment(source, folder, slot, order, moved, cwd),
        cwd=cwd,
        stdout=folder.stdout_file,
        stderr=folder.stderr_file,
        slot=slot,
        runtime_file=folder.runtime_file,
    )


def _environment(
    source: Source, folder: RunFolder, slot: Slot, order: RuntimeOrder, moved: command.Moved, cwd: Path
) -> dict[str, str]:
    user = source.environment
    stood_in = Path(order.original) / source.experiment.folder
    environment = {
        **user,
        **thread_variables(order.threads, user),
        **(deterministic(user) if order.hold_impl else {}),
        command.RUNTIME_VARIABLE: str(folder.runtime_file),
        "PYTHONPATH": command.python_path(user.get("PYTHONPATH"), stood_in, moved),
        "PWD": str(cwd),
    }
    if order.seed is not None:
        # Read before the interpreter starts: it orders sets and dictionaries of strings, class indices among them.
        environment["PYTHONHASHSEED"] = str(order.seed)
    if slot.gpus is not None and "CUDA_VISIBLE_DEVICES" not in user:
        environment["CUDA_VISIBLE_DEVICES"] = slot.gpus
    return environment


def _info(source: Source, run: Run, launch: Launch, order: RuntimeOrder) -> RunInfo:
    return RunInfo(
        variant=run.variant,
        index=run.index,
        seed=order.seed,
        hold_impl=order.hold_impl,
        argv=launch.argv,
        cwd=str(launch.cwd),
        environment=command.changed(source.environment, launch.environment),
        executor=source.executor,
        host=socket.gethostname(),
        slot=launch.slot.index,
        jobs=source.jobs,
        cores=list(launch.slot.cores) if launch.slot.cores is not None else None,
        threads=order.threads,
        gpus=launch.environment.get("CUDA_VISIBLE_DEVICES"),
        started=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    )


def discard(path: Path) -> None:
    """Remove a run's folder; at no moment does half of it look like a run."""
    if not path.exists():
        return
    for number in itertools.count():
        aside = path.with_name(f"{_REMOVED}{path.name}-{number}")
        if not aside.exists():
            break
    path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def clear_removed(runs_folder: Path) -> None:
    """Go on removing what a killed tool was removing."""
    with suppress(FileNotFoundError):
        for path in runs_folder.iterdir():
            if path.name.startswith(_REMOVED):
                shutil.rmtree(path, ignore_errors=True)
