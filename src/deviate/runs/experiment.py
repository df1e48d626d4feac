"""Make the runs of an experiment: as many as were requested, or until there are enough.

The replicate stage: make the runs of an experiment that are still to be made.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import msgspec

from deviate.core.errors import BadOption, FailedAlike, FirstRunFailed, NothingRecorded, RunElsewhere
from deviate.core.experiment import Decided, Experiment, Run, Until
from deviate.core.interrupts import StopRequests, at_any_end, listening
from deviate.core.shell_words import typed_word
from deviate.runs.cluster import Engines, make_printer
from deviate.runs.engines.engine import Known, Printer, PrintStage, RemoteStage
from deviate.runs.events import (
    Begun,
    ColdStart,
    Event,
    Idle,
    PackingTried,
    RunEnded,
    RunShared,
    RunStarted,
    StudyEvent,
    with_ordered_values,
)
from deviate.runs.executors.executor import Executor, Places
from deviate.runs.executors.warm import PACKAGES, WarmExecutor
from deviate.runs.hardware import Gpus, chosen_gpus
from deviate.runs.lease import LeaseHeld, acquire, live_holder
from deviate.runs.orders import Order, clear_submissions
from deviate.runs.packing import Make as MakeTrial
from deviate.runs.packing import clear_trial, trial_options, try_packing
from deviate.runs.prepare import make_source, step_source
from deviate.runs.prepared import accepted_statuses, step_overlay
from deviate.runs.request import ReplicateOptions, Request, container_wish
from deviate.runs.resume import Sharing, note_needless, plan_runs, requested_runs
from deviate.runs.snapshot.survey import describe_commit
from deviate.runs.todo import Probe, Todo, end_leftovers, share_steps
from deviate.runs.work import LOOK_EVERY, Job, Means, TwinOf, Worker, stays
from deviate.source.edits import FileCode
from deviate.source.imports import leading_packages
from deviate.source.overlay import file_codes, instrument_experiment
from deviate.store.folders import ExperimentFolder, RunFolder, unusable
from deviate.store.records import has_values, read_progress
from deviate.store.run_files import Completed, Failed, NotInstrumented

if TYPE_CHECKING:
    from deviate.runs.until import Referee


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


# How many runs go on side by side on this machine, and which GPUs they share.


class Slots(msgspec.Struct, frozen=True, kw_only=True):
    """Room for runs."""

    jobs: int
    #: None: the user does not say, see `LocalExecutor`.
    gpus: Gpus | None = None

    @property
    def per_gpu(self) -> int:
        """Runs that share a GPU at most, of those that the user shares out; else 1."""
        return -(-self.jobs // len(self.gpus.names)) if self.gpus else 1


def make_slots(request: Request, folder: ExperimentFolder, environment: Mapping[str, str] | None = None) -> Slots:
    """Return the room that a request asks for; what it does not say is as in the latest runs of `folder`.

    Raises BadOption if the GPUs are not there, or more runs are asked for than may share them.
    """
    gpus = shared_gpus(request, os.environ if environment is None else environment)
    if gpus is None:
        return Slots(jobs=request.jobs or latest_jobs(folder))
    return Slots(jobs=request.jobs or len(gpus.names) * (request.per_gpu or 1), gpus=gpus)


def shared_gpus(request: Request, environment: Mapping[str, str]) -> Gpus | None:
    """Return the GPUs that runs share out; None where the user does not say.

    Raises BadOption as `make_slots` does.
    """
    if request.gpus is None and request.per_gpu is None:
        return None
    gpus = chosen_gpus(request.gpus or "all", environment)
    most = len(gpus.names) * (request.per_gpu or 1)
    if request.jobs is not None and request.jobs > most:
        raise BadOption(
            f"-j {request.jobs} is more than {len(gpus.names)} GPUs have room for",
            hint=f"type -j {most}, or --set per_gpu={-(-request.jobs // len(gpus.names))}",
        )
    return gpus


def latest_jobs(folder: ExperimentFolder) -> int:
    """Return how many runs went on side by side so far: with another number each gets another share of the cores."""
    infos = [info for run in folder.runs() if run.is_done and (info := run.read_info()) is not None]
    return max(infos, key=lambda info: info.started).jobs if infos else 1


#: Errors by which a training ends that misses a module or a file, or whose source cannot be read.
_MISSING = re.compile(
    r"ModuleNotFoundError|ImportError|FileNotFoundError|NotADirectoryError|SyntaxError|IndentationError"
)

_NO_MODULE = "ModuleNotFoundError: No module named"

#: The status of a program that refuses the words it was given, and what its line begins with.
REFUSED = 2
_REFUSES = re.compile(r"^\S+: error: ")


def make_runs(
    request: Request,
    command: Sequence[str],
    folder: ExperimentFolder,
    rule: Until | Decided | None,
    changed: Sequence[str] = (),
    referee: Referee | None = None,
    engines: Engines | None = None,
) -> Iterator[StudyEvent]:
    """Make the runs that are still to be made; after the first completed one, say which factors it drew for.

    `command` has its secrets, which the stored one has not.
    `changed` is what changed in the project since its snapshot was taken: it marks the runs. `rule` decides how many
    runs are made, by `referee` where it is a comparison.

    Raises NothingRecorded after the first run, where it completed and neither recorded a value nor printed a metric:
    the others would not either. Raises FailedAlike after the second run of a variant and later, where all of them
    failed with the same error in the same iteration. Raises FirstRunFailed after the first run, where something that
    the training needs is missing, or where no instrument reached the training: it would be so in the others, too.
    """
    with closing(_rounds(request, command, folder, rule, changed, referee, engines)) as events:
        for event in events:
            yield event
            if isinstance(event, RunEnded) and isinstance(event.outcome, NotInstrumented):
                _require_instruments(folder, event.run, event.outcome)
            if isinstance(event, RunEnded) and isinstance(event.outcome, Failed):
                _require_beginning(folder, event.run, event.outcome)
                if not request.even_so:
                    _require_other_ends(folder, event.run, event.outcome)
            if isinstance(event, RunEnded) and isinstance(event.outcome, Completed):
                _require_records(folder, event.run)


def _rounds(
    request: Request,
    command: Sequence[str],
    folder: ExperimentFolder,
    rule: Until | Decided | None,
    changed: Sequence[str],
    referee: Referee | None,
    engines: Engines | None,
) -> Generator[StudyEvent, None, None]:
    slots = make_slots(request, folder)
    make = run_maker(request, command, folder, slots, changed, engines)
    planned = requested_runs(request)
    if rule is None:
        return make(planned)
    from deviate.runs.until import until_decided, until_enough

    if isinstance(rule, Until):
        return until_enough(make, folder, rule, list(planned), slots.jobs)
    assert referee is not None  # `runs.pipeline.run` refuses the request without one
    return until_decided(make, folder, rule, slots.jobs, referee)


def run_maker(
    request: Request,
    command: Sequence[str],
    folder: ExperimentFolder,
    slots: Slots,
    changed: Sequence[str] = (),
    engines: Engines | None = None,
) -> Callable[..., Generator[StudyEvent, None, None]]:
    """Return what makes the runs planned that are not made yet, and evaluates those that are not evaluated yet."""
    experiment = folder.read_experiment()
    instrumented = instrument_experiment(folder.snapshot, experiment)
    overlay = file_codes(instrumented)
    step_overlays = {step.name: step_overlay(folder, experiment, step) for step in experiment.steps}
    engines = engines or Engines()
    known, printer = engines.known(request, folder), make_printer(request, folder)
    is_here = known is None and printer is None
    warm = _warm_executor(folder, experiment, slots) if request.warm and is_here else None
    executor = warm or engines.here(slots.jobs if is_here else 1, slots.gpus)
    marks = list(_marks(changed))

    def make(planned: Mapping[str, int], first: bool = True) -> Generator[StudyEvent, None, None]:
        asked = msgspec.structs.replace(plan_runs(folder, planned), command=list(command))
        sharing = _sharing(request, folder)
        options = ReplicateOptions(
            timeout=request.timeout,
            stall=request.stall,
            memory=request.memory,
            retry_failed=request.retry_failed and first,
            retry_killed=first,
            accept_status=accepted_statuses(request, folder.project),
            keep_work=not request.discard_work,
            strict=bool(request.strict),
            same_hardware=bool(request.same_hardware),
            probe="run" if sharing and sharing.waits else "iteration",
            container=container_wish(request, folder.project),
            warnings=tuple(marks),
        )
        clear_trial(folder, executor)
        if first and slots.per_gpu > 1 and _lacks_runs(folder, asked):
            trial = _trial_maker(overlay, step_overlays, options)
            yield PackingTried(per_gpu=slots.per_gpu)
            packing = try_packing(asked, folder, executor, slots.per_gpu, trial)
            yield PackingTried(per_gpu=slots.per_gpu, result=packing)
            marks.extend(packing.mark)
            options = msgspec.structs.replace(options, warnings=tuple(marks))
        stream = replicate(
            asked, folder, overlay, executor, known=known, printer=printer, places=engines.places,
            step_overlays=step_overlays, twin=sharing.twin if sharing else _itself, options=options,
        )  # fmt: skip
        yield _begun(folder, asked if asked.planned else experiment, slots.jobs)
        needless = []
        with ExitStack() as held:
            if warm is not None:
                held.enter_context(at_any_end(warm.close))
            events = held.enter_context(closing(stream))
            for event in events:
                needless += [event.run] if isinstance(event, RunShared) and event.twin is None else []
                yield with_ordered_values(event, experiment)
                for reason in warm.new_reasons() if warm else ():
                    yield ColdStart(reason=reason)
        note_needless(folder, planned, needless)

    return make


def _begun(folder: ExperimentFolder, asked: Experiment, jobs: int) -> Begun:
    names = [metric.name for metric in asked.metrics]
    completed = folder.completed_runs()
    return Begun(experiment=asked, jobs=jobs, values={run.run: read_progress(run, names).values for run in completed})


def _lacks_runs(folder: ExperimentFolder, asked: Experiment) -> bool:
    done = {run.run for run in folder.runs() if stays(run, retry_failed=False, retry_killed=True)}
    return any(
        Run(variant=name, index=index) not in done for name, runs in asked.planned.items() for index in range(runs)
    )


def _trial_maker(
    overlay: Mapping[str, FileCode], step_overlays: Mapping[str, Mapping[str, FileCode]], options: ReplicateOptions
) -> MakeTrial:
    def make(experiment: Experiment, place: ExperimentFolder, executor: Executor) -> Generator[Event, None, None]:
        return replicate(
            experiment, place, overlay, executor, step_overlays=step_overlays, options=trial_options(options)
        )

    return make


def _warm_executor(folder: ExperimentFolder, experiment: Experiment, slots: Slots) -> WarmExecutor:
    entry = folder.snapshot / experiment.entry
    own = [entry.parent, folder.snapshot / experiment.folder, folder.snapshot]
    packages = leading_packages(entry, own, PACKAGES) if experiment.entry else []
    return WarmExecutor(slots.jobs, experiment.command, packages, slots.gpus)


def _sharing(request: Request, folder: ExperimentFolder) -> Sharing | None:
    # Rounds of --until are of as many runs as they were planned with.
    if request.share == "none" or request.until:
        return None
    return Sharing(folder, folder.read_experiment().planned)


def _itself(run: Run) -> Run:
    return run


def _marks(changed: Sequence[str]) -> tuple[str, ...]:
    if not changed:
        return ()
    return (
        f"added with --edited after the project had changed: {', '.join(changed)}; made from the experiment's copy, "
        "but linked files and those outside the project were read as they were then",
    )


def _require_records(folder: ExperimentFolder, completed: Run) -> None:
    # Iterations alone have records, too. What models predicted, and what is evaluated later, needs no metric.
    if folder.read_experiment().evaluations or any(
        run.prediction_files() or has_values(run) for run in folder.runs() if run.is_done
    ):
        return
    from deviate.observe.observation import reports_metric

    if reports_metric(folder.run(completed)):
        return
    entry = folder.read_experiment().entry
    recorded = f"; `deviate extract {typed_word(entry)} --diff` what is recorded where" if entry else ""
    raise NothingRecorded(
        f"run {completed.folder} of {folder.name!r} completed, recorded no value of a metric, and printed no number "
        "that looks like one",
        hint=f"`deviate logs {typed_word(folder.name)} {completed.folder}` shows what it printed{recorded}",
    )


def _require_beginning(folder: ExperimentFolder, failed: Run, outcome: Failed) -> None:
    done = [run for run in folder.runs() if run.is_done]
    waiting = sum(folder.read_experiment().planned.values()) - len(done)
    is_missing = any(_MISSING.match(line) for line in outcome.stderr[-1:])
    if len(done) > 1 or not waiting or not is_missing or any(run.record_files() for run in done):
        return
    name, run, error = folder.name, failed.folder, outcome.stderr[-1]
    # A name that a module lacks, and a text that is no Python, are mended by no package.
    remedy = "install the package, then " if error.startswith(_NO_MODULE) else "mend that, then "
    raise FirstRunFailed(
        f"{_trained(folder)} failed in its first run, before it reported anything ({waiting} not started): {error}",
        hint=outcome.hint
        or f"{remedy}type the same command with --retry-failed; all that it printed: deviate logs {typed_word(name)} "
        f"{run}",
    )


def _require_instruments(folder: ExperimentFolder, ended: Run, outcome: NotInstrumented) -> None:
    """Refuse to go on where the first run trained with no instrument in it: each further one would."""
    done = [run for run in folder.runs() if run.is_done]
    waiting = sum(folder.read_experiment().planned.values()) - len(done)
    if len(done) > 1 or not waiting:
        return
    raise FirstRunFailed(
        f"nothing of the first run of {_trained(folder)} was recorded ({waiting} not started): {outcome.reason}",
        hint=outcome.hint,
    )


def _require_other_ends(folder: ExperimentFolder, failed: Run, outcome: Failed) -> None:
    """Refuse to go on with a variant whose runs have all failed alike; failures that vary are an outcome."""
    experiment = folder.read_experiment()
    done = [run for run in folder.runs() if run.is_done and run.run.variant == failed.variant]
    waiting = experiment.planned.get(failed.variant, 0) - len(done)
    if len(done) < 2 or waiting < 1 or any(_end(run, experiment) != _end(done[0], experiment) for run in done):
        return
    name, run = folder.name, failed.folder
    refused = outcome.exit_code == REFUSED and not any(has_values(each) for each in done)
    of = f" of {failed.variant}" if len(experiment.planned) > 1 else ""
    how = "ended at once" if refused else "failed alike"
    error = _REFUSES.sub("", outcome.stderr[-1].strip()) if outcome.stderr else outcome.reason
    raise FailedAlike(
        f"{_trained(folder)} {how}, {len(done)} of {len(done)} runs{of} ({waiting} not started): {error}",
        hint=outcome.hint
        or (
            "correct the command and type it again"
            if refused
            else f"see deviate logs {typed_word(name)} {run}, then type the same command with --retry-failed, or with "
            "--set even_so=true to start the others all the same"
        ),
    )


def _trained(folder: ExperimentFolder) -> str:
    """Name what is trained: the script, else the experiment."""
    entry = folder.read_experiment().entry
    return os.path.basename(entry) if entry else folder.name


def _end(run: RunFolder, experiment: Experiment) -> tuple[object, ...]:
    """Return with which error and in which iteration a run failed; another end is like no other."""
    outcome = run.read_outcome()
    if not isinstance(outcome, Failed):
        return (run.run.folder,)
    iteration = read_progress(run, [metric.name for metric in experiment.metrics]).iteration
    return (outcome.exit_code, outcome.signal, outcome.stderr[-1:] or outcome.hint, iteration)
