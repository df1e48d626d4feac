"""Whether runs that share a GPU report what a run alone does: tried before they are made (the setting ``per_gpu``)."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from deviate.core.experiment import Experiment, Run
from deviate.observe.fingerprints import WEIGHTS, Fingerprint, agree
from deviate.observe.records import read_run
from deviate.runs.events import Event, Packing, RunEnded, RunProgress
from deviate.runs.executors.executor import Executor
from deviate.runs.request import ReplicateOptions
from deviate.runs.work import end_leftover
from deviate.store.files import write_json
from deviate.store.folders import ExperimentFolder
from deviate.store.run_files import Completed, Unfinished

if TYPE_CHECKING:
    from deviate.observe.identity import Series

CONTROL = "control"

#: Iterations of the main loop that every run of the trial begins, and the seconds it takes at most.
ITERATIONS = 3
LIMIT = 60.0


@dataclass(frozen=True)
class Made:
    """What a run left that others are compared by."""

    name: str
    series: Mapping[str, Series]
    weights: Fingerprint | None
    has_completed: bool
    #: Why it failed; empty where it did not.
    failure: str


#: Makes the runs of an experiment below a folder with an executor.
Make = Callable[[Experiment, ExperimentFolder, Executor], Generator[Event, None, None]]


def trial_options(options: ReplicateOptions) -> ReplicateOptions:
    """Return the options of runs that are tried out."""
    return msgspec.structs.replace(options, probe="nothing", retry_failed=False, timeout=None, warnings=())


def try_packing(
    experiment: Experiment, folder: ExperimentFolder, executor: Executor, per_gpu: int, make: Make
) -> Packing:
    """Make a run alone, and then as many as share the GPUs later, all under ``control``; compare what they record.

    `executor` has the slots of the runs, so that a run alone has the cores and the threads of one that is not. Every
    run is ended when it has begun `ITERATIONS` iterations, and all of them after `LIMIT` seconds. Nothing stays on
    disk.
    """
    place = folder.packing
    try:
        _open(place, folder)
        alone = _make(experiment, place, executor, make, 1)
        _clear(place, executor)
        _open(place, folder)
        packed = _make(experiment, place, executor, make, executor.jobs)
    finally:
        _clear(place, executor)
    return _judged(alone[0], packed, Packing(per_gpu=per_gpu, jobs=executor.jobs))


def clear_trial(folder: ExperimentFolder, executor: Executor) -> None:
    """Remove what a killed tool left of a trial, and end its runs."""
    _clear(folder.packing, executor)


def _clear(place: ExperimentFolder, executor: Executor) -> None:
    for run in place.runs():
        end_leftover(run, executor)
    shutil.rmtree(place.path, ignore_errors=True)
    with suppress(OSError):
        place.path.parent.rmdir()  # unless another experiment is tried out


def _open(place: ExperimentFolder, folder: ExperimentFolder) -> None:
    """Let runs of a trial start from the experiment's own copy of the project."""
    place.path.mkdir(parents=True)
    place.snapshot.symlink_to(folder.snapshot)
    shutil.copyfile(folder.snapshot_file, place.snapshot_file)
    if folder.stdin_file.is_file():
        place.stdin_file.symlink_to(folder.stdin_file)


def _make(
    experiment: Experiment,
    place: ExperimentFolder,
    executor: Executor,
    make: Make,
    runs: int,
) -> list[Made]:
    asked = msgspec.structs.replace(
        experiment,
        planned={CONTROL: runs},
        predictions="none",
        weights="digest",
        steps=[step for step in experiment.steps if not step.is_evaluation],
    )
    write_json(place.experiment_file, asked)
    began, enough = time.monotonic(), set[Run]()
    with closing(make(asked, place, executor)) as events:
        for event in events:
            if isinstance(event, RunEnded) or (isinstance(event, RunProgress) and (event.iteration or 0) >= ITERATIONS):
                enough.add(event.run)
            if len(enough) == runs or time.monotonic() - began >= LIMIT:
                break
    return [made_of(experiment, place, Run(variant=CONTROL, index=index)) for index in range(runs)]


def made_of(experiment: Experiment, place: ExperimentFolder, run: Run) -> Made:
    """Return what a run of an experiment, which lies in `place`, left."""
    from deviate.observe.observation import repeatable_series

    folder = place.run(run)
    outcome = folder.read_outcome()
    failed = isinstance(outcome, Unfinished) and outcome.done
    return Made(
        name=run.folder,
        series=repeatable_series(folder, experiment.metrics),
        weights=read_run(folder).fingerprints.get(WEIGHTS),
        has_completed=isinstance(outcome, Completed),
        failure=outcome.reason if failed and isinstance(outcome, Unfinished) else "",
    )


def _judged(alone: Made, packed: Sequence[Made], packing: Packing) -> Packing:
    compared = [compare_made(alone, each) for each in packed]
    reason = next((reason for _, reason in compared if reason), "")
    return msgspec.structs.replace(packing, values=min(count for count, _ in compared), reason=reason)


def compare_made(alone: Made, packed: Made) -> tuple[int, str]:
    """Return how many values were compared, and why nothing or too little is equal; empty where all are."""
    from deviate.observe.identity import first_difference

    for made, how in ((alone, "a run alone"), (packed, "a run beside others")):
        if made.failure:
            return 0, f"{how} failed: {made.failure}"
    ended = alone.has_completed and packed.has_completed
    common = alone.series.keys() & packed.series.keys()
    count = sum(min(len(alone.series[name].values), len(packed.series[name].values)) for name in common)
    different = first_difference(packed.name, packed.series, alone.name, alone.series, ended=ended)
    if different is not None:
        # Records count iterations from 0, people from 1.
        where = f"first in iteration {different.iteration + 1}"
        return count, f"{different.metric} differs from that of a run alone, {where}"
    if ended and agree(alone.weights, packed.weights) is False:
        return count, "final weights differ from those of a run alone"
    return count, "" if count else f"no value was recorded within {LIMIT:g} s"
