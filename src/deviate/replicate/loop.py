"""The replicate stage: make the runs of an experiment that are still to be made."""

from __future__ import annotations

import datetime
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from deviate.errors import WorkspaceUnusable
from deviate.experiment import Experiment, Run
from deviate.replicate.checkpoints import keep_checkpoints, share_weights
from deviate.replicate.environment.command import find_program
from deviate.replicate.events import Event, LeftoverEnded, RunEnded, RunProgress, RunShared, RunStarted, StepEnded
from deviate.replicate.executors.executor import Executor, Handle
from deviate.replicate.interrupts import StopRequests, listening
from deviate.replicate.jobs import Job, Part, TwinOf, evaluating_job, training_job
from deviate.replicate.outcomes import run_outcome, without_secrets, without_set_up
from deviate.replicate.predictions import keep_file
from deviate.replicate.prepare import Ready, Source, clear_removed, discard_work, prepare_run
from deviate.replicate.schedule import schedule
from deviate.replicate.shared import share_run, share_steps
from deviate.replicate.snapshot.git import describe_commit
from deviate.replicate.snapshot.link_watch import State, pinned_warnings, state, watched_paths, written_to
from deviate.replicate.snapshot.manifest import read_snapshot
from deviate.replicate.steps import NO_COPY, StepSource, has_copy, new_folder, prepare_step, step_source
from deviate.replicate.workspace.files import sync_file
from deviate.replicate.workspace.folders import ExperimentFolder, RunFolder
from deviate.replicate.workspace.records import read_progress
from deviate.replicate.workspace.run_files import Completed, Ended, Failed, Outcome
from deviate.replicate.written_files import keep_written

#: Seconds between two looks at the runs, and between two reports of one run's progress.
LOOK_EVERY = 0.05
REPORT_EVERY = 0.5

#: How a run cannot have ended that was never started.
NOT_STARTED = 127


class ReplicateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user may want otherwise."""

    #: Seconds a run may take.
    timeout: float | None = None
    #: Seconds a run may neither record nor print anything.
    stall: float | None = None
    #: GiB of memory that the processes of a run may hold together.
    memory: float | None = None
    #: Make runs again that failed, ran for too long or were not instrumented.
    retry_failed: bool = False
    #: Of a fresh experiment, let the first run end before others start: if nothing was recorded the caller stops here.
    probe_first: bool = True
    #: Keep the work folder of completed runs: it holds what they saved. Those of other runs are always kept.
    keep_work: bool = True
    #: Have operations without a deterministic form end the run, where the implementation is held fixed.
    strict: bool = False
    #: What readers of the results have to know of these runs.
    warnings: tuple[str, ...] = ()


def replicate(
    experiment: Experiment,
    folder: ExperimentFolder,
    overlay: Mapping[str, bytes],
    executor: Executor,
    *,
    step_overlays: Mapping[str, Mapping[str, bytes]] | None = None,
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

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, SIGTERM or SIGHUP, once all that ran has been ended and said.
    CommandNotFound
        If the command's program is not there.
    WorkspaceUnusable
        If the folder of a run cannot be written; what ran then has been ended.
    """
    options = options or ReplicateOptions()
    user = dict(os.environ if environment is None else environment)
    source = _source(experiment, folder, overlay, executor, user, options)
    steps = {
        step.name: step_source(source, step, (step_overlays or {}).get(step.name, {})) for step in experiment.steps
    }
    stage = _Stage(source, steps, executor, options, twin, clock)
    with listening() as stop:
        try:
            yield from stage.recover()
            yield from stage.run_all(stop)
        except OSError as error:
            raise WorkspaceUnusable(
                f"{folder.runs_folder} cannot be written: {error}", hint="free the disk, then type the same command"
            ) from error
        finally:
            stage.abandon(stop)
    if stop.count:
        raise KeyboardInterrupt


def _source(
    experiment: Experiment,
    folder: ExperimentFolder,
    overlay: Mapping[str, bytes],
    executor: Executor,
    environment: Mapping[str, str],
    options: ReplicateOptions,
) -> Source:
    return Source(
        experiment=experiment,
        folder=folder,
        snapshot=read_snapshot(folder),
        overlay=overlay,
        environment=environment,
        program=find_program(experiment.command[0], folder.project / experiment.folder, environment),
        executor=executor.name,
        jobs=executor.jobs,
        strict=options.strict,
        timeout=options.timeout,
        stall=options.stall,
        memory=None if options.memory is None else options.memory * 2**30,
        git=describe_commit(folder.project),
    )


@dataclass
class _Active:
    """A command that goes on."""

    job: Job
    part: Part
    ready: Ready
    handle: Handle
    #: What the run shares with the project, as it was before.
    shared: State
    started: float
    reported: float


