"""Look before compute is spent: which factors of nondeterminism a command has, which are pinned, and by what.

Short probes are compared by their fingerprints and by the values they report: two of the program as it is, two with
every factor held fixed, and one for each factor that is there, with only that factor varied. Where values differ that
no draw explains, or may differ elsewhere, more probes look for the cause.
"""

from __future__ import annotations

import filecmp
import glob
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from deviate.core.experiment import Draw, MainLoop, Metric, Run
from deviate.core.factors import OBSERVED, SEEDED
from deviate.core.paths import files_below
from deviate.core.secrets import mask_words
from deviate.observe.events import given_seeds, notes, reached_draws, used_gpu
from deviate.observe.fingerprints import is_constant, joined_fingerprints
from deviate.observe.observation import is_repeatable, repeatable_series
from deviate.observe.processes import Process, processes
from deviate.observe.records import RunFiles, RunTallies, read_run
from deviate.observe.repetitions import repeated_draws, repetitions
from deviate.probes.causes import NOTHING, Cause, Conditions, Outcome, Search, value_difference
from deviate.probes.trial import (
    DEFAULT_LIMIT,
    Announce,
    Trial,
    Trials,
    check_limit,
    left_files,
    open_trials,
    printed_numbers,
    printed_series,
)
from deviate.probes.verdicts import (
    NOT_MADE,
    Audit,
    AuditedFactor,
    Compared,
    Fingerprints,
    Probe,
    assess_factor,
    check_factor,
    compare_probes,
    digests,
    explain_factor,
    with_explanation,
)
from deviate.runs.executors.executor import DEFAULT_EXECUTOR, Executor, make_executor
from deviate.runs.prepared import prepare_request
from deviate.runs.request import Request
from deviate.source.analysis import written_names
from deviate.source.lint import Suspect, find_suspects, find_torch, lint
from deviate.store.folders import RunFolder
from deviate.store.run_files import Ended, Unfinished

# Tell when a probe has shown what it has to show.

#: What a probe has to go through: in two whole iterations of the main loop each factor of it has been drawn for.
ITERATIONS = 3

#: Seconds without a new fingerprint, seed or draw after which no more are waited for: after those iterations; in a main
#: loop that has begun; and where no main loop is known. At least as much as this share of the time up to the last one:
#: on a machine that is busy, a program is given the same part of its way.
QUIET_AFTER, QUIET_WITHIN, QUIET_WITHOUT = 1.0, 4.0, 10.0
QUIET_SHARE = 0.5

#: Events that are news of draws.
_NEWS = frozenset(("start", "seed", "draw", "fingerprint"))


@dataclass(frozen=True)
class Progress:
    """How far a probe came."""

    #: In how many processes each factor was drawn for.
    drawn: dict[str, int] = field(default_factory=dict)
    #: Iterations of the main loop that were begun.
    iterations: int = 0
    #: Values that were recorded, those of clocks and of the machine aside.
    values: int = 0
    #: It came to its end.
    ended: bool = False

    @property
    def tells(self) -> bool:
        """Whether other probes can be measured by it."""
        return bool(self.drawn or self.values or self.ended)

    def as_far_as(self, one: Progress, other: Progress) -> Progress:
        """Return what two probes both came to, and this at least."""
        return replace(
            self,
            iterations=max(self.iterations, min(one.iterations, other.iterations)),
            values=max(self.values, min(one.values, other.values)),
        )

    def reaches(self, other: Progress) -> bool:
        """Tell whether this probe came as far as another, or to its end."""
        drawn = all(self.drawn.get(factor, 0) >= number for factor, number in other.drawn.items())
        far = drawn and self.iterations >= other.iterations and self.values >= other.values
        return self.ended or (far and not other.ended)


def drawn_in(run_processes: list[Process]) -> dict[str, int]:
    """Return in how many processes each factor was drawn for."""
    prints = joined_fingerprints(run_processes)
    return {factor: prints[factor].processes for factor in SEEDED if factor in prints}


