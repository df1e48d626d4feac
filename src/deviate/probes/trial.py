"""Run a command for a short while in a folder that is thrown away, and say which metrics yielded values."""

from __future__ import annotations

import functools
import math
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from deviate.core.errors import BadOption, CommandNotFound
from deviate.core.experiment import SCHEMA, Direction, Experiment, Kind, Run
from deviate.core.frameworks import VARIABLES
from deviate.core.interrupts import StopRequests, listening
from deviate.core.secrets import mask_words
from deviate.lexicon.words import meaning_of
from deviate.observe.events import notes
from deviate.observe.identity import Series, table_series
from deviate.observe.iterations import TurnedLoop, observed_loop
from deviate.observe.metrics import MACHINES, missing_metrics
from deviate.observe.processes import run_processes
from deviate.observe.records import RunTallies, Tally, read_run, run_table
from deviate.observe.reported import ReportedNumber, RunSeries, mined_run, reported_numbers
from deviate.runs.executors.executor import DEFAULT_EXECUTOR, Executor, make_executor
from deviate.runs.kept import keep_written, written_states
from deviate.runs.outcomes import run_outcome, without_secrets
from deviate.runs.prepare import Ready, Source, make_source, prepare_run
from deviate.runs.prepared import Prepared, prepare_request
from deviate.runs.request import ReplicateOptions, Request
from deviate.runs.snapshot.manifest import take
from deviate.runs.snapshot.working_copy import State
from deviate.runs.work import end_leftover, note_start
from deviate.source.overlay import file_codes, instrument_experiment, skipped_edits
from deviate.store.folders import ExperimentFolder, RunFolder, Workspace, unusable
from deviate.store.locks import locked
from deviate.store.run_files import Ended, Outcome, Unfinished

#: Seconds a command is tried out where the user does not say.
DEFAULT_LIMIT = 60.0

#: Seconds between two looks at the process, and at what it wrote.
LOOK_EVERY = 0.05
SEEN_EVERY = 0.25

#: What a command prints to.
STREAMS = ("stdout", "stderr")

#: How a trial ended: ``limit`` and ``all seen`` are why it was made to end.
Ending = Literal["completed", "limit", "all seen", "failed"]

#: Returns seconds.
Clock = Callable[[], float]

#: Is told what begins.
Announce = Callable[[str], None]


def check_limit(limit: float, option: str = "--limit ") -> None:
    """Refuse a limit in seconds that is no time, by `BadOption`."""
    if not 0 < limit < math.inf:
        raise BadOption(
            f"{option.strip(' =')} must be a number of seconds above 0, found {limit:g}", f"type {option}60"
        )


@contextmanager
def open_trials(prepared: Prepared, executor: Executor, words: list[str], planned: list[str]) -> Iterator[Trials]:
    """Open a place where a command can be run several times; on exit everything is removed, leftovers included.

    `words` are those of this tool's own command, to say who works here; `planned` are variants.

    Raises WorkspaceUnusable if the folder cannot be written. Raises KeyboardInterrupt after Ctrl-C, once the command
    was ended and everything removed.
    """
    workspace = Workspace(prepared.target.project)
    workspace.prepare()
    command = ["deviate", *words, "--", *mask_words(prepared.target.command)]
    place = workspace.verification
    with locked(place, command), listening() as stop, _thrown_away(place, executor) as folder:
        yield _trials(prepared, folder, executor, stop, planned)
    stop.obey()


@contextmanager
def open_replays(folder: ExperimentFolder, executor: Executor, words: list[str]) -> Iterator[Trials]:
    """Open a place where runs of a stored experiment can be made again, as `open_trials` does."""
    place = Workspace(folder.project).verification
    with locked(place, ["deviate", *words]), listening() as stop, _thrown_away(place, executor) as mirror:
        experiment = msgspec.structs.replace(folder.read_experiment(), predictions="none", weights="digest")
        instrumented = instrument_experiment(folder.snapshot, experiment)
        overlay, user = file_codes(instrumented), dict(os.environ)
        source = make_source(
            experiment, folder, overlay, user, ReplicateOptions(), executor.name, jobs=executor.jobs, git=None
        )
        source = replace(source, mirror=mirror, reports=True)
        yield Trials(source, executor, stop, skipped_edits(instrumented))
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
        ended = run.read_ended()
        # A command that ended by itself was watched until nothing of it was left.
        if ended is None or ended.cause or ended.status or ended.left:
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
        return Trial(source, ready, written_states(ready.copy), self.executor)


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

        Raises KeyboardInterrupt once the command has ended, where the user asked to stop.
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


# What trial runs reported in text and the source does not show.


def left_files(copy: Path, snapshot: Path) -> list[str]:
    """Return the files in a copy that are not in what it was made of, relative to it."""
    files = []
    for folder, folders, names in os.walk(copy):
        folders[:] = [name for name in folders if name != "__pycache__"]
        relative = Path(folder).relative_to(copy)
        files += [str(relative / name) for name in names if not os.path.lexists(snapshot / relative / name)]
    return sorted(files)


