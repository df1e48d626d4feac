"""Run a command for a short while in a folder that is thrown away, until what was wanted has been seen."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import msgspec

from deviate.errors import BadOption, CommandNotFound, WorkspaceUnusable
from deviate.experiment import Experiment, Run
from deviate.instrument.project import instrument_project, skipped_edits
from deviate.replicate.executors import Executor
from deviate.replicate.interrupts import StopRequests, listening
from deviate.replicate.judge import judge
from deviate.replicate.lock import locked
from deviate.replicate.outcome import Outcome
from deviate.replicate.prepare import Ready, Source, prepare_run
from deviate.replicate.snapshot import take
from deviate.replicate.supervise import Ended, Watch
from deviate.replicate.workspace import ExperimentFolder, Workspace
from deviate.request import Prepared

#: Seconds a command is tried out where the user does not say.
DEFAULT_LIMIT = 60.0

#: Seconds between two looks at the process, and at what it wrote.
LOOK_EVERY = 0.05
SEEN_EVERY = 0.25

#: How a trial ended: ``limit`` and ``all seen`` are why it was made to end.
Ending = Literal["completed", "limit", "all seen", "failed"]

Clock = Callable[[], float]


def check_limit(limit: float) -> None:
    """Refuse a limit that is no time.

    Raises
    ------
    BadOption
        Saying what it is.
    """
    if not 0 < limit < math.inf:
        raise BadOption(f"--limit must be a number of seconds above 0, found {limit:g}", hint="type --limit 60")


@contextmanager
def trials(prepared: Prepared, executor: Executor, words: list[str], planned: list[str]) -> Iterator[Trials]:
    """Offer to run a command several times; afterwards nothing of it is left, also of what a killed tool left.

    Parameters
    ----------
    prepared : Prepared
        The command and its project.
    executor : Executor
        Where to start it.
    words : list of str
        Of this tool's own command, to say who works here.
    planned : list of str
        Variants of the runs.

    Raises
    ------
    WorkspaceUnusable
        If the folder cannot be written.
    KeyboardInterrupt
        After Ctrl-C, once the command was ended and everything removed.
    """
    workspace = Workspace(prepared.target.project)
    workspace.prepare()
    command = ["deviate", *words, "--", *prepared.target.command]
    with locked(workspace, command), listening() as stop, _thrown_away(workspace.verification, executor) as folder:
        yield _trials(prepared, folder, executor, stop, planned)
    if stop.count:
        raise KeyboardInterrupt


@contextmanager
def _thrown_away(folder: ExperimentFolder, executor: Executor) -> Iterator[ExperimentFolder]:
    _remove(folder, executor)
    try:
        yield folder
    except OSError as error:
        raise WorkspaceUnusable(
            f"{folder.path} cannot be written: {error}", hint="free the disk, then type the same command"
        ) from error
    finally:
        _remove(folder, executor)


def _remove(folder: ExperimentFolder, executor: Executor) -> None:
    for run in folder.runs():
        if (info := run.read_info()) is not None:
            executor.end_leftover(run.runtime_file, info.pid, info.created)
    shutil.rmtree(folder.path.parent, ignore_errors=True)


def _trials(
    prepared: Prepared, folder: ExperimentFolder, executor: Executor, stop: StopRequests, planned: list[str]
) -> Trials:
    experiment = _experiment(prepared, planned)
    snapshot = take(prepared.snapshot, folder)
    instrumented = instrument_project(folder.snapshot, experiment.metrics, experiment.main_loop, experiment.draws)
    source = Source(
        experiment=experiment,
        folder=folder,
        snapshot=snapshot,
        overlay={file: result.data for file, result in instrumented.items()},
        environment=dict(os.environ),
        program=prepared.program,
        executor=executor.name,
        jobs=executor.jobs,
    )
    return Trials(source, executor, stop, skipped_edits(instrumented))


def _experiment(prepared: Prepared, planned: list[str]) -> Experiment:
    target, findings = prepared.target, prepared.findings
    return Experiment(
        name="trial",
        command=target.command,
        folder=target.folder,
        entry=target.entry,
        metrics=[metric for metric in findings.metrics if metric.selected],
        main_loop=findings.main_loop,
        draws=findings.draws,
        source=prepared.snapshot.source,
        seed=0,
        planned=dict.fromkeys(planned, 1),
        created=datetime.now().astimezone().isoformat(timespec="seconds"),
    )


@dataclass(frozen=True)
class Trials:
    """A project that commands can be tried out in."""

    source: Source
    executor: Executor
    stop: StopRequests
    #: What could not be instrumented.
    skipped: list[str]

    def prepare(self, run: Run) -> Trial:
        """Make a run ready."""
        return Trial(self.source, prepare_run(self.source, run, self.executor.slot(0)), self.executor)


class Trial:
    """One run that is tried out.

    Parameters
    ----------
    source : Source
        What it is made from.
    ready : Ready
        The run.
    executor : Executor
        Where it is started.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(self, source: Source, ready: Ready, executor: Executor, clock: Clock = time.monotonic) -> None:
        self.source = source
        self.ready = ready
        self.executor = executor
        self.clock = clock
        #: Why the command was asked to end; None where nobody asked.
        self.asked: Ending | None = None

    def watch(self, limit: float, stop: StopRequests, has_seen: Callable[[float], bool]) -> Ended:
        """Start the command and wait until it has ended, by itself or because all was seen or time is up.

        Parameters
        ----------
        limit : float
            Seconds.
        stop : StopRequests
            Whether the user asked to stop.
        has_seen : callable
            Is given the seconds since the start, and tells whether all that was wanted has been seen.
        """
        try:
            training = self.executor.start(self.ready.launch)
        except OSError as error:
            raise CommandNotFound(
                f"the system does not start {self.source.program}: {error}", hint="name a program of this machine"
            ) from error
        info = msgspec.structs.replace(self.ready.info, pid=training.pid, created=training.created)
        self.ready.folder.write_info(info)
        began = looked = self.clock()
        watch = Watch(training, began, None)
        while (ended := watch.look(now := self.clock(), stop.count or int(self.asked is not None))) is None:
            if now - began >= limit:
                self.asked = self.asked or "limit"
            elif now - looked >= SEEN_EVERY and has_seen(now - began):
                self.asked = self.asked or "all seen"
            looked = now if now - looked >= SEEN_EVERY else looked
            self.executor.wait(LOOK_EVERY)
        return ended

    def ending(self, ended: Ended) -> Ending:
        """Return how the trial ended."""
        if ended.cause is not None and self.asked is not None:
            return self.asked
        return "completed" if ended.status == 0 else "failed"

    def outcome(self, ended: Ended) -> Outcome:
        """Return what a run that ended like this is."""
        return judge(
            ended,
            self.ready.folder,
            words=self.source.experiment.command,
            copy=self.ready.copy,
            cwd=self.ready.launch.cwd,
            source=self.source.folder.snapshot,
            snapshot=self.source.snapshot,
            warnings=[],
        )
