"""The replicate stage: make the runs of an experiment that are still to be made."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping

from deviate.core.errors import RunElsewhere
from deviate.core.experiment import Experiment
from deviate.core.interrupts import StopRequests, listening
from deviate.runs.engines.engine import Known, Printer, PrintStage, RemoteStage
from deviate.runs.events import Event, Idle, RunStarted
from deviate.runs.executors.executor import Executor, Places
from deviate.runs.lease import LeaseHeld, acquire, live_holder
from deviate.runs.orders import Order, clear_submissions
from deviate.runs.prepare import make_source, step_source
from deviate.runs.request import ReplicateOptions
from deviate.runs.snapshot.survey import describe_commit
from deviate.runs.todo import Probe, Todo, end_leftovers, share_steps
from deviate.runs.work import LOOK_EVERY, Job, Means, TwinOf, Worker
from deviate.source.edits import FileCode
from deviate.store.folders import ExperimentFolder, unusable

# Make runs on this machine: a worker in each slot, all in this process.


class LocalStage:
    """The runs that go on, by the index of their slots."""

    def __init__(self, means: Means, todo: Todo, places: Places) -> None:
        self._means = means
        self._places = places
        self._todo = todo
        self._executor = means.executor
        self._workers: dict[int, Worker] = {}
        self._started = 0
        self._probe = Probe(means.options, is_fresh=False)

    def recover(self) -> Iterator[Event]:
        """End what outlived a killed tool, and find out what is to be done.

        Raises RunElsewhere if a worker on another machine, or of a cluster, makes one of the runs now.
        """
        for run in self._means.source.folder.runs():
            if (holder := live_holder(run)) is not None:
                raise elsewhere(run.run.folder, LeaseHeld(holder))
        yield from end_leftovers(self._means.source.folder.runs(), self._executor)
        self._todo.find()
        self._probe = Probe(self._means.options, is_fresh=self._todo.is_fresh)

    def run_all(self, stop: StopRequests) -> Iterator[Event]:
        """Start runs wherever there is room, until all have ended or the user has asked to stop."""
        while self._workers or (self._todo.jobs and not stop.count):
            while not stop.count and (index := self._free_slot()) is not None:
                job = yield from self._todo.take({worker.job.run for worker in self._workers.values()})
                if job is None:
                    break
                yield from self._start(job, index)
            going, alone = list(self._workers.items()), self._probe.goes_on
            for index, worker in going:
                for event in worker.look(stop):
                    self._probe.see(event)
                    yield event
                self._drop(index, worker)
            # Where one has ended, or the first has recorded enough, others start at once.
            if (len(self._workers), self._probe.goes_on) != (len(going), alone):
                continue
            if self._places.shared:
                yield Idle(seconds=LOOK_EVERY)
            else:
                self._executor.wait(LOOK_EVERY)

    def _free_slot(self) -> int | None:
        """Return the index of a slot for the next run; None where it has to wait, or there is no next run."""
        if not self._todo.jobs or (self._probe.goes_on and self._workers):
            return None
        return self._places.free(self._executor.jobs)

    def _start(self, job: Job, index: int) -> Iterator[Event]:
        run = self._means.source.folder.run(job.run)
        try:
            lease = acquire(run)
        except LeaseHeld as held:
            raise elsewhere(job.run.folder, held) from None
        # A worker of a cluster that comes late finds no job.
        run.job_file.unlink(missing_ok=True)
        self._started += 1
        worker = Worker(self._means, job, index, lease)
        slot = worker.prepare()
        # The first command is started and noted before anything else can happen.
        self._workers[index] = worker
        self._places.take(index, self._executor.jobs)
        events = list(worker.next())
        self._drop(index, worker)
        yield RunStarted(
            run=job.run,
            slot=slot,
            number=self._started,
            total=self._todo.total,
            planned=self._todo.planned,
            jobs=self._executor.jobs,
            took=self._todo.took if job.trains else [],
        )
        yield from events

    def _drop(self, index: int, worker: Worker) -> None:
        if worker.is_over:
            del self._workers[index]
            self._places.leave(index)
            self._probe.end()

    def abandon(self, stop: StopRequests) -> None:
        """End what still goes on, because the caller wants no more events."""
        while self._workers:
            for index, worker in list(self._workers.items()):
                if not worker.abandon(stop):
                    del self._workers[index]
                    self._places.leave(index)
            self._executor.wait(LOOK_EVERY)


#: What to type to have a run that another worker makes.
FOLLOW = "wait until it has ended; if it was handed to a cluster, add --executor slurm or --executor ray"


def elsewhere(run: str, held: LeaseHeld, hint: str = FOLLOW) -> RunElsewhere:
    """Return the error for a run that another worker makes."""
    return RunElsewhere(f"{run} is being made by {held}", hint=hint)


def replicate(
    experiment: Experiment,
    folder: ExperimentFolder,
    overlay: Mapping[str, FileCode],
    executor: Executor,
    *,
    known: Known | None = None,
    printer: Printer | None = None,
    step_overlays: Mapping[str, Mapping[str, FileCode]] | None = None,
    places: Places | None = None,
    twin: TwinOf = lambda run: run,
    options: ReplicateOptions | None = None,
    environment: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Event, None, None]:
    """Make the runs of `experiment` that are not done, and say what happens meanwhile.

    Runs that have ended are kept whatever their outcome; one that was interrupted, with its tool or by the user, is
    made again from the start. Each outcome is on disk before it is said. May be called again at any time, also after
    the tool was killed. The caller holds the experiment's lock.

    The experiment's snapshot was taken. `overlay` are instrumented files by their path relative to the project,
    `step_overlays` those of the commands beside the training, by name of the step; `twin` says which run's training
    serves another one, too; `environment` is the user's, by default this process's; `clock` returns seconds. Close the
    iterator to stop: what runs then is ended and counts as cancelled.

    Commands are started by `executor` on this machine, in `places` that other experiments may share, unless workers
    elsewhere start them, those of the engine of `known`, or a `printer` says how a user starts such. What was handed to
    workers goes on when the user stops this process. While it does, and where places are shared, events say how long
    there is nothing to do (`Idle`).

    Raises KeyboardInterrupt after Ctrl-C, SIGTERM or SIGHUP, once all that ran has been ended and said. Raises
    CommandNotFound if the command's program is not there. Raises WorkspaceUnusable if the folder of a run cannot be
    written; what ran then has been ended.
    """
    options = options or ReplicateOptions()
    user = dict(os.environ if environment is None else environment)
    git = describe_commit(folder.project)
    here = known is None and printer is None
    source = make_source(
        experiment, folder, overlay, user, options, executor.name, jobs=executor.jobs, git=git, here=here
    )
    steps = {
        step.name: step_source(source, step, (step_overlays or {}).get(step.name, {})) for step in experiment.steps
    }
    todo = Todo(source, options, twin)

    def order(elsewhere: Printer) -> Order:
        return Order(
            experiment=experiment, overlay=overlay, step_overlays=step_overlays or {}, options=options,
            executor=elsewhere.name, address=elsewhere.address, threads=elsewhere.threads, git=source.git,
            scratch=elsewhere.scratch, printed=printer is not None,
        )  # fmt: skip

    stage: LocalStage | RemoteStage | PrintStage
    if printer is not None:
        stage = PrintStage(source, todo, printer, order(printer))
    elif known is not None:
        stage = RemoteStage(source, todo, known, order(known.engine))
    else:
        means = Means(source=source, steps=steps, executor=executor, options=options, clock=clock)
        stage = LocalStage(means, todo, places or Places())
    with listening() as stop:
        try:
            yield from stage.recover()
            yield from stage.run_all(stop)
            share_steps(folder)
            clear_submissions(folder)
        except OSError as error:
            raise unusable(folder.runs_folder, error) from error
        finally:
            stage.abandon(stop)
    stop.obey()
