"""What is still to be made of an experiment, in which order, and what one run tells of the others."""

from __future__ import annotations

import os
import shutil
from collections import Counter, deque
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping

import msgspec

from deviate.core.experiment import Run
from deviate.core.factors import derive_seed, parse_variant, run_seeds
from deviate.runs.events import Event, LeftoverEnded, RunProgress, RunShared
from deviate.runs.executors.executor import Executor
from deviate.runs.lease import live_holder
from deviate.runs.outcomes import accept_failed
from deviate.runs.prepare import Source, clear_removed, discard, discard_work
from deviate.runs.request import ReplicateOptions
from deviate.runs.work import Job, TwinOf, end_leftover, evaluating_job, stays, training_job
from deviate.store.folders import ExperimentFolder, RunFolder
from deviate.store.integrity import damage
from deviate.store.run_files import Completed, Outcome

# Which runs are to be made, and in which order.


def schedule(planned: Mapping[str, int], done: Collection[Run], seed: int) -> list[Run]:
    """Return the runs still to be made, variants interleaved.

    In each round every variant has one run, and the order within a round is drawn anew: whatever changes while the
    experiment goes on (a machine that grows warm, a neighbour that comes and goes) then meets all variants alike
    instead of being taken for a difference between them.

    Equal seeds give equal orders, so a continued experiment keeps to its order.
    """
    rounds = range(max(planned.values(), default=0))
    return [run for index in rounds for run in _round(planned, index, seed) if run not in done]


def _round(planned: Mapping[str, int], index: int, seed: int) -> list[Run]:
    # Sorting by a number drawn for each run, and not shuffling, keeps the order of the others when a variant is added.
    variants = [variant for variant, runs in planned.items() if index < runs]
    order = sorted(variants, key=lambda variant: derive_seed(seed, "order", index, variant))
    return [Run(variant=variant, index=index) for variant in order]


# A run that is not trained because another one draws the same: its folder holds the files of that one.

#: Files that say what a run is, and how it went; the folder that it ran in, which stays with the one that did; and what
#: `share_steps` brings.
_OWN = frozenset({"run.json", "outcome.json", "work", "steps"})


def share_run(folder: ExperimentFolder, run: Run, twin: Run, outcome: Outcome, seed: int) -> None:
    """Make the folder of `run` of the files of `twin`, which ended with `outcome`; `seed` is the experiment's."""
    own, other = folder.run(run), folder.run(twin)
    info = other.read_info()
    assert info is not None  # it was started, since it has an outcome
    discard(own.path)
    shutil.copytree(other.path, own.path, ignore=lambda _, names: _OWN.intersection(names), copy_function=_link)
    seeds = run_seeds(parse_variant(run.variant), seed, run.index)
    own.write_info(
        msgspec.structs.replace(info, variant=run.variant, index=run.index, seeds=seeds, same_as=twin.folder)
    )
    own.write_outcome(outcome)


def share_steps(folder: ExperimentFolder) -> None:
    """Bring what evaluations recorded of runs to those that share their training."""
    for run in folder.runs():
        info = run.read_info()
        if info is None or not info.same_as:
            continue
        for step in folder.find_run(info.same_as).steps():
            target = run.path / "steps" / step.path.name
            if step.is_done and not _is_brought(step, RunFolder(target, run.run)):
                aside = target.with_name(f".{target.name}.partial")
                shutil.rmtree(aside, ignore_errors=True)
                shutil.copytree(step.path, aside, copy_function=_link)
                discard(target)
                aside.rename(target)


def _is_brought(step: RunFolder, own: RunFolder) -> bool:
    """Tell whether `own` has what the step recorded last, undamaged."""
    if not own.outcome_file.is_file() or own.outcome_file.read_bytes() != step.outcome_file.read_bytes():
        return False
    outcome = own.read_outcome()
    return outcome is not None and not damage(own, outcome)


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        # Not every file system has links.
        shutil.copy2(source, target)
    return target


