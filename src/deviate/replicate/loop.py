"""The replicate stage: make the runs of an experiment that are still to be made."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping

from deviate.experiment import Experiment
from deviate.instrument.edits import FileCode
from deviate.replicate.engines.engine import Printer
from deviate.replicate.engines.pace import Known
from deviate.replicate.engines.printing import PrintStage
from deviate.replicate.engines.stage import RemoteStage
from deviate.replicate.events import Event
from deviate.replicate.executors.executor import Executor
from deviate.replicate.interrupts import listening
from deviate.replicate.jobs import TwinOf
from deviate.replicate.options import ReplicateOptions
from deviate.replicate.orders import Order, clear_submissions
from deviate.replicate.prepare import make_source
from deviate.replicate.shared import share_steps
from deviate.replicate.snapshot.git import describe_commit
from deviate.replicate.stage import LocalStage
from deviate.replicate.steps import step_source
from deviate.replicate.todo import Todo
from deviate.replicate.work import Means
from deviate.replicate.workspace.folders import ExperimentFolder, unusable


def replicate(
    experiment: Experiment,
    folder: ExperimentFolder,
    overlay: Mapping[str, FileCode],
    executor: Executor,
    *,
    known: Known | None = None,
    printer: Printer | None = None,
    step_overlays: Mapping[str, Mapping[str, FileCode]] | None = None,
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

    Commands are started by `executor` on this machine, unless workers elsewhere start them, those of the engine of
    `known`, or a `printer` says how a user starts such. What was handed to workers goes on when the user stops this
    process; while it does, events say how long there is nothing to do (`Idle`).

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
        stage = LocalStage(means, todo)
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
