"""The replicate stage: make the runs of an experiment that are still to be made."""

from __future__ import annotations

import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from deviate.errors import WorkspaceUnusable
from deviate.experiment import Experiment, Run
from deviate.replicate.command import find_program
from deviate.replicate.events import Event, LeftoverEnded, RunEnded, RunProgress, RunStarted
from deviate.replicate.executors import Executor
from deviate.replicate.files import sync_file
from deviate.replicate.git import describe_commit
from deviate.replicate.interrupts import StopRequests, listening
from deviate.replicate.judge import judge
from deviate.replicate.outcome import Completed, Failed, Outcome, TimedOut
from deviate.replicate.prepare import Ready, Source, clear_removed, prepare_run
from deviate.replicate.progress import read_progress
from deviate.replicate.schedule import schedule
from deviate.replicate.shared import State, pinned_warnings, state, watched_paths, written_to
from deviate.replicate.snapshot import read_snapshot
from deviate.replicate.supervise import Ended, Watch
from deviate.replicate.workspace import ExperimentFolder, RunFolder

#: Seconds between two looks at the runs, and between two reports of one run's progress.
LOOK_EVERY = 0.05
REPORT_EVERY = 0.5

#: How a run cannot have ended that was never started.
NOT_STARTED = 127


class ReplicateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user may want otherwise."""

    #: Seconds a run may take.
    timeout: float | None = None
    #: Make runs again that failed, ran for too long or were not instrumented.
    retry_failed: bool = False
    #: Of a fresh experiment, let the first run end before others start: if nothing was recorded the caller stops here.
    probe_first: bool = True
    #: Keep the work folder of completed runs: it holds what they saved. Those of other runs are always kept.
    keep_work: bool = True
    #: Have operations without a deterministic form end the run, where the implementation is held fixed.
    strict: bool = False


def replicate(
    experiment: Experiment,
    folder: ExperimentFolder,
    overlay: Mapping[str, bytes],
    executor: Executor,
    *,
    options: ReplicateOptions | None = None,
    environment: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Event, None, None]:
    """Make the runs of `experiment` that are not done, and say what happens meanwhile.

    Runs that have ended are kept whatever their outcome; one that was interrupted, with its tool or by the user, is
    made again from the start. Each outcome is on disk before it is said. May be called again at any time, also after
    the tool was killed. The caller holds the workspace's lock.

    Parameters
    ----------
    experiment : Experiment
        What to run; its snapshot was taken.
    folder : ExperimentFolder
        Where the snapshot is and the runs go.
    overlay : mapping of str to bytes
        Instrumented files by their path relative to the project.
    executor : Executor
        Where commands are started, and how many side by side.
    options : ReplicateOptions, optional
        What the user wants otherwise.
    environment : mapping of str to str, optional
        The user's; by default this process's.
    clock : callable, optional
        Returns seconds.

    Yields
    ------
    Event
        Close the iterator to stop: what runs then is ended and counts as cancelled.

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
    stage = _Stage(source, executor, options, clock)
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
        git=describe_commit(folder.project),
    )


@dataclass
class _Going:
    """A run that goes on."""

    run: Run
    ready: Ready
    watch: Watch
    shared: State
    reported: float


