"""Look before compute is spent: which factors of nondeterminism a command has, which are pinned, and by what.

Short probes are compared by their fingerprints: two of the program as it is, two with every factor held fixed, and one
for each factor that is there, with only that factor varied.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from deviate.audited import Audit, AuditedFactor, Prints, Probe, digests, judge_factor, repeated_draws
from deviate.collect.events import given_seeds, notes, reached_draws, used_gpu
from deviate.collect.fingerprints import joined_fingerprints
from deviate.collect.processes import Process, processes
from deviate.collect.tally import RunTallies
from deviate.experiment import Run
from deviate.factors import OBSERVED, SEEDED
from deviate.replicate.executors import Executor
from deviate.replicate.executors.local import LocalExecutor
from deviate.replicate.outcome import Unfinished
from deviate.replicate.supervise import Ended
from deviate.replicate.workspace import RunFolder
from deviate.request import Request, prepare_request
from deviate.trial import DEFAULT_LIMIT, Trial, Trials, check_limit, trials

#: What a probe has to go through: in two whole iterations of the main loop each factor of it has been drawn for.
ITERATIONS = 3

#: Seconds without a new fingerprint, seed or draw after which no more are waited for: after those iterations; in a main
#: loop that has begun; and where no main loop is known. At least as much as this share of the time up to the last one.
QUIET_AFTER, QUIET_WITHIN, QUIET_WITHOUT = 1.0, 4.0, 10.0
QUIET_SHARE = 0.5

AS_IT_IS, CONTROL = OBSERVED.name, "control"

#: Is told the name of each probe when it begins.
Tell = Callable[[str], None]


def audit(
    request: Request,
    limit: float = DEFAULT_LIMIT,
    executor: Executor | None = None,
    tell: Tell = lambda name: None,
    *,
    quick: bool = False,
) -> Audit:
    """Probe a command and judge each of its factors.

    The command runs several times, each time for as long as it takes to see each factor drawn for, in a copy of the
    project that is thrown away; no experiment is made.

    Parameters
    ----------
    request : Request
        Command, entry and project; what it says of runs does not matter.
    limit : float, optional
        Seconds after which a probe is ended.
    executor : Executor, optional
        Where to start it; by default on this machine.
    tell : callable, optional
        Is given the name of each probe when it begins.
    quick : bool, optional
        Look at the program as it is only, and do not try whether its factors can be held and varied.

    Raises
    ------
    BadInput
        As ``deviate run`` does, before anything is written; a program without metrics is audited as well.
    KeyboardInterrupt
        After Ctrl-C, once the command was ended and everything removed.
    """
    check_limit(limit)
    prepared = prepare_request(request, measured=False)
    with trials(prepared, executor or LocalExecutor(1), ["audit"], [AS_IT_IS, CONTROL]) as offered:
        probing = _Probing(offered, limit, tell)
        return probing.audit(quick=quick)


class _Probing:
    """The probes of one command."""

    def __init__(self, offered: Trials, limit: float, tell: Tell) -> None:
        self.offered = offered
        self.limit = limit
        self.tell = tell
        self.probes: list[Probe] = []
        self.folders: list[RunFolder] = []
        #: How many processes the first probe drew in, by factor: later ones need not go on for longer.
        self.wanted: dict[str, int] = {}

    def audit(self, *, quick: bool) -> Audit:
        """Make the probes, and say what they show."""
        observed = [self._probe(Run(variant=AS_IT_IS, index=index), "as it is") for index in (0, 1)]
        controls: list[Prints] = [{}, {}]
        varied: dict[str, Prints] = {}
        if not quick:
            controls = [self._probe(Run(variant=CONTROL, index=index), CONTROL) for index in (0, 1)]
            present = [factor for factor in SEEDED if any(factor in prints for prints in (*observed, *controls))]
            varied = {factor: self._probe(Run(variant=factor, index=1), f"{factor} varied") for factor in present}
        first = self.folders[:2]
        seeds = given_seeds(first)
        experiment = self.offered.source.experiment
        return Audit(
            command=experiment.command,
            factors=[self._judged(judge_factor(n, observed, controls, varied.get(n), seeds)) for n in SEEDED],
            workers=repeated_draws(processes(first[0])),
            seeds=seeds,
            draws_left=[draw for draw in reached_draws(first, experiment.draws) if draw.factor == "other"],
            gpu=used_gpu(first[0]),
            probes=self.probes,
            notes=list(dict.fromkeys([*self.offered.skipped, *(note.message for note in notes(self.folders))])),
        )

    def _judged(self, factor: AuditedFactor) -> AuditedFactor:
        """Take nothing for absent that a failed probe may not have come to."""
        if factor.verdict == "absent" and any(probe.reason for probe in self.probes[:2]):
            return msgspec.structs.replace(factor, verdict="unknown", why="a probe failed")
        return factor

    def _is_hopeless(self) -> bool:
        """Tell whether no probe so far ran: a program that fails at once fails in the others as well."""
        return all(probe.reason for probe in self.probes)

    def _probe(self, run: Run, name: str) -> Prints:
        if self.offered.stop.count or (len(self.probes) > 1 and self._is_hopeless()):
            return {}
        self.tell(name)
        trial = self.offered.prepare(run)
        folder = trial.ready.folder
        settled = Settled(folder, trial.source.metric_names, self.wanted)
        ended = trial.watch(self.limit, self.offered.stop, settled.look)
        said = processes(folder)
        prints = joined_fingerprints(said, interrupted=ended.cause is not None)
        self.folders.append(folder)
        self.probes.append(_result(name, trial, ended, prints, settled.tallies))
        if not self.wanted:
            self.wanted = drawn_in(said)
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


def drawn_in(found: list[Process]) -> dict[str, int]:
    """Return in how many processes each factor was drawn for."""
    prints = joined_fingerprints(found)
    return {factor: prints[factor].processes for factor in SEEDED if factor in prints}


class Settled:
    """Tells when a probe has shown what it has to show.

    Parameters
    ----------
    folder : RunFolder
        The probe's.
    metrics : sequence of str
        Names of the metrics.
    wanted : mapping of str to int
        By factor, the number of processes that draw for it; empty where it is not known: then the probe has to grow
        quiet.
    """

    def __init__(self, folder: RunFolder, metrics: list[str], wanted: dict[str, int]) -> None:
        self.folder = folder
        self.wanted = wanted
        self.tallies = RunTallies(folder, metrics)
        self._news = 0
        #: Seconds at which the last news came.
        self._heard = 0.0

    def look(self, seconds: float) -> bool:
        """Tell whether all was seen, `seconds` after the start."""
        said = processes(self.folder)
        if self.wanted:
            drawn = drawn_in(said)
            return all(drawn.get(factor, 0) >= number for factor, number in self.wanted.items())
        news = sum(event["event"] in ("start", "seed", "draw", "fingerprint") for each in said for event in each.events)
        if news != self._news:
            self._news, self._heard = news, seconds
        return any(drawn_in(said)) and seconds - self._heard >= self._patience()

    def _patience(self) -> float:
        self.tallies.look()
        if self.tallies.iterations >= ITERATIONS:
            return QUIET_AFTER
        least = QUIET_WITHIN if self.tallies.iterations else QUIET_WITHOUT
        return max(least, QUIET_SHARE * self._heard)