@dataclass
class _Stage:
    source: Source
    #: By name of the step.
    steps: Mapping[str, StepSource]
    executor: Executor
    options: ReplicateOptions
    twin: TwinOf
    clock: Callable[[], float]
    #: By the index of their slots.
    active: dict[int, _Active] = field(default_factory=dict)
    todo: deque[Job] = field(default_factory=deque)
    started: int = 0
    total: int = 0
    #: True until the first run of a fresh experiment has ended.
    probing: bool = False

    def recover(self) -> Iterator[Event]:
        """End what outlived a killed tool, and find out what is to be done."""
        folder = self.source.folder
        clear_removed(folder.runs_folder)
        steps = self.source.experiment.steps
        for run in folder.runs():
            for each in (run, *run.steps()):
                if not each.is_done and (count := end_leftover(each, self.executor)):
                    yield LeftoverEnded(run=run.run, processes=count)
        done = {run.run: run for run in folder.runs() if self._stays(run)}
        for run in done.values():
            completed = isinstance(run.read_outcome(), Completed) and not _is_shared(run)
            job = evaluating_job(run, steps, retry_failed=self.options.retry_failed) if completed else None
            if job is not None:
                self.todo.append(job)
            elif completed and not self.options.keep_work:
                discard_work(run)
        experiment = self.source.experiment
        self.todo.extend(training_job(run, steps) for run in schedule(experiment.planned, done, experiment.seed))
        self.total = len(self.todo)
        self.probing = self.options.probe_first and not done

    def _stays(self, run: RunFolder) -> bool:
        return run.is_done and (isinstance(run.read_outcome(), Completed) or not self.options.retry_failed)

    def run_all(self, stop: StopRequests) -> Iterator[Event]:
        """Start runs wherever there is room, until all have ended or the user has asked to stop."""
        while self.active or (self.todo and not stop.count):
            while not stop.count and (index := self._free_slot()) is not None:
                job = yield from self._take()
                if job is None:
                    break
                yield from self._start(job, index)
            yield from self._look(stop)
            if self.active:
                self.executor.wait(LOOK_EVERY)
        share_steps(self.source.folder)

    def _take(self) -> Generator[Event, None, Job | None]:
        """Take the next job; runs that share the training of another one wait for it, and are made of its files."""
        for job in list(self.todo):
            twin = self.twin(job.run) if job.trains else job.run
            if twin is not None and twin != job.run and self._is_ahead(twin):
                continue
            self.todo.remove(job)
            outcome = self.source.folder.run(twin).read_outcome() if twin else None
            if twin == job.run or (twin is not None and not isinstance(outcome, Completed)):
                return job
            self.total -= 1
            if twin is not None and outcome is not None:
                share_run(self.source.folder, job.run, twin, outcome, self.source.experiment.seed)
            yield RunShared(run=job.run, twin=twin)
        return None

    def _is_ahead(self, run: Run) -> bool:
        """Tell whether a run goes on, or is still to be made."""
        return any(job.run == run for job in (*self.todo, *(active.job for active in self.active.values())))

    def _free_slot(self) -> int | None:
        """Return the index of a slot for the next run; None where it has to wait, or there is no next run."""
        if not self.todo or (self.probing and self.active):
            return None
        return next((index for index in range(self.executor.jobs) if index not in self.active), None)

    def _start(self, job: Job, index: int) -> Iterator[Event]:
        self.started += 1
        slot = self.executor.slot(index)
        if job.trains:
            job.training = prepare_run(self.source, job.run, slot)
            slot = job.training.launch.slot
        # The first command is started and noted before anything else can happen.
        events = list(self._next(job, index))
        yield RunStarted(run=job.run, slot=slot, number=self.started, total=self.total)
        yield from events

    def _next(self, job: Job, index: int) -> Iterator[Event]:
        """Start the next command of a job; where none is left, its run has ended."""
        while job.parts:
            part = job.parts.popleft()
            if part.step is not None and not has_copy(self.source, job.run):
                folder = new_folder(self.source, part.step, job.run, part.repeat)
                yield from self._store(job, part, folder, Failed(seconds=0.0, reason=NO_COPY))
                continue
            ready, refusal = self._launch(job, part, index)
            if refusal is None:
                return
            failed = Failed(seconds=0.0, reason=f"the system did not start it: {refusal}", exit_code=NOT_STARTED)
            yield from self._store(job, part, ready.folder, failed)
        self.probing = False
        folder = self.source.folder.run(job.run)
        if isinstance(job.outcome, Completed) and not self.options.keep_work:
            discard_work(folder)
        if job.outcome is not None:
            yield RunEnded(run=job.run, outcome=job.outcome, values=job.values, trained=job.trains)

    def _prepare(self, job: Job, part: Part, index: int) -> Ready:
        if part.step is None:
            assert job.training is not None  # prepared when the job began
            return job.training
        return prepare_step(self.steps[part.step.name], job.run, part.repeat, self.executor.slot(index))

    def _launch(self, job: Job, part: Part, index: int) -> tuple[Ready, OSError | None]:
        """Start a command and note it before anything else can happen; return why the system refused."""
        shared = state(watched_paths(self.source.snapshot))
        ready = self._prepare(job, part, index)
        # What is written from now on is this command's.
        os.utime(ready.folder.runtime_file)
        try:
            handle = self.executor.start(ready.launch)
        except OSError as error:
            return ready, error
        now = self.clock()
        self.active[index] = _Active(job, part, ready, handle, shared, now, now)
        note_start(ready, handle)
        return ready, None

    def _look(self, stop: StopRequests) -> Iterator[Event]:
        for index, active in list(self.active.items()):
            if stop.count > active.part.is_cleanup:
                self.executor.end(active.handle, at_once=stop.count > 1)
            now = self.clock()
            if not self.executor.poll(active.handle):
                yield from self._end(index)
                if stop.count:
                    active.job.cut(cleanup=stop.count == 1)
                yield from self._next(active.job, index)
            elif now - active.reported >= REPORT_EVERY:
                active.reported = now
                yield self._report(active, now)

    def _report(self, active: _Active, now: float) -> Event:
        iteration, values = self._progress(active.part, active.ready.folder)
        step = active.part.step.name if active.part.step else ""
        return RunProgress(
            run=active.job.run, seconds=now - active.started, iteration=iteration, values=values, step=step
        )

    def _progress(self, part: Part, folder: RunFolder) -> tuple[int | None, dict[str, float]]:
        """Return the current iteration and the latest values of metrics, under their names in results."""
        if part.step is None:
            return read_progress(folder, self.source.metric_names)
        iteration, values = read_progress(folder, [metric.name for metric in part.step.metrics])
        return iteration, {part.step.prefix + name: value for name, value in values.items()}

    def _end(self, index: int) -> Iterator[Event]:
        active = self.active.pop(index)
        yield from self._store(active.job, active.part, active.ready.folder, self._outcome(active))

    def _outcome(self, active: _Active) -> Outcome:
        ended = active.ready.folder.read_ended()
        if ended is None:
            return Failed(seconds=self.clock() - active.started, reason="it is gone, and nothing tells how it ended")
        source = self._source(active.part)
        outcome = without_secrets(self._plain(active, ended), source.experiment.command, source.environment)
        limit = {"timeout": self.options.timeout, "stall": self.options.stall, "memory": self.options.memory}
        if not isinstance(outcome, Completed) and ended.cause in limit:
            return msgspec.structs.replace(outcome, hint=f"allow more than --{ended.cause} {limit[ended.cause]:g}")
        return outcome

    def _source(self, part: Part) -> Source:
        return self.source if part.step is None else self.steps[part.step.name].source

    def _plain(self, active: _Active, ended: Ended) -> Outcome:
        experiment = self._source(active.part).experiment
        return run_outcome(
            ended,
            active.ready.folder,
            words=experiment.command,
            copy=active.ready.copy,
            cwd=active.ready.launch.cwd,
            source=self.source.folder.snapshot,
            snapshot=self.source.snapshot,
            expects_python=bool(experiment.entry),
            warnings=[
                *self.options.warnings,
                *written_to(active.shared, state(active.shared)),
                *pinned_warnings(self.source.snapshot),
                *keep_file(experiment.predictions, active.ready.launch.cwd, active.ready.folder),
                *keep_written(active.ready.copy, active.ready.folder),
                *keep_checkpoints(experiment.weights, active.ready.launch.cwd, active.ready.folder),
            ],
        )

    def _store(self, job: Job, part: Part, folder: RunFolder, outcome: Outcome) -> Iterator[Event]:
        """Store how a command ended, and leave out of its job what cannot be done any more."""
        share_weights(self.source.folder, folder)
        # What the outcome speaks of is on disk before the outcome is.
        for path in folder.result_files():
            sync_file(path)
        folder.write_outcome(outcome)
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
            job.training.folder.write_outcome(job.outcome)

    def abandon(self, stop: StopRequests) -> None:
        """End what still goes on, because the caller wants no more events."""
        while self.active:
            for index, active in list(self.active.items()):
                self.executor.end(active.handle, at_once=stop.count > 1)
                try:
                    if not self.executor.poll(active.handle):
                        deque(self._end(index), maxlen=0)
                except OSError:
                    # A full disk must not keep the other trainings from being ended; the run is made again.
                    self.active.pop(index, None)
            self.executor.wait(LOOK_EVERY)


def _is_shared(run: RunFolder) -> bool:
    info = run.read_info()
    return info is not None and bool(info.same_as)


def note_start(ready: Ready, handle: Handle) -> None:
    """Store what it takes to find a command again that outlives this tool."""
    job = handle.job or msgspec.UNSET
    now = datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
    info = msgspec.structs.replace(ready.info, pid=handle.pid, created=handle.created, job=job, started=now)
    ready.folder.write_info(info)


def end_leftover(run: RunFolder, executor: Executor) -> int:
    """End what a killed tool left running of a run; return how many processes that were."""
    info = run.read_info()
    if info is None:
        return executor.end(Handle(run.runtime_file))
    return executor.end(Handle(run.runtime_file, info.job or "", info.pid, info.created))
