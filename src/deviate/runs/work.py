"""What a worker does: it makes one run, one command after another, and leaves files that say how each ended.

The local tool has a worker in each of its slots; elsewhere a process of its own is one (`deviate.runs.worker`).
"""

from __future__ import annotations

import datetime
import errno
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from deviate.core.errors import RunElsewhere
from deviate.core.experiment import Run, Step
from deviate.core.interrupts import StopRequests
from deviate.core.secrets import secrets_of, star_file
from deviate.runs.events import Event, RunEnded, RunProgress, StepEnded
from deviate.runs.executors.executor import Executor, Handle, Slot
from deviate.runs.hardware import hardware_refusal
from deviate.runs.kept import (
    checkpoint_states,
    keep_checkpoints,
    keep_file,
    keep_written,
    share_weights,
    written_states,
)
from deviate.runs.lease import Lease
from deviate.runs.outcomes import KILLED_HINT, run_outcome, without_secrets, without_set_up
from deviate.runs.prepare import (
    NO_COPY,
    Ready,
    Source,
    StepSource,
    discard_work,
    has_copy,
    new_folder,
    prepare_run,
    prepare_step,
)
from deviate.runs.request import ReplicateOptions, clock_offset, clock_warnings
from deviate.runs.scratch import Scratch
from deviate.runs.snapshot.working_copy import State, pinned_warnings, state, watched_paths, written_to
from deviate.store.files import sync_file
from deviate.store.folders import RunFolder
from deviate.store.integrity import damage
from deviate.store.records import Progressed, read_progress
from deviate.store.run_files import Cancelled, Completed, Ended, Failed, Outcome

# What is done in the folder of one run: its set-up, the training, its evaluations, its clean-up.

