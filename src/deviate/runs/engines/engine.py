"""Have runs made by workers elsewhere: ask an engine for them, and follow the files that they leave.

This process may end at any moment: what was handed over goes on, and the next one finds it by its files.

`PrintStage` says what a user submits by hand instead; nothing is started.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from deviate.core.errors import ClusterRefused
from deviate.core.experiment import Run
from deviate.core.interrupts import StopRequests
from deviate.core.shell_words import typed_line
from deviate.runs.events import (
    Event,
    Idle,
    LeftToCluster,
    RunEnded,
    RunLost,
    RunProgress,
    RunStarted,
    StepEnded,
    Submitted,
    Waits,
)
from deviate.runs.executors.executor import Slot
from deviate.runs.executors.local import LocalExecutor
from deviate.runs.lease import live_holder
from deviate.runs.orders import JobFile, Order, Submission, read_job, read_order, write_submission
from deviate.runs.prepare import Source, discard, empty
from deviate.runs.todo import Probe, Todo, end_leftovers
from deviate.runs.work import Job, Part, evaluating_job, part_progress
from deviate.source.config import RayEntry, SlurmEntry
from deviate.store.folders import ExperimentFolder, RunFolder
from deviate.store.run_files import Cancelled

# What starts workers elsewhere: it is asked for them, tells which of them are still to come or go on, and ends them.
#
# How a run ended is never asked: that is in the files that its worker left.


class Place(NamedTuple):
    """The place of a run in a submission."""

    submission: str
    task: int


class JobState(NamedTuple):
    """What an engine says of a job."""

    #: The engine's own word.
    word: str
    #: Whether the worker is still to come, or goes on.
    is_active: bool
    #: Why the worker is still to come, in the engine's word; empty where it does not wait.
    waits: str = ""


class Printer(Protocol):
    """Says as text what starts workers."""

    @property
    def name(self) -> str:
        """The word users type for it."""

    @property
    def address(self) -> str:
        """Where it is reached; empty where this machine knows."""

    @property
    def threads(self) -> int:
        """Threads that a run is given."""

    @property
    def scratch(self) -> str:
        """Folder of each machine in which its runs are made; empty: in the experiment's."""

    def script(self, submission: Submission) -> str:
        """Return what a user submits by hand to have a worker for each run."""


class Engine(Printer, Protocol):
    """Starts workers."""

    @property
    def wishes(self) -> SlurmEntry | RayEntry:
        """What the user asks for each of them."""

    @property
    def width(self) -> int | None:
        """Most workers of a submission at a time; None: as many as fit."""

    def check(self) -> None:
        """Refuse what cannot be, before anything is written.

        Raises NoCluster if the engine cannot be reached from this machine.
        """

    def submit(self, submission: Submission) -> None:
        """Ask for a worker for each run.

        Raises ClusterRefused with what the engine says.
        """

    def states(self) -> Mapping[Place, JobState] | None:
        """Return what is known of this user's workers; None where that cannot be told at the moment."""

    def cancel(self, submissions: Collection[str]) -> None:
        """End the workers of submissions."""

    def cancel_words(self, submissions: Collection[str]) -> str:
        """Return what a user types to end the workers of submissions."""


# How often an engine is asked: soon after a change, and then less and less, since its controller serves everybody.

#: Seconds between two questions, at first and at most, and by how much the time grows.
SHORTEST = 1.0
LONGEST = 30.0
GROWTH = 1.3


class Pace:
    """When an engine is asked next."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._interval = SHORTEST
        self._next = clock()
        #: When it last answered.
        self.last = float("-inf")

    @property
    def is_due(self) -> bool:
        """Whether it is to be asked now."""
        return self._clock() >= self._next

    def asked(self, *, known: bool) -> None:
        """Note that it was asked just now, and whether it answered."""
        if known:
            self.last = self._clock()
        self._interval = min(self._interval * GROWTH, LONGEST)
        self._next = self._clock() + self._interval

    def quicken(self) -> None:
        """Ask soon again: something has changed."""
        self._interval = SHORTEST
        self._next = self._clock() + self._interval


class Known:
    """What is known of the jobs of an engine; experiments that are followed side by side ask it together."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self.engine = engine
        self.states: Mapping[Place, JobState] = {}
        self._pace = Pace(clock)

    @property
    def since(self) -> float:
        """When the engine last answered."""
        return self._pace.last

    def is_active(self, place: Place) -> bool:
        """Tell whether a worker is to come, or goes on."""
        return place in self.states and self.states[place].is_active

    def look(self) -> None:
        """Ask the engine where that is due."""
        if not self._pace.is_due:
            return
        states = self.engine.states()
        if states is not None:
            self.states = states
        self._pace.asked(known=states is not None)

    def quicken(self) -> None:
        """Ask soon again: something has changed."""
        self._pace.quicken()