class PrintedNumber(msgspec.Struct, frozen=True, kw_only=True):
    """A number in the text that a program reports, which is no value of a metric found in the source."""

    #: Of the observed metric, or of the number where it is none.
    name: str
    #: ``stdout``, ``stderr`` or a file.
    source: str
    #: The line with its numbers taken out, or the column or key of a file.
    line: str
    unit: str = ""
    #: How often it was reported in the first run, and its first and last value there.
    count: int
    first: float
    last: float
    #: Whether runs reported other values; null after one run, and where not all reported it.
    varies: bool | None = None
    #: Of an observed metric; null where it is none.
    kind: Kind | None = None
    direction: Direction | None = None
    #: Why it is no metric; empty where it is one.
    reason: str = ""


def printed_numbers(folders: Sequence[RunFolder], experiment: Experiment) -> list[PrintedNumber]:
    """Return what the trial runs in `folders` reported in text beside the metrics of the source, metrics first.

    A metric that is reported in several places is listed once. What the user says in ``deviate.toml`` has been obeyed.
    """
    names = [metric.name for metric in experiment.metrics]
    mined = {folder.run.folder: mined_run(folder).series for folder in folders}
    recorded = {
        folder.run.folder: {name: each.values for name, each in table_series(run_table(folder, names)).items()}
        for folder in folders
    }
    series: dict[tuple[str, str, int], RunSeries] = {}
    for each in (one for every in mined.values() for one in every):
        series.setdefault(each.series.slot.key, each)
    numbers = reported_numbers(mined, recorded, experiment.observed)
    runs = Counter(each.series.slot.key for every in mined.values() for each in every)
    return [
        _printed(number, series[number.key], compared=runs[number.key] == len(folders) > 1)
        for number in sorted(_once(numbers).values(), key=lambda each: not each.observed)
    ]


def printed_series(folder: RunFolder, experiment: Experiment, *, in_files: bool = True) -> dict[str, Series]:
    """Return the values of metrics that one run reported in text alone, under a name that says what they are.

    Unless also `in_files`, in what it printed.
    """
    mined = [each for each in mined_run(folder).series if in_files or each.series.slot.source in STREAMS]
    recorded = table_series(run_table(folder, [metric.name for metric in experiment.metrics]))
    run = folder.run.folder
    numbers = reported_numbers({run: mined}, {run: {name: each.values for name, each in recorded.items()}})
    known = {
        number.key: number.metric
        for number in _once(numbers).values()
        if number.observed and number.kind not in MACHINES and meaning_of(number.name) is not None
    }
    return {
        known[each.series.slot.key]: Series(
            each.iterations.astype(np.int32),
            each.series.values,
            each.series.offsets.astype(np.int32),
            counted=False,
        )
        for each in mined
        if each.series.slot.key in known
    }


def _once(numbers: Sequence[ReportedNumber]) -> Mapping[object, ReportedNumber]:
    """Return the numbers that show no metric of the source, of those that show one observed metric the first."""
    once: dict[object, ReportedNumber] = {}
    for number in numbers:
        if number.observed or not number.metric:
            once.setdefault(number.metric or number.key, number)
    return once


def _printed(number: ReportedNumber, seen: RunSeries, *, compared: bool) -> PrintedNumber:
    values = seen.series.values
    return PrintedNumber(
        name=number.metric or number.name,
        source=number.source,
        line=number.template,
        unit=number.unit,
        count=len(values),
        first=float(values[0]),
        last=float(values[-1]),
        varies=number.varies if compared else None,
        kind=number.kind,
        direction=number.direction,
        reason=number.reason,
    )


# Try a command out before compute is spent: run it for a short while and see whether every metric yields values.

#: The program exactly as it is.
TRIAL = Run(variant="as-is", index=0)

#: Iterations of a main loop that goes round.
GOING_ROUND = 2

#: By name and index of the metric in the experiment (-1: a name learnt at run time).
Tallies = Mapping[tuple[str, int], Tally]


class YieldedMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A selected metric that yielded values."""

    name: str
    count: int
    first: float
    last: float


class UnforeseenName(msgspec.Struct, frozen=True, kw_only=True):
    """A name that was learnt at run time: a key, a label, or what a framework logs."""

    name: str
    #: The selected metric it belongs to; None: reported by a framework.
    metric: str | None
    count: int
    first: float
    last: float


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the trial of a command."""

    schema: int = SCHEMA
    #: Selected metrics in the order they were found, and the names of those that yielded none.
    verified: list[YieldedMetric]
    silent: list[str]
    unforeseen: list[UnforeseenName]
    ended: Ending
    seconds: float
    #: Iterations of the main loop that were begun.
    iterations: int
    #: Why the program failed or was not measured; empty where it was.
    reason: str = ""
    #: What to do where a metric is silent.
    hint: str = ""
    #: The last lines of the standard error of a program that failed.
    stderr: list[str] = []
    #: What could not be instrumented or read.
    notes: list[str] = []
    command: list[str] = []
    #: Seconds after which the command would have been ended.
    limit: float = DEFAULT_LIMIT
    #: Numbers that it reported in text until it ended and that no metric of the source shows; observed metrics first.
    printed: list[PrintedNumber] = []
    #: The loop that goes round by the lines that print, where the source shows no main loop or that did not go round.
    turned: TurnedLoop | None = None
    #: What a round of the main loop is called.
    word: str = "iteration"

    @property
    def measured(self) -> bool:
        """Whether every metric of the source yielded values, and there is one, in the source or in the output."""
        return not self.silent and bool(self.verified or any(number.kind for number in self.printed))


def verify(request: Request, limit: float = DEFAULT_LIMIT, executor: Executor | None = None) -> Verification:
    """Run a command until each selected metric of its source yielded a value, at most for a while.

    The program runs as it is, in a copy of the project that is thrown away; no experiment is made. What the request
    says of runs does not matter.

    `limit`: seconds after which the command is ended; `executor`: by default on this machine.

    Raises BadInput as ``deviate run`` does, before anything is written; a program without metrics is verified as well.
    Raises KeyboardInterrupt after Ctrl-C, once the command was ended and everything removed.
    """
    check_limit(limit, "--set timeout=")
    prepared = prepare_request(request, scripted=False)
    executor = executor or make_executor(DEFAULT_EXECUTOR, 1)
    with open_trials(prepared, executor, ["extract", "--verify"], [TRIAL.variant]) as trials:
        trial = trials.prepare(TRIAL)
        tallies = RunTallies(trial.ready.folder, trial.source.metric_names)
        foreseen = bool(trial.source.experiment.metrics)
        ended = trial.watch(limit, trials.stop, lambda seconds: foreseen and not _missing(trial, tallies.look()))
        return _result(trial, tallies, ended, [*prepared.notes, *trials.skipped], limit)


def _missing(trial: Trial, tallies: Tallies) -> list[str]:
    return [metric.name for metric in missing_metrics(trial.source.experiment, tallies)]


def _result(trial: Trial, tallies: RunTallies, ended: Ended, known_notes: list[str], limit: float) -> Verification:
    """Return what the command yielded until it had ended."""
    yielded = tallies.look()
    outcome = trial.outcome(ended)
    known = outcome if isinstance(outcome, Unfinished) and ended.cause is None else None
    experiment = trial.source.experiment
    return Verification(
        verified=list(yielded_metrics(experiment, yielded)),
        silent=_missing(trial, yielded),
        unforeseen=unforeseen_names(experiment, yielded),
        ended=trial.ending(ended),
        seconds=round(ended.seconds, 2),
        iterations=tallies.iterations,
        reason=known.reason if known else "",
        hint=known.hint if known else f"`deviate extract {experiment.entry} --diff` shows what is recorded where",
        stderr=known.stderr if known else [],
        notes=[*known_notes, *(note.message for note in notes([read_run(trial.ready.folder)]))],
        command=mask_words(experiment.command),
        limit=limit,
        printed=printed_numbers([trial.ready.folder], experiment),
        turned=_turned(trial) if tallies.iterations < GOING_ROUND else None,
        word=experiment.word,
    )


def _turned(trial: Trial) -> TurnedLoop | None:
    """Return the loop that was seen to go round, unless it is the main loop of the source."""
    known = trial.source.experiment.main_loop
    found = observed_loop(run_processes(trial.ready.folder), trial.source.folder.snapshot)
    is_known = known is not None and found is not None and (known.file, known.line) == (found[0].file, found[0].line)
    return None if found is None or is_known else found[0]


def yielded_metrics(experiment: Experiment, tallies: Tallies) -> Iterator[YieldedMetric]:
    """Yield the selected metrics that yielded values."""
    for position, metric in enumerate(experiment.metrics):
        # What a framework reports may have been foreseen by name only.
        parts = [tally for key, tally in tallies.items() if key[1] == position or key == (metric.name, -1)]
        if parts:
            whole = functools.reduce(Tally.joined, parts)
            yield YieldedMetric(name=metric.name, count=whole.count, first=whole.first, last=whole.last)


def unforeseen_names(experiment: Experiment, tallies: Tallies) -> list[UnforeseenName]:
    """Return the names in the records that are no selected metric's."""
    names = [metric.name for metric in experiment.metrics]
    return [
        UnforeseenName(name=name, metric=metric, count=tally.count, first=tally.first, last=tally.last)
        for (name, source), tally in tallies.items()
        for metric in [names[source] if source >= 0 else None]
        if name not in names
    ]