#: Returns the run whose training serves a run, too: itself where it is to be trained, None where it is not needed.
TwinOf = Callable[[Run], Run | None]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a job."""

    #: None: the training.
    step: Step | None = None
    repeat: int = 0

    @property
    def is_cleanup(self) -> bool:
        """Whether it is done whatever came of the others."""
        return self.step is not None and self.step.when == "cleanup"


@dataclass
class Job:
    """A run with what is still to be done in its folder, one command after another."""

    run: Run
    parts: deque[Part]
    #: The training, once it is prepared; None where it was made before.
    training: Ready | None = None
    #: Of the training; None until it has ended.
    outcome: Outcome | None = None
    #: The last value of each metric.
    values: dict[str, float] = field(default_factory=dict)

    @property
    def trains(self) -> bool:
        """Whether the training is among what is to be done, or was done."""
        return self.training is not None or any(part.step is None for part in self.parts)

    def cut(self, *, cleanup: bool = True) -> None:
        """Leave out what is still to be done, but for the clean-up."""
        self.parts = deque(part for part in self.parts if cleanup and part.is_cleanup)


def training_job(run: Run, steps: Sequence[Step]) -> Job:
    """Return the job of a run that is still to be made."""
    evaluations = [Part(step=step, repeat=repeat) for step in steps if step.is_evaluation for repeat in _all(step)]
    return Job(run, deque([*_parts(steps, "setup"), Part(), *evaluations, *_parts(steps, "cleanup")]))


def evaluating_job(
    folder: RunFolder, steps: Sequence[Step], *, retry_failed: bool, retry_killed: bool = False
) -> Job | None:
    """Return the job of a run that was made before and lacks evaluations; None where it lacks none."""
    lacking = [
        Part(step=step, repeat=repeat)
        for step in steps
        if step.is_evaluation
        for repeat in _all(step)
        if not stays(folder.step(step.name, repeat), retry_failed=retry_failed, retry_killed=retry_killed)
    ]
    parts = deque([*_parts(steps, "setup"), *lacking, *_parts(steps, "cleanup")])
    return Job(folder.run, parts, outcome=folder.read_outcome()) if lacking else None


def _parts(steps: Sequence[Step], when: str) -> list[Part]:
    return [Part(step=step) for step in steps if step.when == when]


def _all(step: Step) -> range:
    return range(step.repeat)


def stays(folder: RunFolder, *, retry_failed: bool, retry_killed: bool = False) -> bool:
    """Tell whether a command need not be run: it has ended; with `retry_failed`, and its files are whole.

    With `retry_killed` one that was ended from outside is run again.
    """
    if not folder.is_done:
        return False
    outcome = folder.read_outcome()
    if not retry_failed:
        return not (retry_killed and isinstance(outcome, Failed) and outcome.killed)
    return isinstance(outcome, Completed) and not damage(folder, outcome)


#: Seconds between two looks at the runs, and between two reports of one run's progress, at most.
LOOK_EVERY = 0.05
REPORT_EVERY = 0.5

#: Of the time that a run has taken, the share after which its progress is reported again: others may wait for that.
REPORT_SHARE = 0.05

#: How a run cannot have ended that was never started.
NOT_STARTED = 127


@dataclass(frozen=True, kw_only=True)
class Means:
    """What all workers of a call make their runs with."""

    source: Source
    #: By name of the step.
    steps: Mapping[str, StepSource]
    executor: Executor
    options: ReplicateOptions
    clock: Callable[[], float] = time.monotonic
    #: Seconds after the end of a command within which the worker is asked to stop, where both are asked at once.
    #: 0: commands do not hear what the worker does.
    hears_within: float = 0.0
    #: Why a run was cancelled.
    cancelled: str = "Ctrl-C or a signal"
    #: What the engine calls this worker.
    job: str = ""
    #: Where the run is made; None: in its folder.
    scratch: Scratch | None = None


@dataclass
class _Active:
    """A command that goes on."""

    part: Part
    ready: Ready
    handle: Handle
    #: What the run shares with the project, as it was before.
    shared: State
    #: The files of its copy that count where it writes them, as they were before.
    files: State
    #: See `clock_offset`.
    clock: float
    started: float
    reported: float


class Worker:
    """Makes one run in one slot."""

    def __init__(self, means: Means, job: Job, index: int, lease: Lease) -> None:
        self._means = means
        self._executor = means.executor
        self._index = index
        self.lease = lease
        self._active: _Active | None = None
        #: The run, with what is still to be done.
        self.job = job

    @property
    def folder(self) -> RunFolder:
        """The folder of the run."""
        return self._means.source.folder.run(self.job.run)

    @property
    def is_over(self) -> bool:
        """Tell whether nothing goes on, and nothing is left to do."""
        return self._active is None

    def prepare(self) -> Slot:
        """Make the run ready; return the room it has."""
        slot = self._executor.slot(self._index)
        if self.job.trains:
            self.job.training = prepare_run(self._means.source, self.job.run, slot)
            slot = self.job.training.launch.slot
        return slot

    def next(self) -> Iterator[Event]:
        """Start the next command; where none is left, the run has ended."""
        job = self.job
        if job.training is not None and job.outcome is None and self._refuse(job.training):
            job.parts.clear()
        while job.parts:
            part = job.parts.popleft()
            if part.step is not None and not has_copy(self._means.source, self.job.run):
                folder = new_folder(self._means.source, part.step, self.job.run, part.repeat)
                yield from self._store(part, folder, Failed(seconds=0.0, reason=NO_COPY))
                continue
            ready, refusal = self._launch(part)
            if refusal is None:
                return
            failed = Failed(seconds=0.0, reason=f"the system did not start it: {refusal}", exit_code=NOT_STARTED)
            yield from self._store(part, ready.folder, failed)
        if isinstance(job.outcome, Completed) and not self._means.options.keep_work:
            discard_work(self.folder)
        self.lease.release()
        if job.outcome is not None:
            trained = {} if job.trains else part_progress(self.folder, Part(), self._means.source).values
            yield RunEnded(run=job.run, outcome=job.outcome, values=trained | job.values, trained=job.trains)

    def _refuse(self, training: Ready) -> bool:
        """Store that a run is not started here; tell whether that is so."""
        if not self._means.options.same_hardware:
            return False
        outcome = hardware_refusal(self._means.source.folder, training.info)
        if outcome is not None:
            self._write(training.folder, outcome)
            self.job.outcome = outcome
        return outcome is not None

    def _prepare(self, part: Part) -> Ready:
        if part.step is None:
            assert self.job.training is not None  # prepared when the job began
            return self.job.training
        slot = self._executor.slot(self._index)
        return prepare_step(self._means.steps[part.step.name], self.job.run, part.repeat, slot)

    def _launch(self, part: Part) -> tuple[Ready, OSError | None]:
        """Start a command and note it before anything else can happen; return why the system refused."""
        shared = state(watched_paths(self._means.source.snapshot))
        ready = self._prepare(part)
        weights = self._part_source(part).experiment.weights
        files = written_states(ready.copy) | checkpoint_states(weights, ready.launch.cwd)
        offset = clock_offset()
        try:
            handle = self._executor.start(ready.launch)
        except OSError as error:
            return ready, error
        now = self._means.clock()
        self._active = _Active(part, ready, handle, shared, files, offset, now, now)
        note_start(ready, msgspec.structs.replace(handle, job=handle.job or self._means.job))
        if self._means.scratch is not None:
            self._means.scratch.note(ready.folder)
        return ready, None

    def look(self, stop: StopRequests) -> Iterator[Event]:
        """Do what is due."""
        active = self._active
        if active is None:
            return
        if stop.count > active.part.is_cleanup:
            self._executor.end(active.handle, at_once=stop.count > 1)
        now = self._means.clock()
        if not self._executor.poll(active.handle):
            if self._means.hears_within:
                time.sleep(self._means.hears_within)
            yield from self._end(active, stop)
            if stop.count:
                self.job.cut(cleanup=stop.count == 1)
            yield from self.next()
        elif now - active.reported >= min(REPORT_EVERY, REPORT_SHARE * (now - active.started)):
            active.reported = now
            self.lease.beat_if_due()
            yield self._report(active, now)

    def abandon(self, stop: StopRequests) -> bool:
        """End what goes on, because nobody wants to hear more; return whether something still does."""
        active = self._active
        if active is None:
            return False
        self._executor.end(active.handle, at_once=stop.count > 1)
        try:
            if not self._executor.poll(active.handle):
                deque(self._end(active, stop), maxlen=0)
                self.lease.release()
        except (OSError, RunElsewhere):
            # A full disk must not keep the other trainings from being ended; the run is made again.
            self._active = None
        return self._active is not None

    def wait(self, seconds: float) -> None:
        """Wait, at most until a command ends."""
        self._executor.wait(seconds)

    def kill(self) -> None:
        """End what goes on and write nothing: the run is another worker's."""
        while self._active is not None:
            self._executor.end(self._active.handle, at_once=True)
            if not self._executor.poll(self._active.handle):
                self._active = None
            self._executor.wait(LOOK_EVERY)

    def _report(self, active: _Active, now: float) -> Event:
        progress = self._progress(active.part, active.ready.folder)
        step = active.part.step.name if active.part.step else ""
        return RunProgress(run=self.job.run, seconds=now - active.started, step=step, **progress._asdict())

    def _progress(self, part: Part, folder: RunFolder) -> Progressed:
        return part_progress(folder, part, self._means.source)

    def _end(self, active: _Active, stop: StopRequests) -> Iterator[Event]:
        self._active = None
        yield from self._store(active.part, active.ready.folder, self._outcome(active, stop))

    def _outcome(self, active: _Active, stop: StopRequests) -> Outcome:
        ended = active.ready.folder.read_ended()
        if ended is None:
            seconds = self._means.clock() - active.started
            reason = "its process is gone, and how it ended is unknown"
            return Failed(seconds=seconds, reason=reason, hint=KILLED_HINT, killed=True)
        if stop.count and self._means.hears_within and ended.cause is None:
            # What asks the worker to stop asks the command, too, which may even end well on that.
            ended = msgspec.structs.replace(ended, cause="cancel")
        source, options = self._part_source(active.part), self._means.options
        outcome = without_secrets(self._plain(active, ended), source.experiment.command, source.environment)
        secrets = secrets_of(source.experiment.command, source.environment)
        for path in active.ready.folder.text_files():
            star_file(path, secrets)
        if isinstance(outcome, Cancelled):
            return msgspec.structs.replace(outcome, reason=self._means.cancelled)
        limit = {"timeout": options.timeout, "stall": options.stall, "memory": options.memory}
        if not isinstance(outcome, Completed) and ended.cause in limit:
            return msgspec.structs.replace(
                outcome, hint=f"allow more than {limit[ended.cause]:g}: --set {ended.cause}=NUMBER"
            )
        return outcome

    def _part_source(self, part: Part) -> Source:
        return self._means.source if part.step is None else self._means.steps[part.step.name].source

    def _plain(self, active: _Active, ended: Ended) -> Outcome:
        experiment, source = self._part_source(active.part).experiment, self._means.source
        return run_outcome(
            ended,
            active.ready.folder,
            words=experiment.command,
            copy=active.ready.copy,
            cwd=active.ready.launch.cwd,
            snapshot=source.snapshot,
            expects_python=bool(experiment.entry),
            accepts=self._part_source(active.part).accepts,
            warnings=[
                *self._means.options.warnings,
                *written_to(active.shared, state(active.shared)),
                *pinned_warnings(source.snapshot),
                *keep_file(experiment.predictions, active.ready.launch.cwd, active.ready.folder),
                *keep_written(active.ready.copy, active.ready.folder, active.files),
                *keep_checkpoints(experiment.weights, active.ready.launch.cwd, active.ready.folder, active.files),
                *clock_warnings(active.clock),
            ],
        )

    def _store(self, part: Part, folder: RunFolder, outcome: Outcome) -> Iterator[Event]:
        """Store how a command ended, and leave out of the job what cannot be done any more."""
        job = self.job
        folder = self._bring(folder, outcome)
        share_weights(self._means.source.folder, folder)
        # What the outcome speaks of is on disk before the outcome is.
        for path in folder.result_files():
            sync_file(path)
        self._write(folder, outcome)
        job.values |= self._progress(part, folder)[1]
        if part.step is None:
            job.outcome = outcome
        else:
            yield StepEnded(run=job.run, step=part.step.name, repeat=part.repeat, outcome=outcome)
        if isinstance(outcome, Completed) or (part.step is not None and part.step.when != "setup"):
            return
        job.cut()
        if part.step is not None and job.training is not None:
            job.outcome = without_set_up(outcome)
            self._write(job.training.folder, job.outcome)

    def _bring(self, folder: RunFolder, outcome: Outcome) -> RunFolder:
        """Return the folder in which a command counts, with all that it left; the same where it was made there."""
        scratch, keeps = self._means.scratch, self._means.options.keep_work
        if scratch is None or not scratch.holds(folder):
            return folder
        # Evaluations that are still to be made find it where this worker is killed before them.
        return scratch.bring(folder, work=keeps or bool(self.job.parts) or not isinstance(outcome, Completed))

    def _write(self, folder: RunFolder, outcome: Outcome) -> None:
        if not self.folder.path.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.folder.path))
        if not self.lease.is_held():
            raise RunElsewhere(
                f"{self.job.run.folder} was taken over by another worker", hint="wait until that one has ended"
            )
        self._bring(folder, outcome).write_outcome(outcome)


def part_progress(folder: RunFolder, part: Part, source: Source) -> Progressed:
    """Return how far a command is, with the metrics under their names in results."""
    if part.step is None:
        return read_progress(folder, source.metric_names)
    progress = read_progress(folder, [metric.name for metric in part.step.metrics])
    return progress._replace(values={part.step.prefix + name: value for name, value in progress.values.items()})


def note_start(ready: Ready, handle: Handle) -> None:
    """Store what it takes to find a command again that outlives this tool."""
    job = handle.job or msgspec.UNSET
    now = datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
    warm = list(handle.warm) or msgspec.UNSET
    info = msgspec.structs.replace(ready.info, pid=handle.pid, created=handle.created, job=job, started=now, warm=warm)
    ready.folder.write_info(info)


def end_leftover(run: RunFolder, executor: Executor) -> int:
    """End what a killed tool left running of a run; return how many processes that were."""
    info = run.read_info()
    if info is None:
        return executor.end(Handle(run.runtime_file))
    return executor.end(Handle(run.made_in(info).runtime_file, info.job or "", info.pid, info.created))