@dataclass
class _Stage:
    source: Source
    executor: Executor
    options: ReplicateOptions
    clock: Callable[[], float]
    going: dict[int, _Going] = field(default_factory=dict)
    todo: deque[Run] = field(default_factory=deque)
    started: int = 0
    total: int = 0
    #: True until the first run of a fresh experiment has ended.
    probing: bool = False

    def recover(self) -> Iterator[Event]:
        """End what outlived a killed tool, and find out what is to be done."""
        folder = self.source.folder
        clear_removed(folder.runs_folder)
        for run in folder.runs():
            if not run.is_done:
                yield from self._end_leftover(run)
            elif not self.options.keep_work and isinstance(run.read_outcome(), Completed):
                discard_work(run)
        done = {run.run for run in folder.runs() if self._stays(run)}
        experiment = self.source.experiment
        self.todo.extend(schedule(experiment.planned, done, experiment.seed))
        self.total = len(self.todo)
        self.probing = self.options.probe_first and not done

    def _end_leftover(self, run: RunFolder) -> Iterator[Event]:
        info = run.read_info()
        pid, created = (info.pid, info.created) if info is not None else (None, None)
        if count := self.executor.end_leftover(run.runtime_file, pid, created):
            yield LeftoverEnded(run=run.run, processes=count)

    def _stays(self, run: RunFolder) -> bool:
        return run.is_done and (isinstance(run.read_outcome(), Completed) or not self.options.retry_failed)

    def run_all(self, stop: StopRequests) -> Iterator[Event]:
        """Start runs wherever there is room, until all have ended or the user has asked to stop."""
        while self.going or (self.todo and not stop.count):
            while not stop.count and (place := self._room()) is not None:
                yield from self._start(self.todo.popleft(), place)
            yield from self._look(stop)
            if self.going:
                self.executor.wait(LOOK_EVERY)

    def _room(self) -> int | None:
        """Return a free place for the next run; None where it has to wait, or there is none."""
        if not self.todo or (self.probing and self.going):
            return None
        return next((place for place in range(self.executor.jobs) if place not in self.going), None)

    def _start(self, run: Run, place: int) -> Iterator[Event]:
        self.started += 1
        shared = state(watched_paths(self.source.snapshot))
        ready = prepare_run(self.source, run, self.executor.slot(place))
        refusal = self._launch(run, ready, place, shared)
        yield RunStarted(run=run, slot=ready.launch.slot, place=self.started, total=self.total)
        if refusal is not None:
            self.probing = False
            reason = f"the system did not start it: {refusal}"
            yield self._store(run, ready.folder, Failed(seconds=0.0, reason=reason, exit_code=NOT_STARTED))

    def _launch(self, run: Run, ready: Ready, place: int, shared: State) -> OSError | None:
        """Start the command and note it before anything else can happen; return why the system refused."""
        try:
            training = self.executor.start(ready.launch)
        except OSError as error:
            return error
        now = self.clock()
        self.going[place] = _Going(run, ready, Watch(training, now, self.options.timeout), shared, now)
        ready.folder.write_info(msgspec.structs.replace(ready.info, pid=training.pid, created=training.created))
        return None

    def _look(self, stop: StopRequests) -> Iterator[Event]:
        now = self.clock()
        for place, going in list(self.going.items()):
            ended = going.watch.look(now, stop.count)
            if ended is not None:
                yield self._end(place, ended)
            elif now - going.reported >= REPORT_EVERY:
                going.reported = now
                yield self._report(going, now)

    def _report(self, going: _Going, now: float) -> Event:
        iteration, values = read_progress(going.ready.folder, self.source.metric_names)
        return RunProgress(run=going.run, seconds=going.watch.seconds(now), iteration=iteration, values=values)

    def _end(self, place: int, ended: Ended) -> Event:
        going = self.going.pop(place)
        self.probing = False
        return self._store(going.run, going.ready.folder, self._judge(going, ended))

    def _judge(self, going: _Going, ended: Ended) -> Outcome:
        outcome = judge(
            ended,
            going.ready.folder,
            words=self.source.experiment.command,
            copy=going.ready.copy,
            cwd=going.ready.launch.cwd,
            source=self.source.folder.snapshot,
            snapshot=self.source.snapshot,
            warnings=[*written_to(going.shared, state(going.shared)), *pinned_warnings(self.source.snapshot)],
        )
        if isinstance(outcome, TimedOut):
            return msgspec.structs.replace(outcome, hint=f"allow more than --timeout {self.options.timeout:g}")
        return outcome

    def _store(self, run: Run, folder: RunFolder, outcome: Outcome) -> Event:
        # What the outcome speaks of is on disk before the outcome is.
        for path in (*folder.record_files(), *folder.event_files()):
            sync_file(path)
        folder.write_outcome(outcome)
        if isinstance(outcome, Completed) and not self.options.keep_work:
            discard_work(folder)
        _, values = read_progress(folder, self.source.metric_names)
        return RunEnded(run=run, outcome=outcome, values=values)

    def abandon(self, stop: StopRequests) -> None:
        """End what still goes on, because the caller wants no more events."""
        while self.going:
            now = self.clock()
            for place, going in list(self.going.items()):
                if (ended := going.watch.look(now, max(1, stop.count))) is not None:
                    # A full disk must not keep the other trainings from being ended; the run is made again.
                    with suppress(OSError):
                        self._end(place, ended)
            self.executor.wait(LOOK_EVERY)


def discard_work(folder: RunFolder) -> None:
    """Remove what a run saved; its records and logs stay."""
    shutil.rmtree(folder.work, ignore_errors=True)


def remaining(experiment: Experiment, folder: ExperimentFolder) -> int:
    """Return how many runs of `experiment` are still to be made."""
    done = {run.run for run in folder.runs() if run.is_done}
    return len(schedule(experiment.planned, done, experiment.seed))