class Settled:
    """Tells when a probe has shown what it has to show.

    `target` is how far it has to come, to be compared with others; None where it is not known: then it has to have
    recorded a value, and to grow quiet.
    """

    def __init__(self, folder: RunFolder, metrics: list[Metric], target: Progress | None = None) -> None:
        self.folder = folder
        self.metrics = metrics
        self.target = target
        self.tallies = RunTallies(folder, [metric.name for metric in metrics])
        #: What it had shown when the last news came, and at the last look, with the values of each metric then.
        self.shown = self.seen = Progress()
        self.counts = Counter[str]()
        self._news: tuple[int, ...] = ()
        #: Seconds at which the last news came.
        self._heard = 0.0

    def look(self, seconds: float) -> bool:
        """Tell whether all was seen, `seconds` after the start."""
        run_processes = processes(self.folder)
        now = self.progress(run_processes)
        if self.target is not None:
            return now.reaches(self.target)
        events = sum(event["event"] in _NEWS for process in run_processes for event in process.events)
        news = events, min(now.iterations, ITERATIONS), now.values > 0
        if news != self._news:
            self._news, self._heard, self.shown = news, seconds, now
        # A program that draws nothing is known by its values.
        return now.values > 0 and seconds - self._heard >= self._patience(now.iterations)

    def progress(self, run_processes: list[Process]) -> Progress:
        """Return how far the probe has come."""
        self.counts = Counter[str]()
        for (name, _), tally in self.tallies.look().items():
            self.counts[name] += tally.count if is_repeatable(name, self.metrics) else 0
        self.seen = Progress(drawn_in(run_processes), self.tallies.iterations, self.counts.total())
        return self.seen

    def _patience(self, iterations: int) -> float:
        whole = iterations >= ITERATIONS
        least = QUIET_AFTER if whole else QUIET_WITHIN if iterations else QUIET_WITHOUT
        return max(least, QUIET_SHARE * self._heard)


# What may be said of a factor: it is absent only where probes came so far, and pinned where they were compared.

#: Iterations that have begun when the first one is over.
WHOLE = 2

#: Why a probe that did not come to its end may not have drawn what another one did.
_CUT = {
    "limit": "a probe was ended by --limit before it came so far",
    "all seen": "a probe was ended before it came so far",
    "failed": "a probe failed",
}


def checked(
    factor: AuditedFactor, probes: Sequence[Probe], draws: Sequence[Draw], loop: MainLoop | None
) -> AuditedFactor:
    """Take nothing for absent that a failed probe may not have come to, or one that was ended may not have written.

    A process writes what little it drew when its main loop goes on, or at its end; the first iteration of a main loop
    draws for what nothing before it does.
    """
    if factor.verdict == "unknown":
        return msgspec.structs.replace(factor, why=_why_not_drawn(factor, probes) or factor.why)
    if factor.verdict != "absent":
        return factor
    may_draw = any(draw.factor == factor.factor for draw in draws)
    why = _why_unknown(probes, may_draw=may_draw, loop=loop)
    return msgspec.structs.replace(factor, verdict="unknown", why=why) if why else factor


def _why_not_drawn(factor: AuditedFactor, probes: Sequence[Probe]) -> str:
    """Say that a probe which did not draw for a factor did not come to its end; empty where it did."""
    pairs = zip(factor.fingerprints, probes, strict=False)
    cut = [probe.ended for digest, probe in pairs if digest is None and probe.ended in _CUT]
    return next((why for ended, why in _CUT.items() if ended in cut), "")


def _why_unknown(probes: Sequence[Probe], *, may_draw: bool, loop: MainLoop | None) -> str:
    if any(probe.reason for probe in probes):
        return "a probe failed"
    if loop and any(probe.ended == "limit" and probe.iterations < WHOLE for probe in probes):
        return f"a probe was ended in or before the first {loop.word} of the main loop; a higher --limit tells"
    if may_draw and any(probe.ended in ("all seen", "limit") and not probe.iterations for probe in probes):
        return "its lines may draw, but no main loop was seen and a probe was ended; a program that ends sooner tells"
    return ""


