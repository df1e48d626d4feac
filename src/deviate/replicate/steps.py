"""Make a command beside the training ready to start: in the folder of its run, with records of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from deviate.experiment import Run, Step
from deviate.factors import Variant, derive_seed, find_variant, run_seeds
from deviate.instrument.edits import FileCode
from deviate.replicate.environment.variables import VARIABLES
from deviate.replicate.executors.executor import Slot
from deviate.replicate.prepare import Ready, Source, discard, given_slot, make_ready, program_of
from deviate.replicate.snapshot.working_copy import bring_files, overlay_path
from deviate.replicate.workspace.folders import RunFolder

#: Why a step cannot be run in the folder of a run that was made before.
NO_COPY = "the folder of its run was deleted (--discard-work, deviate prune), or not imported"

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

    Raises
    ------
    CommandNotFound
        If its program is not there.
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
