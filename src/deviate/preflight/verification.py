"""Try a command out before compute is spent: run it for a short while and see whether every metric yields values."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import msgspec

from deviate.collect.events import notes
from deviate.collect.measured import missing_metrics
from deviate.collect.passes import observed_loop
from deviate.collect.processes import run_processes
from deviate.collect.runs import read_run
from deviate.collect.tally import RunTallies, Tally
from deviate.collect.turned import TurnedLoop
from deviate.experiment import SCHEMA, Experiment, Run
from deviate.preflight.printed import PrintedNumber, printed_numbers
from deviate.preflight.trial import DEFAULT_LIMIT, Ending, Trial, check_limit, open_trials
from deviate.replicate.environment.masking import mask_words
from deviate.replicate.executors.executor import Executor
from deviate.replicate.executors.registry import DEFAULT_EXECUTOR, make_executor
from deviate.replicate.workspace.run_files import Ended, Unfinished
from deviate.study.prepared import prepare_request
from deviate.study.request import Request

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

    @property
    def measured(self) -> bool:
        """Whether every metric of the source yielded values, and there is one, in the source or in the output."""
        return not self.silent and bool(self.verified or any(number.kind for number in self.printed))


def verify(request: Request, limit: float = DEFAULT_LIMIT, executor: Executor | None = None) -> Verification:
    """Run a command until each selected metric of its source yielded a value, at most for a while.

    The program runs as it is, in a copy of the project that is thrown away; no experiment is made. What the request
    says of runs does not matter.

    Parameters
    ----------
    limit : float, optional
        Seconds after which the command is ended.
    executor : Executor, optional
        By default on this machine.

    Raises
    ------
    BadInput
        As ``deviate run`` does, before anything is written; a program without metrics is verified as well.
    KeyboardInterrupt
        After Ctrl-C, once the command was ended and everything removed.
    """
    check_limit(limit)
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
