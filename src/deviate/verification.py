"""Try a command out before compute is spent: run it for a short while and see whether every metric yields values."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import msgspec

from deviate.collect.events import notes
from deviate.collect.measured import missing_metrics
from deviate.collect.tally import RunTallies
from deviate.errors import BadOption, CommandNotFound, WorkspaceUnusable
from deviate.experiment import Experiment, Run
from deviate.instrument.project import instrument_project, skipped_edits
from deviate.replicate.executors import Executor
from deviate.replicate.executors.local import LocalExecutor
from deviate.replicate.interrupts import StopRequests, listening
from deviate.replicate.judge import judge
from deviate.replicate.lock import locked
from deviate.replicate.outcome import Outcome, Unfinished
from deviate.replicate.prepare import Ready, Source, prepare_run
from deviate.replicate.snapshot import take
from deviate.replicate.supervise import Ended, Watch
from deviate.replicate.workspace import ExperimentFolder, Workspace
from deviate.request import Prepared, Request, prepare_request
from deviate.verified import Ending, Found, Verification, came, unforeseen

#: Seconds a command is tried out where the user does not say.
DEFAULT_LIMIT = 60.0

#: The program exactly as it is.
TRIAL = Run(variant="as-is", index=0)

#: Seconds between two looks at the process, and at what it recorded.
LOOK_EVERY = 0.05
COUNT_EVERY = 0.25


def verify(request: Request, limit: float = DEFAULT_LIMIT, executor: Executor | None = None) -> Verification:
    """Run a command until each selected metric yielded a value, at most for a while, and say what came.

    The program runs as it is, in a copy of the project that is thrown away; no experiment is made.

    Parameters
    ----------
    request : Request
        Command, entry and project; what it says of runs does not matter.
    limit : float, optional
        Seconds after which the command is ended.
    executor : Executor, optional
        Where to start it; by default on this machine.

    Raises
    ------
    BadInput
        As ``deviate run`` does, before anything is written.
    KeyboardInterrupt
        After Ctrl-C, once the command was ended and everything removed.
    """
    if not 0 < limit < math.inf:
        raise BadOption(f"--limit must be a number of seconds above 0, found {limit:g}", hint="type --limit 60")
    prepared = prepare_request(request)
    workspace = Workspace(prepared.target.project)
    workspace.prepare()
    executor = executor or LocalExecutor(1)
    command = ["deviate", "extract", "--verify", "--", *prepared.target.command]
    with locked(workspace, command), listening() as stop, _thrown_away(workspace.verification, executor) as folder:
        verification = _try_out(prepared, folder, executor, limit, stop)
    if stop.count:
        raise KeyboardInterrupt
    return verification


@contextmanager
def _thrown_away(folder: ExperimentFolder, executor: Executor) -> Iterator[ExperimentFolder]:
    """Offer an empty folder and remove it afterwards; also what a killed tool left there, and left running."""
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


def _try_out(
    prepared: Prepared, folder: ExperimentFolder, executor: Executor, limit: float, stop: StopRequests
) -> Verification:
    experiment = _experiment(prepared)
    snapshot = take(prepared.snapshot, folder)
    instrumented = instrument_project(folder.snapshot, experiment.metrics, experiment.main_loop)
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
    trial = _Trial(source, prepare_run(source, TRIAL, executor.slot(0)), executor)
    verification = trial.result(trial.watch(limit, stop))
    return msgspec.structs.replace(verification, notes=[*skipped_edits(instrumented), *verification.notes])


def _experiment(prepared: Prepared) -> Experiment:
    target, findings = prepared.target, prepared.findings
    return Experiment(
        name="verification",
        command=target.command,
        folder=target.folder,
        entry=target.entry,
        metrics=[metric for metric in findings.metrics if metric.selected],
        main_loop=findings.main_loop,
        source=prepared.snapshot.source,
        seed=0,
        planned={TRIAL.variant: 1},
        created=datetime.now().astimezone().isoformat(timespec="seconds"),
    )


class _Trial:
    """One command that is tried out."""

    def __init__(
        self, source: Source, ready: Ready, executor: Executor, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.source = source
        self.ready = ready
        self.executor = executor
        self.clock = clock
        self.tallies = RunTallies(ready.folder, source.metric_names)
        #: Why the command was asked to end; None where nobody asked.
        self.asked: Ending | None = None

    def watch(self, limit: float, stop: StopRequests) -> Ended:
        """Start the command and wait until it has ended, by itself or because all was seen or time is up."""
        try:
            training = self.executor.start(self.ready.launch)
        except OSError as error:
            raise CommandNotFound(
                f"the system does not start {self.source.program}: {error}", hint="name a program of this machine"
            ) from error
        info = msgspec.structs.replace(self.ready.info, pid=training.pid, created=training.created)
        self.ready.folder.write_info(info)
        began = counted = self.clock()
        watch = Watch(training, began, None)
        while (ended := watch.look(now := self.clock(), stop.count or int(self.asked is not None))) is None:
            if now - began >= limit:
                self.asked = self.asked or "limit"
            elif now - counted >= COUNT_EVERY and not self._missing(self.tallies.look()):
                self.asked = self.asked or "all seen"
            counted = now if now - counted >= COUNT_EVERY else counted
            self.executor.wait(LOOK_EVERY)
        return ended

    def _missing(self, found: Found) -> list[str]:
        return [metric.name for metric in missing_metrics(self.source.experiment, found)]

    def result(self, ended: Ended) -> Verification:
        """Return what came until the command had ended."""
        found = self.tallies.look()
        outcome = self._judge(ended)
        known = outcome if isinstance(outcome, Unfinished) and ended.cause is None else None
        entry = self.source.experiment.entry
        return Verification(
            verified=list(came(self.source.experiment, found)),
            silent=self._missing(found),
            unforeseen=unforeseen(self.source.experiment, found),
            ended=self._ending(ended),
            seconds=round(ended.seconds, 2),
            iterations=self.tallies.iterations,
            reason=known.reason if known else "",
            hint=known.hint if known else f"`deviate extract {entry} --diff` shows what is recorded where",
            stderr=known.stderr if known else [],
            notes=[note.message for note in notes([self.ready.folder])],
        )

    def _ending(self, ended: Ended) -> Ending:
        if ended.cause is not None and self.asked is not None:
            return self.asked
        return "completed" if ended.status == 0 else "failed"

    def _judge(self, ended: Ended) -> Outcome:
        return judge(
            ended,
            self.ready.folder,
            words=self.source.experiment.command,
            copy=self.ready.copy,
            cwd=self.ready.launch.cwd,
            snapshot=self.source.snapshot,
            warnings=[],
        )