def proved(
    factor: AuditedFactor,
    factors: Sequence[AuditedFactor],
    compared: Compared,
    causes: Sequence[Cause],
    *,
    gpu: bool = False,
) -> AuditedFactor:
    """Call a factor pinned only where the values are equal, or differ by what is known, or may differ by a `gpu`.

    `factors` are all of the program, by their draws alone; `compared` is what its two probes were compared in.
    """
    if factor.verdict != "pinned":
        return factor
    why = _why_unproved(factors, compared, causes, gpu=gpu)
    return msgspec.structs.replace(factor, verdict="unknown", why=why) if why else factor


def _why_unproved(factors: Sequence[AuditedFactor], compared: Compared, causes: Sequence[Cause], *, gpu: bool) -> str:
    if compared.equal is None:
        return f"the same was drawn in two probes, but not compared: {compared.why}"
    drawn_alike = not any(factor.verdict in ("varies", "unknown") for factor in factors)
    explained = gpu or any(cause.kind != "unknown" for cause in causes)
    if compared.equal is False and drawn_alike and not explained:
        return "the same was drawn in two probes, but values differ by an unknown cause"
    return ""


AS_IT_IS, CONTROL = OBSERVED.name, "control"

#: Under which each factor that is drawn for varies.
VARIED = "algo"

#: Probes of the program as it is, which all others follow.
OBSERVED_PROBES = 2

#: A probe that looks for a cause may take so many times as long as the longest one of the program as it is, and more.
LONGER, MORE = 3.0, 10.0

#: What the runtime reads, see `fixing` there.
FIXED_VARIABLE = "DEVIATE_FIXED"


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
    prepared = prepare_request(request)
    executor = executor or make_executor(DEFAULT_EXECUTOR, 1)
    project, files = prepared.target.project, prepared.findings.files
    suspects, written = find_suspects(project, files), written_names(project, files)
    with open_trials(prepared, executor, ["audit"], [AS_IT_IS, CONTROL]) as trials:
        facts = _Probing(with_explanation(trials, explain), limit, announce, suspects, written).audit(quick=quick)
    return msgspec.structs.replace(facts, lines=lint(project, files, find_torch(prepared.program)))