class Todo:
    """The jobs of an experiment that nobody has taken yet."""

    def __init__(self, source: Source, options: ReplicateOptions, twin: TwinOf) -> None:
        self._source = source
        self._options = options
        self._twin = twin
        self.jobs: deque[Job] = deque()
        self.total = 0
        #: Jobs that were found, by variant.
        self.planned: dict[str, int] = {}
        #: Seconds of the runs that have completed, each training once.
        self.took: list[float] = []
        #: Whether no run of the experiment was made yet.
        self.is_fresh = True

    def find(self) -> None:
        """Find out what is to be done; runs that somebody makes now are among it."""
        folder, steps = self._source.folder, self._source.experiment.steps
        clear_removed(folder.runs_folder)
        again = {"retry_failed": self._options.retry_failed, "retry_killed": self._options.retry_killed}
        for run in folder.runs():
            accept_failed(run, self._source.accepts, expects_python=bool(self._source.experiment.entry))
        done = {run.run: run for run in folder.runs() if stays(run, **again)}
        self.took = []
        for run in done.values():
            outcome = run.read_outcome()
            completed = isinstance(outcome, Completed) and not _is_shared(run)
            self.took += [outcome.seconds] if completed and outcome and outcome.seconds else []
            job = evaluating_job(run, steps, **again) if completed else None
            if job is not None:
                self.jobs.append(job)
            elif completed and not self._options.keep_work and live_holder(run) is None:
                discard_work(run)
        experiment = self._source.experiment
        self.jobs.extend(training_job(run, steps) for run in schedule(experiment.planned, done, experiment.seed))
        self.total = len(self.jobs)
        # In the order of the experiment: that of the jobs is drawn.
        counts = Counter(job.run.variant for job in self.jobs)
        self.planned = {name: counts[name] for name in (*experiment.planned, *counts) if counts[name]}
        self.is_fresh = not done

    def take(self, going: Collection[Run]) -> Generator[Event, None, Job | None]:
        """Take the next job; runs that share the training of another one wait for it, and are made of its files."""
        for job in list(self.jobs):
            twin = self._twin(job.run) if job.trains else job.run
            if twin is not None and twin != job.run and (twin in going or any(twin == each.run for each in self.jobs)):
                continue
            self.jobs.remove(job)
            outcome = self._source.folder.run(twin).read_outcome() if twin else None
            if twin == job.run or (twin is not None and not isinstance(outcome, Completed)):
                return job
            self.total -= 1
            if twin is not None and outcome is not None:
                share_run(self._source.folder, job.run, twin, outcome, self._source.experiment.seed)
            yield RunShared(run=job.run, twin=twin)
        return None


def end_leftovers(runs: Iterable[RunFolder], executor: Executor) -> Iterator[Event]:
    """End what a killed tool left running of `runs` on this machine."""
    for run in runs:
        for each in (run, *run.steps()):
            if not each.is_done and (count := end_leftover(each, executor)):
                yield LeftoverEnded(run=run.run, processes=count)


def _is_shared(run: RunFolder) -> bool:
    info = run.read_info()
    return info is not None and bool(info.same_as)


# The first run of an experiment shows whether the others are worth making.


class Probe:
    """Tells for how long the first run of a fresh experiment goes on alone."""

    def __init__(self, options: ReplicateOptions, *, is_fresh: bool) -> None:
        self._until = options.probe
        #: Whether other runs wait.
        self.goes_on = is_fresh and options.probe != "nothing"

    def see(self, event: Event) -> None:
        """Take in what a run that goes on does: it may be what the others wait for."""
        if self._until == "iteration" and _has_recorded(event):
            self.end()

    def end(self) -> None:
        """Let the others start: the first run has ended, or has recorded enough."""
        self.goes_on = False


def _has_recorded(event: Event) -> bool:
    """Tell whether a training has been through one iteration of its main loop, and has recorded values."""
    return isinstance(event, RunProgress) and not event.step and bool(event.iteration) and bool(event.values)
