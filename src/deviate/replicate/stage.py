"""Make runs on this machine: a worker in each slot, all in this process."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.errors import RunElsewhere
from deviate.replicate.events import Event, RunStarted
from deviate.replicate.interrupts import StopRequests
from deviate.replicate.jobs import Job
from deviate.replicate.lease import LeaseHeld, acquire, live_holder
from deviate.replicate.probe import Probe
from deviate.replicate.todo import Todo, end_leftovers
from deviate.replicate.work import LOOK_EVERY, Means, Worker


class LocalStage:
    """The runs that go on, by the index of their slots."""

    def __init__(self, means: Means, todo: Todo) -> None:
        self._means = means
        self._todo = todo
        self._executor = means.executor
        self._workers: dict[int, Worker] = {}
        self._started = 0
        self._probe = Probe(means.options, is_fresh=False)

    def recover(self) -> Iterator[Event]:
        """End what outlived a killed tool, and find out what is to be done.

        Raises
        ------
        RunElsewhere
            If a worker on another machine, or of a cluster, makes one of the runs now.
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
            if (len(self._workers), self._probe.goes_on) == (len(going), alone):
                self._executor.wait(LOOK_EVERY)

    def _free_slot(self) -> int | None:
        """Return the index of a slot for the next run; None where it has to wait, or there is no next run."""
        if not self._todo.jobs or (self._probe.goes_on and self._workers):
            return None
        return next((index for index in range(self._executor.jobs) if index not in self._workers), None)

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
            self._probe.end()

    def abandon(self, stop: StopRequests) -> None:
        """End what still goes on, because the caller wants no more events."""
        while self._workers:
            self._workers = {index: worker for index, worker in self._workers.items() if worker.abandon(stop)}
            self._executor.wait(LOOK_EVERY)


#: What to type to have a run that another worker makes.
FOLLOW = "wait until it has ended; if it was handed to a cluster, add --executor slurm or --executor ray"


def elsewhere(run: str, held: LeaseHeld, hint: str = FOLLOW) -> RunElsewhere:
    """Return the error for a run that another worker makes."""
    return RunElsewhere(f"{run} is being made by {held}", hint=hint)
