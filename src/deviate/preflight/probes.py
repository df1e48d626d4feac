"""Look before compute is spent: which factors of nondeterminism a command has, which are pinned, and by what.

Short probes are compared by their fingerprints: two of the program as it is, two with every factor held fixed, and one
for each factor that is there, with only that factor varied.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from deviate.collect.events import given_seeds, notes, reached_draws, used_gpu
from deviate.collect.fingerprints import joined_fingerprints
from deviate.collect.processes import Process, processes
from deviate.collect.runs import RunFiles, read_run
from deviate.collect.tally import RunTallies
from deviate.experiment import Run
from deviate.factors import OBSERVED, SEEDED
from deviate.preflight.explanation import check_factor, explain_factor, with_explanation
from deviate.preflight.trial import DEFAULT_LIMIT, Trial, Trials, check_limit, open_trials
from deviate.preflight.verdicts import Audit, AuditedFactor, Prints, Probe, assess_factor, digests, repeated_draws
from deviate.replicate.executors.executor import Executor
from deviate.replicate.executors.registry import make_executor
from deviate.replicate.workspace.folders import RunFolder
from deviate.replicate.workspace.run_files import Ended, Unfinished
from deviate.study.request import Request, prepare_request

#: What a probe has to go through: in two whole iterations of the main loop each factor of it has been drawn for.
ITERATIONS = 3

#: Seconds without a new fingerprint, seed or draw after which no more are waited for: after those iterations; in a main
#: loop that has begun; and where no main loop is known. At least as much as this share of the time up to the last one.
QUIET_AFTER, QUIET_WITHIN, QUIET_WITHOUT = 1.0, 4.0, 10.0
QUIET_SHARE = 0.5

AS_IT_IS, CONTROL = OBSERVED.name, "control"

#: Is given the name of each probe when it begins.
Announce = Callable[[str], None]


def audit(
    request: Request,
    limit: float = DEFAULT_LIMIT,
    executor: Executor | None = None,
    announce: Announce = lambda name: None,
    *,
    quick: bool = False,
    explain: str | None = None,
) -> Audit:
    """Probe a command and assess each of its factors.

    The command runs several times, each time for as long as it takes to see each factor drawn for, in a copy of the
    project that is thrown away; no experiment is made. What the request says of runs does not matter.

    Parameters
    ----------
    limit : float, optional
        Seconds after which a probe is ended.
    executor : Executor, optional
        By default on this machine.
    quick : bool, optional
        Look at the program as it is only, and do not try whether its factors can be held and varied.
    explain : str, optional
        List the lines that draw for this factor, too.

    Raises
    ------
    BadInput
        As ``deviate run`` does, before anything is written; a program without metrics is audited as well.
    KeyboardInterrupt
        After Ctrl-C, once the command was ended and everything removed.
    """
    check_limit(limit)
    check_factor(explain)
    prepared = prepare_request(request, measured=False)
    executor = executor or make_executor(request.executor, 1)
    with open_trials(prepared, executor, ["audit"], [AS_IT_IS, CONTROL]) as trials:
        audited = _Probing(with_explanation(trials, explain), limit, announce)
        return audited.audit(quick=quick)


class _Probing:
    """The probes of one command."""

    def __init__(self, trials: Trials, limit: float, announce: Announce) -> None:
        self.trials = trials
        self.limit = limit
        self.announce = announce
        self.probes: list[Probe] = []
        self.runs: list[RunFiles] = []
        #: How many processes the first probe drew in, by factor: later ones need not go on for longer.
        self.draws_expected: dict[str, int] = {}

    def audit(self, *, quick: bool) -> Audit:
        """Make the probes and derive the audit."""
        observed = [self._probe(Run(variant=AS_IT_IS, index=index), "as it is") for index in (0, 1)]
        controls: list[Prints] = [{}, {}]
        varied: dict[str, Prints] = {}
        if not quick:
            controls = [self._probe(Run(variant=CONTROL, index=index), CONTROL) for index in (0, 1)]
            present = [factor for factor in SEEDED if any(factor in prints for prints in (*observed, *controls))]
            varied = {factor: self._probe(Run(variant=factor, index=1), f"{factor} varied") for factor in present}
        first = self.runs[:2]
        seeds = given_seeds(first)
        experiment = self.trials.source.experiment
        return Audit(
            command=experiment.command,
            factors=[self._checked(assess_factor(n, observed, controls, varied.get(n), seeds)) for n in SEEDED],
            workers=repeated_draws(first[0].processes),
            seeds=seeds,
            draws_left=[draw for draw in reached_draws(first, experiment.draws) if draw.factor == "other"],
            gpu=used_gpu(first[0]),
            probes=self.probes,
            notes=list(dict.fromkeys([*self.trials.skipped, *(note.message for note in notes(self.runs))])),
            quick=quick,
            explanation=explain_factor(self.trials.source.explain, first, self.trials.source.folder.snapshot),
        )

    def _checked(self, factor: AuditedFactor) -> AuditedFactor:
        """Take nothing for absent that a failed probe may not have come to."""
        if factor.verdict == "absent" and any(probe.reason for probe in self.probes[:2]):
            return msgspec.structs.replace(factor, verdict="unknown", why="a probe failed")
        return factor

    def _probe(self, run: Run, name: str) -> Prints:
        # A program that fails at once fails in the other probes as well.
        if self.trials.stop.count or (len(self.probes) > 1 and all(probe.reason for probe in self.probes)):
            return {}
        self.announce(name)
        trial = self.trials.prepare(run)
        folder = trial.ready.folder
        settled = Settled(folder, trial.source.metric_names, self.draws_expected)
        ended = trial.watch(self.limit, self.trials.stop, settled.look)
        run_files = read_run(folder)
        prints = joined_fingerprints(run_files.processes, interrupted=ended.cause is not None)
        self.runs.append(run_files)
        self.probes.append(_result(name, trial, ended, prints, settled.tallies))
        if not self.draws_expected:
            self.draws_expected = drawn_in(run_files.processes)
        return prints


def _result(name: str, trial: Trial, ended: Ended, prints: Prints, tallies: RunTallies) -> Probe:
    outcome = trial.outcome(ended)
    problem = outcome if isinstance(outcome, Unfinished) and ended.cause is None else None
    tallies.look()
    return Probe(
        name=name,
        ended=trial.ending(ended),
        seconds=round(ended.seconds, 2),
        iterations=tallies.iterations,
        fingerprints=digests(prints),
        reason=problem.reason if problem else "",
        hint=problem.hint if problem else "",
        stderr=problem.stderr if problem else [],
    )


def drawn_in(processes: list[Process]) -> dict[str, int]:
    """Return in how many processes each factor was drawn for."""
    prints = joined_fingerprints(processes)
    return {factor: prints[factor].processes for factor in SEEDED if factor in prints}


class Settled:
    """Tells when a probe has shown what it has to show.

    `draws_expected` is by factor the number of processes that draw for it; empty where it is not known: then the probe
    has to grow quiet.
    """

    def __init__(self, folder: RunFolder, metrics: list[str], draws_expected: dict[str, int]) -> None:
        self.folder = folder
        self.draws_expected = draws_expected
        self.tallies = RunTallies(folder, metrics)
        self._news = 0
        #: Seconds at which the last news came.
        self._heard = 0.0

    def look(self, seconds: float) -> bool:
        """Tell whether all was seen, `seconds` after the start."""
        run_processes = processes(self.folder)
        if self.draws_expected:
            drawn = drawn_in(run_processes)
            return all(drawn.get(factor, 0) >= number for factor, number in self.draws_expected.items())
        events = (event["event"] for process in run_processes for event in process.events)
        news = sum(event in ("start", "seed", "draw", "fingerprint") for event in events)
        if news != self._news:
            self._news, self._heard = news, seconds
        return any(drawn_in(run_processes)) and seconds - self._heard >= self._patience()

    def _patience(self) -> float:
        self.tallies.look()
        if self.tallies.iterations >= ITERATIONS:
            return QUIET_AFTER
        least = QUIET_WITHIN if self.tallies.iterations else QUIET_WITHOUT
        return max(least, QUIET_SHARE * self._heard)