class _Probing:
    """The probes of one command."""

    def __init__(
        self, trials: Trials, limit: float, announce: Announce, suspects: Sequence[Suspect], written: set[str]
    ) -> None:
        self.trials = trials
        self.limit = limit
        self.announce = announce
        self.suspects = suspects
        #: Names of files that the source says are written.
        self.written = written
        self.probes: list[Probe] = []
        self.runs: list[RunFiles] = []
        #: How far the first probe came that showed something: later ones need not go farther, and should come so far.
        self.target: Progress | None = None
        self.progress: list[Progress] = []

    def audit(self, *, quick: bool) -> Audit:
        """Make the probes and derive the audit."""
        observed = [self._probe(Run(variant=AS_IT_IS, index=index), "as it is") for index in range(OBSERVED_PROBES)]
        controls, varied = [NOTHING, NOTHING], dict[str, Fingerprints]()
        if not quick:
            controls = [self._probe(Run(variant=CONTROL, index=index), CONTROL) for index in (0, 1)]
            present = [
                factor for factor in SEEDED if is_drawn(factor, [each.prints for each in (*observed, *controls)])
            ]
            varied = {f: self._probe(Run(variant=f, index=1), f"{f} varied").prints for f in present}
        first = self.runs[:OBSERVED_PROBES]
        compared = self._compared(observed, "as it is")
        controlled = NOT_MADE if quick else self._compared(controls, CONTROL)
        seeds = given_seeds(first)
        as_it_is, held = [each.prints for each in observed], [each.prints for each in controls]
        experiment = self.trials.source.experiment
        assessed = (assess_factor(n, as_it_is, held, varied.get(n), seeds) for n in SEEDED)
        loop = experiment.main_loop
        factors = [checked(factor, self.probes[:OBSERVED_PROBES], experiment.draws, loop) for factor in assessed]
        causes = self._causes(factors, compared, controlled, observed, controls, quick=quick)
        again, gpu = repetitions(first), used_gpu(first[0])
        return Audit(
            command=mask_words(experiment.command),
            factors=[proved(factor, factors, compared, causes, gpu=gpu) for factor in factors],
            workers=repeated_draws(first[0].processes),
            seeds=seeds,
            draws_left=[draw for draw in reached_draws(first, experiment.draws) if draw.factor == "other"],
            gpu=gpu,
            causes=causes,
            probes=self.probes,
            notes=list(dict.fromkeys(self._notes())),
            quick=quick,
            explanation=explain_factor(self.trials.source.explain, first, self.trials.source.folder.snapshot),
            printed=printed_numbers([run.folder for run in first], experiment),
            compared=compared,
            controlled=None if quick else controlled,
            seeds_again=again.seeds,
            orders_again=again.orders,
            word=experiment.word,
        )

    def _compared(self, pair: Sequence[Outcome], name: str) -> Compared:
        return compare_probes(pair, [probe for probe in self.probes if probe.name == name], self.limit)

    def _notes(self) -> Iterator[str]:
        yield from self.trials.skipped
        yield from (note.message for note in notes(self.runs))

    def _causes(
        self,
        factors: Sequence[AuditedFactor],
        compared: Compared,
        controlled: Compared,
        observed: list[Outcome],
        controls: list[Outcome],
        *,
        quick: bool,
    ) -> list[Cause]:
        """Return what no draw explains: differences between probes that drew the same, and those to come elsewhere."""
        search = Search(self._attempt, self.suspects)
        drew_alike = all(factor.verdict in ("pinned", "absent") for factor in factors)
        apart = drew_alike and compared.equal is False
        if quick:
            unknown = Cause(kind="unknown", lines=list(self.suspects), difference=None, tried=False)
            return [msgspec.structs.replace(unknown, difference=value_difference(*observed))] if apart else []
        held = controlled.equal
        causes = search.explain(observed, controlled=False, held=held) if apart else []
        explained = any(cause.kind != "hash" for cause in causes)
        if held is False and not explained and all(factor.held is not False for factor in factors):
            causes += search.explain(controls, controlled=True, held=False)
        if held:
            has_seed = bool(self.trials.source.environment.get("PYTHONHASHSEED"))
            known = [cause.kind for cause in causes]
            snapshot = self.trials.source.folder.snapshot
            own = {*named_files(snapshot, self.written), *changed_files(controls[0].copy, snapshot)}
            causes += search.elsewhere(controls[0], known, hash_seed_given=has_seed, own=sorted(own))
        return causes

    def _attempt(self, controlled: bool, conditions: Conditions) -> Outcome:
        """Run the command once more, with something fixed."""
        variant, base = (CONTROL, CONTROL) if controlled else (AS_IT_IS, "as it is")
        run = Run(variant=VARIED, index=1) if conditions.varied else Run(variant=variant, index=len(self.probes))
        return self._probe(run, f"{base}, {_named(conditions)}", conditions)

    def _probe(self, run: Run, name: str, conditions: Conditions | None = None) -> Outcome:
        self.trials.stop.obey()
        # A program that fails at once fails in the other probes as well.
        if len(self.probes) > 1 and all(probe.reason for probe in self.probes):
            return NOTHING
        self.announce(name)
        trial = self._prepare(run, conditions or Conditions())
        folder, experiment = trial.ready.folder, trial.source.experiment
        metrics = experiment.metrics
        settled = Settled(folder, metrics, self.target)
        ended = trial.watch(self._limit(conditions), self.trials.stop, settled.look)
        run_files = read_run(folder)
        prints = joined_fingerprints(run_files.processes, interrupted=ended.cause is not None)
        if conditions is None:
            self.runs.append(run_files)
        self.probes.append(_result(name, trial, ended, prints, settled.tallies))
        completed = self.probes[-1].ended == "completed"
        if completed:
            settled.progress(run_files.processes)
        self._aim(replace(settled.seen, ended=completed), settled.shown)
        # A library may take the end of a probe for Ctrl-C: the program goes on, and reports what it did not train.
        series = {name: each.head(settled.counts[name]) for name, each in repeatable_series(folder, metrics).items()}
        return Outcome(
            name=name,
            prints=prints,
            series=series,
            ended=completed,
            usable=not self.probes[-1].reason,
            copy=trial.ready.copy,
            printed=printed_series(folder, experiment),
            word=experiment.word,
            left=tuple(left_files(trial.ready.copy, trial.source.folder.snapshot)) if conditions is None else (),
        )

    def _aim(self, progress: Progress, shown: Progress) -> None:
        """Have later probes come as far as this one had shown something, and as far as the first two are compared."""
        self.progress.append(progress)
        shown = progress if progress.ended else shown
        if self.target is None:
            self.target = shown if shown.tells else None
        elif len(self.progress) == OBSERVED_PROBES:
            self.target = self.target.as_far_as(*self.progress)

    def _prepare(self, run: Run, conditions: Conditions) -> Trial:
        fixed = conditions.fixed - {"hash"}
        variables = {FIXED_VARIABLE: ",".join(sorted(fixed))} if fixed else {}
        if conditions.hash_seed:
            variables["PYTHONHASHSEED"] = conditions.hash_seed
        trial = self.trials.prepare(run, variables, threads=1 if "threads" in fixed else None)
        if conditions.after is not None and conditions.after.copy is not None:
            for name in conditions.after.left:
                target = trial.ready.copy / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(conditions.after.copy / name, target)
        for name in conditions.without:
            (trial.ready.copy / name).unlink(missing_ok=True)
        return trial

    def _limit(self, conditions: Conditions | None) -> float:
        """Return the seconds a probe may take: what fixes threads may make one wait for ever."""
        if conditions is None:
            return self.limit
        return min(self.limit, MORE + LONGER * max(probe.seconds for probe in self.probes[:OBSERVED_PROBES]))


