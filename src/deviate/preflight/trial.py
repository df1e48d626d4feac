"""Run a command for a short while in a folder that is thrown away, until what was wanted has been seen."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

import msgspec

from deviate.errors import BadOption, CommandNotFound
from deviate.experiment import Run
from deviate.instrument.project import file_codes, instrument_experiment, skipped_edits
from deviate.replicate.environment.masking import mask_words
from deviate.replicate.environment.variables import VARIABLES
from deviate.replicate.executors.executor import Executor
from deviate.replicate.interrupts import StopRequests, listening
from deviate.replicate.outcomes import run_outcome, without_secrets
from deviate.replicate.prepare import Ready, Source, prepare_run
from deviate.replicate.snapshot.link_watch import State
from deviate.replicate.snapshot.manifest import take
from deviate.replicate.work import end_leftover, note_start
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace, unusable
from deviate.replicate.workspace.lock import locked
from deviate.replicate.workspace.run_files import Ended, Outcome
from deviate.replicate.written_files import keep_written, states
from deviate.study.prepared import Prepared

#: Seconds a command is tried out where the user does not say.
DEFAULT_LIMIT = 60.0

#: Seconds between two looks at the process, and at what it wrote.
LOOK_EVERY = 0.05
SEEN_EVERY = 0.25

#: How a trial ended: ``limit`` and ``all seen`` are why it was made to end.
Ending = Literal["completed", "limit", "all seen", "failed"]

#: Returns seconds.
Clock = Callable[[], float]


def check_limit(limit: float) -> None:
    """Refuse a limit in seconds that is no time, by `BadOption`."""
    if not 0 < limit < math.inf:
        raise BadOption(f"--limit must be a number of seconds above 0, found {limit:g}", hint="type --limit 60")


@contextmanager
def open_trials(prepared: Prepared, executor: Executor, words: list[str], planned: list[str]) -> Iterator[Trials]:
    """Open a place where a command can be run several times; on exit everything is removed, leftovers included.

    `words` are those of this tool's own command, to say who works here; `planned` are variants.

    Raises
    ------
    WorkspaceUnusable
        If the folder cannot be written.
    KeyboardInterrupt
        After Ctrl-C, once the command was ended and everything removed.
    """
    workspace = Workspace(prepared.target.project)
    workspace.prepare()
    command = ["deviate", *words, "--", *mask_words(prepared.target.command)]
    place = workspace.verification
    with locked(place, command), listening() as stop, _thrown_away(place, executor) as folder:
        yield _trials(prepared, folder, executor, stop, planned)
    stop.obey()


@contextmanager
def _thrown_away(folder: ExperimentFolder, executor: Executor) -> Iterator[ExperimentFolder]:
    _remove(folder, executor)
    try:
        yield folder
    except OSError as error:
        raise unusable(folder.path, error) from error
    finally:
        _remove(folder, executor)


def _remove(folder: ExperimentFolder, executor: Executor) -> None:
    for run in folder.runs():
        end_leftover(run, executor)
    shutil.rmtree(folder.path.parent, ignore_errors=True)


def _trials(
    prepared: Prepared, folder: ExperimentFolder, executor: Executor, stop: StopRequests, planned: list[str]
) -> Trials:
    experiment = prepared.experiment("trial", dict.fromkeys(planned, 1), datetime.now().astimezone(), seed=0)
    # As it was typed, with its secrets; what is said of it has none.
    experiment = msgspec.structs.replace(
        experiment, command=prepared.target.command, predictions="none", weights="digest"
    )
    snapshot = take(prepared.snapshot, folder)
    if prepared.stdin is not None:
        shutil.copyfile(prepared.stdin, folder.stdin_file)
    instrumented = instrument_experiment(folder.snapshot, experiment)
    source = Source(
        experiment=experiment,
        folder=folder,
        snapshot=snapshot,
        overlay=file_codes(instrumented),
        environment=dict(os.environ),
        program=prepared.program,
        executor=executor.name,
        jobs=executor.jobs,
        reports=True,
        accepts=(0, *prepared.accept_status),
    )
    return Trials(source, executor, stop, skipped_edits(instrumented))


@dataclass(frozen=True)
class Trials:
    """A project that commands can be tried out in."""

    source: Source
    executor: Executor
    stop: StopRequests
    #: What could not be instrumented.
    skipped: list[str]

    def prepare(self, run: Run, variables: Mapping[str, str] | None = None, threads: int | None = None) -> Trial:
        """Make a run ready, with variables of its environment set last, and the number of threads where it is given."""
        slot = self.executor.slot(0)
        source = self.source
        if threads is not None:
            slot = msgspec.structs.replace(slot, threads=threads)
            alone = dict.fromkeys(VARIABLES, str(threads))
            source = replace(source, environment={**source.environment, **alone})
        ready = prepare_run(source, run, slot)
        if variables:
            environment = {**ready.launch.environment, **variables}
            ready = replace(ready, launch=msgspec.structs.replace(ready.launch, environment=environment))
        return Trial(source, ready, states(ready.copy), self.executor)


@dataclass(eq=False)
class Trial:
    """One run that is tried out."""

    source: Source
    ready: Ready
    #: The files of its copy, as they were before.
    files: State
    executor: Executor
    clock: Clock = time.monotonic
    #: Why the command was made to end; None where it was not.
    end_reason: Ending | None = None

    def watch(self, limit: float, stop: StopRequests, is_complete: Callable[[float], bool]) -> Ended:
        """Start the command and wait until it has ended, by itself, because all was seen, or after `limit` seconds.

        `is_complete` is given the seconds since the start, and tells whether everything needed has been seen.

        Raises
        ------
        KeyboardInterrupt
            Once the command has ended, where the user asked to stop.
        """
        try:
            handle = self.executor.start(self.ready.launch)
        except OSError as error:
            raise CommandNotFound(
                f"the system does not start {self.source.program}: {error}", hint="name a program of this machine"
            ) from error
        note_start(self.ready, handle)
        began = looked = self.clock()
        while self.executor.poll(handle):
            now = self.clock()
            if now - began >= limit:
                self.end_reason = self.end_reason or "limit"
            elif now - looked >= SEEN_EVERY and is_complete(now - began):
                self.end_reason = self.end_reason or "all seen"
            looked = now if now - looked >= SEEN_EVERY else looked
            if stop.count or self.end_reason is not None:
                self.executor.end(handle, at_once=stop.count > 1)
            self.executor.wait(LOOK_EVERY)
        # Nothing is derived from what the user cut short.
        stop.obey()
        return self.ready.folder.read_ended() or Ended(status=None, cause=None, seconds=self.clock() - began)

    def ending(self, ended: Ended) -> Ending:
        """Return how the trial ended."""
        if ended.cause is not None and self.end_reason is not None:
            return self.end_reason
        return "completed" if ended.status in self.source.accepts else "failed"

    def outcome(self, ended: Ended) -> Outcome:
        """Return what a run that ended like this is; the text files that it wrote are kept as those of runs are."""
        outcome = run_outcome(
            ended,
            self.ready.folder,
            words=self.source.experiment.command,
            copy=self.ready.copy,
            cwd=self.ready.launch.cwd,
            snapshot=self.source.snapshot,
            warnings=keep_written(self.ready.copy, self.ready.folder, self.files),
            expects_python=bool(self.source.experiment.entry),
            accepts=self.source.accepts,
        )
        return without_secrets(outcome, self.source.experiment.command, self.source.environment)