#: Runs of one submission at most: clusters allow arrays of 1,001 tasks unless they were set up otherwise.
MOST_AT_ONCE = 1000

#: How often a worker is asked for, for one run, within one call.
MOST_ATTEMPTS = 5

#: Seconds between two looks at files, and for a file of another machine to be seen here.
LOOK_EVERY = 0.5
SEEN_WITHIN = 3.0


@dataclass
class _Going:
    """A run that was handed over."""

    job: Job
    place: Place
    handed: float
    started: float | None = None
    reported: float = 0.0
    #: When it was first seen to have no worker; None while it has one, or may have one.
    missed: float | None = None


class RemoteStage:
    """The runs that were handed over, and those still to be."""

    def __init__(
        self,
        source: Source,
        todo: Todo,
        known: Known,
        order: Order,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._todo = todo
        self._known = known
        self._engine = known.engine
        self._order = order
        self._clock = clock
        self._going: dict[Run, _Going] = {}
        self._attempts: Counter[Run] = Counter()
        self._given_up: dict[Run, str] = {}
        self._numbers: dict[Run, int] = {}
        self._probe = Probe(order.options, is_fresh=False)
        self._reason = ""

    def recover(self) -> Iterator[Event]:
        """Find out what is to be done, and what was handed over before."""
        folder = self._source.folder
        handed = {run.run: file for run in folder.runs() if (file := read_job(run)) is not None}
        mine = [run for run in folder.runs() if run.run not in handed and live_holder(run) is None]
        yield from end_leftovers(mine, LocalExecutor(1))
        self._todo.find()
        # Whether their workers are still to come, go on, or are gone is looked at like that of any other run.
        for job in [job for job in self._todo.jobs if job.run in handed]:
            self._todo.jobs.remove(job)
            self._going[job.run] = _Going(job, _place(handed[job.run]), self._clock())
        if self._todo.jobs or self._going:
            self._engine.check()
        self._probe = Probe(self._order.options, is_fresh=self._todo.is_fresh)

    def run_all(self, stop: StopRequests) -> Iterator[Event]:
        """Hand runs over and follow them, until all have ended or the user has asked to stop."""
        try:
            while not stop.count and (self._going or self._todo.jobs):
                yield from self._hand_over()
                for going in list(self._going.values()):
                    yield from self._look(going)
                yield from self._waiting()
                if self._going:
                    yield Idle(seconds=LOOK_EVERY)
        except GeneratorExit:
            # The caller saw that the runs are of no use.
            self._engine.cancel({going.place.submission for going in self._going.values()})
            raise
        if self._going:
            names = frozenset(going.place.submission for going in self._going.values())
            yield LeftToCluster(
                executor=self._engine.name,
                runs=len(self._going),
                cancel=self._engine.cancel_words(names),
                waiting=len(self._todo.jobs),
                address=self._engine.address,
                submissions=names,
            )
        if self._given_up:
            raise self._refusal()

    def abandon(self, stop: StopRequests) -> None:
        """Leave what goes on to its workers."""

    def _hand_over(self) -> Iterator[Event]:
        jobs: list[Job] = []
        while not (self._probe.goes_on and (jobs or self._going)):
            job = yield from self._todo.take({*self._going, *(each.run for each in jobs)})
            if job is None:
                break
            jobs.append(job)
        for start in range(0, len(jobs), MOST_AT_ONCE):
            yield self._submit(jobs[start : start + MOST_AT_ONCE])

    def _submit(self, jobs: list[Job]) -> Event:
        submission = hand_over(self._source.folder, self._order, jobs)
        script = self._engine.script(submission)
        try:
            self._engine.submit(submission)
        except ClusterRefused:
            submission.withdraw()
            raise
        now = self._clock()
        for index, job in enumerate(jobs):
            self._attempts[job.run] += 1
            self._going[job.run] = _Going(job, Place(submission.name, index), now)
        self._known.quicken()
        return Submitted(executor=self._engine.name, runs=len(jobs), script=script)

    def _waiting(self) -> Iterator[Event]:
        """Say why no run goes on, where none does."""
        states = [self._known.states.get(going.place) for going in self._going.values() if going.started is None]
        reason = next((state.waits for state in states if state is not None), "")
        if reason not in (self._reason, "", "None") and len(states) == len(self._going):
            yield Waits(executor=self._engine.name, runs=len(states), reason=reason)
        self._reason = reason

    def _look(self, going: _Going) -> Iterator[Event]:
        run = self._source.folder.run(going.job.run)
        if live_holder(run) is not None:
            going.missed = None
            yield from self._follow(going, run)
        elif not self._lacks(run):
            yield from self._end(going, run)
        elif self._is_gone(going):
            yield from self._lose(going)

    def _follow(self, going: _Going, run: RunFolder) -> Iterator[Event]:
        now = self._clock()
        info = run.read_info()
        if going.started is None and info is not None:
            yield from self._start(going, now)
        if going.started is not None and now - going.reported >= LOOK_EVERY:
            going.reported = now
            progress = part_progress(run, Part(), self._source)
            event = RunProgress(run=going.job.run, seconds=now - going.started, **progress._asdict())
            self._probe.see(event)
            yield event

    def _start(self, going: _Going, now: float) -> Iterator[Event]:
        # One whose worker was lost begins again, and is no other run.
        number = self._numbers.setdefault(going.job.run, len(self._numbers) + 1)
        going.started = now
        yield RunStarted(
            run=going.job.run,
            slot=Slot(index=0),
            number=number,
            total=self._todo.total,
            planned=self._todo.planned,
            took=self._todo.took if going.job.trains else [],
        )

    def _lacks(self, run: RunFolder) -> bool:
        """Tell whether something of a run is still to be made."""
        if not run.is_done:
            return True
        return evaluating_job(run, self._order.experiment.steps, retry_failed=False) is not None

    def _end(self, going: _Going, run: RunFolder) -> Iterator[Event]:
        del self._going[going.job.run]
        self._probe.end()
        if going.started is None:
            yield from self._start(going, self._clock())
        values = part_progress(run, Part(), self._source).values
        # Of those that ended earlier was said so then.
        asked = {(part.step.name, part.repeat) for part in going.job.parts if part.step is not None}
        for step in self._order.experiment.steps:
            for repeat in range(step.repeat):
                folder = run.step(step.name, repeat)
                if (outcome := folder.read_outcome()) is not None:
                    if (step.name, repeat) in asked:
                        yield StepEnded(run=going.job.run, step=step.name, repeat=repeat, outcome=outcome)
                    values |= part_progress(folder, Part(step=step, repeat=repeat), self._source).values
        outcome = run.read_outcome()
        assert outcome is not None  # it is done
        yield RunEnded(run=going.job.run, outcome=outcome, values=values, trained=going.job.trains)

    def _is_gone(self, going: _Going) -> bool:
        """Tell whether no worker makes the run, and none is to come.

        What a worker wrote before it ended may be seen here later than that the engine does not know it any more.
        """
        self._known.look()
        now = self._clock()
        if self._known.is_active(going.place) or self._known.since <= going.handed:
            going.missed = None
        elif going.missed is None:
            going.missed = now
        return going.missed is not None and now - going.missed >= SEEN_WITHIN

    def _lose(self, going: _Going) -> Iterator[Event]:
        run = going.job.run
        del self._going[run]
        folder = self._source.folder.run(run)
        if folder.is_done and read_job(folder) is None:
            # Evaluations were asked for after it was handed over.
            self._todo.jobs.append(_anew(folder, going.job, self._order))
            return
        if going.place not in self._known.states and self._was_printed(folder):
            # Nobody has submitted it, and nothing was lost.
            self._todo.jobs.append(_anew(folder, going.job, self._order))
            return
        state = self._known.states[going.place].word if going.place in self._known.states else ""
        outcome = folder.read_outcome()
        if isinstance(outcome, Cancelled) and outcome.hint:
            # Its worker did not start it, and says why.
            state = outcome.reason
        again = self._attempts[run] < MOST_ATTEMPTS
        if again:
            self._todo.jobs.append(_anew(folder, going.job, self._order))
        else:
            self._probe.end()
            self._given_up[run] = state
        yield RunLost(run=run, state=state, again=again)

    def _was_printed(self, run: RunFolder) -> bool:
        job = read_job(run)
        return job is not None and read_order(self._source.folder, job).printed

    def _refusal(self) -> ClusterRefused:
        run, state = next(iter(self._given_up.items()))
        count = len(self._given_up)
        logs = self._source.folder.submissions
        what = run.folder if count == 1 else f"{run.folder} and {count - 1} more"
        return ClusterRefused(
            f"{what}: the job ended {MOST_ATTEMPTS} times before the run did" + (f", at last {state}" if state else ""),
            hint=HINTS.get(state, f"see what the jobs wrote below {logs}; if they wrote nothing, their machines do not "
            "see this folder: keep the project on a file system that they share"),
        )  # fmt: skip


#: What to do about a job that ends with a state again and again.
HINTS = {
    "TIMEOUT": "give a run more time with --set time=TIME, or with a partition that allows it",
    "OUT_OF_MEMORY": "ask for more memory under [slurm] in deviate.toml: options = ['--mem=32G']",
}


def hand_over(folder: ExperimentFolder, order: Order, jobs: Sequence[Job]) -> Submission:
    """Store what the workers of `jobs` need."""
    runs = [folder.run(job.run) for job in jobs]
    for job, run in zip(jobs, runs, strict=True):
        if job.trains and run.is_done:
            # It failed, and is made again: its worker must not find it done.
            empty(run)
        for part in () if job.trains else job.parts:
            if part.step is not None and part.step.is_evaluation:
                discard(run.step(part.step.name, part.repeat).path)
    return write_submission(folder, order, runs)


def _place(file: JobFile) -> Place:
    return Place(file.submission, file.index)


def _anew(run: RunFolder, job: Job, order: Order) -> Job:
    """Return the job of a run whose worker was lost: what is left of it."""
    left = evaluating_job(run, order.experiment.steps, retry_failed=False) if run.is_done else None
    return left or job


class PrintStage:
    """The runs that are still to be made."""

    def __init__(self, source: Source, todo: Todo, printer: Printer, order: Order) -> None:
        self._source = source
        self._todo = todo
        self._printer = printer
        self._order = order

    def recover(self) -> Iterator[Event]:
        """Find out what is to be done and made by nobody; what was printed may be printed again.

        Of two workers of a run one makes it.
        """
        idle = [run for run in self._source.folder.runs() if live_holder(run) is None]
        yield from end_leftovers([run for run in idle if read_job(run) is None], LocalExecutor(1))
        self._todo.find()
        for job in [job for job in self._todo.jobs if live_holder(self._source.folder.run(job.run)) is not None]:
            self._todo.jobs.remove(job)

    def run_all(self, stop: StopRequests) -> Iterator[Event]:
        """Store what workers need, and say what starts them."""
        jobs: list[Job] = []
        while (job := (yield from self._todo.take({each.run for each in jobs}))) is not None:
            jobs.append(job)
        for start in range(0, len(jobs), MOST_AT_ONCE):
            submission = hand_over(self._source.folder, self._order, jobs[start : start + MOST_AT_ONCE])
            script = self._printer.script(submission) + submission.note
            yield Submitted(executor=self._printer.name, runs=len(submission.runs), script=script, sent=False)

    def abandon(self, stop: StopRequests) -> None:
        """Leave nothing behind: nothing was started."""


class Workers:
    """Says which command makes each run, for a scheduler that Deviate does not know."""

    name = "workers"
    address = ""

    def __init__(self, threads: int, scratch: str) -> None:
        self.threads = threads
        #: Folder of each machine in which its runs are made; empty: in the experiment's.
        self.scratch = scratch

    def script(self, submission: Submission) -> str:
        """Return a command a line; any machine that sees the project's folder may run any of them."""
        return "".join(f"{typed_line(['deviate-worker', str(run.path)])}\n" for run in submission.runs)
