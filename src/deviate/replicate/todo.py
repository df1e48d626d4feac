"""What is still to be made of an experiment, and in which order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Generator, Iterable, Iterator

from deviate.experiment import Run
from deviate.replicate.events import Event, LeftoverEnded, RunShared
from deviate.replicate.executors.executor import Executor
from deviate.replicate.jobs import Job, TwinOf, evaluating_job, stays, training_job
from deviate.replicate.lease import live_holder
from deviate.replicate.options import ReplicateOptions
from deviate.replicate.outcomes import accept_failed
from deviate.replicate.prepare import Source, clear_removed, discard_work
from deviate.replicate.schedule import schedule
from deviate.replicate.shared import share_run
from deviate.replicate.work import end_leftover
from deviate.replicate.workspace.folders import RunFolder
from deviate.replicate.workspace.run_files import Completed


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
