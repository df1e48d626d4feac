"""Try a command out before compute is spent: run it for a short while and see whether every metric yields values."""

from __future__ import annotations

from deviate.collect.events import notes
from deviate.collect.measured import missing_metrics
from deviate.collect.tally import RunTallies
from deviate.experiment import Run
from deviate.replicate.executors import Executor
from deviate.replicate.executors.local import LocalExecutor
from deviate.replicate.outcome import Unfinished
from deviate.replicate.supervise import Ended
from deviate.request import Request, prepare_request
from deviate.trial import DEFAULT_LIMIT, Trial, Trials, check_limit, trials
from deviate.verified import Found, Verification, came, unforeseen

#: The program exactly as it is.
TRIAL = Run(variant="as-is", index=0)


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
    check_limit(limit)
    prepared = prepare_request(request)
    with trials(prepared, executor or LocalExecutor(1), ["extract", "--verify"], [TRIAL.variant]) as offered:
        return _try_out(offered, limit)


def _try_out(offered: Trials, limit: float) -> Verification:
    trial = offered.prepare(TRIAL)
    tallies = RunTallies(trial.ready.folder, trial.source.metric_names)
    ended = trial.watch(limit, offered.stop, lambda seconds: not _missing(trial, tallies.look()))
    return _result(trial, tallies, ended, offered.skipped)


def _missing(trial: Trial, found: Found) -> list[str]:
    return [metric.name for metric in missing_metrics(trial.source.experiment, found)]


def _result(trial: Trial, tallies: RunTallies, ended: Ended, skipped: list[str]) -> Verification:
    """Return what came until the command had ended."""
    found = tallies.look()
    outcome = trial.outcome(ended)
    known = outcome if isinstance(outcome, Unfinished) and ended.cause is None else None
    experiment = trial.source.experiment
    return Verification(
        verified=list(came(experiment, found)),
        silent=_missing(trial, found),
        unforeseen=unforeseen(experiment, found),
        ended=trial.ending(ended),
        seconds=round(ended.seconds, 2),
        iterations=tallies.iterations,
        reason=known.reason if known else "",
        hint=known.hint if known else f"`deviate extract {experiment.entry} --diff` shows what is recorded where",
        stderr=known.stderr if known else [],
        notes=[*skipped, *(note.message for note in notes([trial.ready.folder]))],
    )