def is_drawn(factor: str, probes: Sequence[Fingerprints]) -> bool:
    """Tell whether a factor is there: it was drawn for, or its content differs."""
    prints = [probe[factor] for probe in probes if factor in probe]
    return bool(prints) and not is_constant(prints)


def _named(conditions: Conditions) -> str:
    """Name what is fixed in a probe."""
    if conditions.without:
        return "without its own files"
    if conditions.varied:
        return "other draws, after another run" if conditions.after is not None else "other draws"
    seed = [f"hash seed {conditions.hash_seed}"] if conditions.hash_seed and "hash" not in conditions.fixed else []
    return " and ".join([*sorted(conditions.fixed), *seed]) + (" fixed" if conditions.fixed else "")


def _result(name: str, trial: Trial, ended: Ended, fingerprints: Fingerprints, tallies: RunTallies) -> Probe:
    outcome = trial.outcome(ended)
    problem = outcome if isinstance(outcome, Unfinished) and ended.cause is None else None
    tallies.look()
    return Probe(
        name=name,
        ended=trial.ending(ended),
        seconds=round(ended.seconds, 2),
        iterations=tallies.iterations,
        fingerprints=digests(fingerprints),
        reason=problem.reason if problem else "",
        hint=problem.hint if problem else "",
        stderr=problem.stderr if problem else [],
    )


def changed_files(copy: Path | None, snapshot: Path) -> list[str]:
    """Return the files of a project that a program changed in its copy of it, relative to it; links lead elsewhere."""
    if copy is None:
        return []
    names = [path.relative_to(snapshot) for path in files_below(snapshot, "*") if not path.is_symlink()]
    there = [name for name in names if os.path.isfile(copy / name)]
    return [str(name) for name in there if not filecmp.cmp(copy / name, snapshot / name)]


def named_files(folder: Path, names: set[str]) -> list[str]:
    """Return the files of a folder that have one of these names, relative to it; links lead to what is large."""
    found = (path for name in names for path in files_below(folder, glob.escape(name)))
    return sorted(str(path.relative_to(folder)) for path in found if not os.path.islink(path))
