"""The facts about whether one side is worse than another by more than is allowed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Literal

import msgspec

from deviate.contrast.guards import fewest_runs
from deviate.contrast.multiplicity import adjust
from deviate.contrast.noninferiority import (
    Noninferiority,
    Outcome,
    drop_seen,
    judge_gate,
    moved,
    noninferiority,
    runs_to_decide,
)
from deviate.contrast.power import DEFAULT_POWER
from deviate.errors import BadOption
from deviate.experiment import SCHEMA, Direction
from deviate.inference.comparison.comparability import Comparability, comparability, units_differ
from deviate.inference.comparison.draws import RepeatedDraws, repeated_draws
from deviate.inference.comparison.match import Match, direction_of, match_metrics, settle_names
from deviate.inference.comparison.options import ComparisonOptions, PairingMode, check_directions
from deviate.inference.comparison.pairing import Pairing, pair_runs
from deviate.inference.comparison.predictions import ChangedPredictions, changed_predictions
from deviate.inference.comparison.side import Side, read_sides
from deviate.inference.drops import DROP_HINT, Drop
from deviate.inference.metric import MetricSpread, measured_sample
from deviate.measure.failures import failure_rate, rate_seen
from deviate.measure.intervals import Interval
from deviate.replicate.workspace.folders import Workspace
from deviate.results.options import DEFAULTS, SampleOptions

#: What becomes of a metric about which too little is known.
Inconclusive = Literal["pass", "fail"]

#: Why a limit is wide. ``share``: a relative drop above `WIDEST_SHARE`; ``mean``: the drop is a larger share than that
#: of the mean; ``sds``: it is more than `WIDEST_SDS` SDs.
Wide = Literal["share", "mean", "sds"]

DEFAULT_ALPHA = 0.05

#: Above it, claims would be wrong too often to be called claims.
LARGEST_ALPHA = 0.25

#: A limit beyond either of these lets through what nobody would: it is pointed out, whatever the outcome.
WIDEST_SHARE, WIDEST_SDS = 0.2, 10

#: Outcomes with which a metric passes in any case.
PASSING: tuple[Outcome, ...] = ("not worse", "no drop shown")


class GateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked, and how sure a claim must be."""

    #: By metric, in the order in which they are shown.
    drops: dict[str, Drop]
    #: Share of wrong claims of each kind.
    alpha: float = DEFAULT_ALPHA
    inconclusive: Inconclusive = "fail"
    directions: dict[str, Direction] = {}
    #: Metric of the side that is checked -> its name on the other.
    matches: dict[str, str] = {}
    pairing: PairingMode = "auto"
    #: The largest rate of runs of A that may fail, in (0, 1); None: runs that are lost keep a metric from passing.
    max_failures: float | None = None
    #: The largest share of examples that A may label differently from B, in (0, 1); None: that is not checked.
    max_churn: float | None = None
    #: How records become samples, on both sides.
    samples: SampleOptions = DEFAULTS


class GateMetric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of a gate."""

    name: str
    name_b: str
    aggregate: str
    unit: str
    direction: Direction
    n_a: int
    n_b: int
    mean_a: float | None
    mean_b: float | None
    sd_a: float | None
    sd_b: float | None
    #: Runs that gave no value that counts: failed, or completed without a finite one, or left out as weak.
    lost_a: int
    lost_b: int
    #: As it was typed.
    max_drop: str
    #: The mean of B moved by what is allowed; A is worse beyond it.
    limit: float | None
    #: How far the mean of A is on the good side of the limit, and the interval whose ends are one-sided bounds.
    room: float | None
    ci_room: Interval
    test: str
    p_not_worse: float | None
    p_worse: float | None
    #: Adjusted over the metrics of the gate (Holm).
    p_worse_adjusted: float | None
    outcome: Outcome
    passed: bool
    #: Runs a side that would decide it, if the means are as they seem; None where it is decided, or nothing tells.
    runs_needed: int | None
    #: Each run gave exactly the value of the run of B that shares its draws.
    same: bool
    #: All runs that ended, in whatever way.
    ended_a: int
    ended_b: int
    #: Runs that were left out by the user's rule for weak ones; they are among the lost.
    weak_a: int
    weak_b: int
    drop: Drop
    #: Runs of the smaller side that enter the test, and the fewest with which anything is claimed.
    compared: int
    fewest_runs: int
    #: Why there is no p; empty where there is one.
    reason: str
    #: The smallest drop that so many runs show with probability `power`; only where no drop is allowed and none shown.
    drop_seen: float | None
    #: With which `drop_seen` is shown, and `runs_needed` decide.
    power: float
    #: SD of A as a multiple of that of B.
    sd_ratio: float | None
    #: What is allowed as a share of the mean of B, and in its SDs; None where that is 0 or unknown.
    limit_share: float | None
    limit_sds: float | None
    #: None where the limit is not.
    wide: Wide | None
    #: All values of B lie in 0 to 1, so that a drop may have been meant in percent.
    fractions: bool


class GateFailures(msgspec.Struct, frozen=True, kw_only=True):
    """How often runs of the side that is checked fail, and how often they may."""

    #: Runs that failed, or gave no finite value or collapsed in a metric that is checked.
    failed: int
    runs: int
    #: One-sided upper limit of the rate (Clopper-Pearson), at 1 - alpha.
    upper: float
    #: The smallest rate that so many runs show with a probability of 1 - alpha.
    seen: float
    #: The largest rate that is allowed; None where the user gave none.
    allowed: float | None
    passed: bool


class GateChurn(msgspec.Struct, frozen=True, kw_only=True):
    """How many answers of the other side the runs of the side that is checked change, and how many they may."""

    predictions: ChangedPredictions
    #: One-sided upper limit of the share of examples with another label, at 1 - alpha; None where it is unknown.
    upper: float | None
    #: The largest share that is allowed, in (0, 1).
    allowed: float
    passed: bool


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about whether one side may pass."""

    schema: int = SCHEMA
    a: str
    b: str
    passed: bool
    alpha: float
    inconclusive: Inconclusive
    metrics: list[GateMetric]
    failures: GateFailures
    comparability: Comparability
    #: What to type for the same.
    command: str
    #: None where the user allowed no churn and so none is checked.
    churn: GateChurn | None = None


def read_gate(workspace: Workspace, a: str, against: str, options: GateOptions) -> Gate:
    """Infer whether one experiment is worse than another, each ``NAME`` or ``NAME:VARIANT``, by more than is allowed.

    Raises
    ------
    UnknownExperiment
        If a name is none.
    BadOption
        If the options do not fit each other or the experiments.
    """
    if not options.drops:
        raise BadOption("a check needs a metric", hint=f"{DROP_HINT}; `deviate report {a}` lists the metrics")
    if not 0 < options.alpha <= LARGEST_ALPHA:
        raise BadOption(
            f"--alpha must be above 0 and at most {LARGEST_ALPHA:g}, found {options.alpha:g}", hint="type --alpha 0.05"
        )
    if options.max_failures is not None and not 0 < options.max_failures < 1:
        raise BadOption(
            f"--max-failures must lie between 0 and 1 (0% and 100%), found {options.max_failures:g}",
            hint="type for example --max-failures 10%",
        )
    if options.max_churn is not None and not 0 < options.max_churn < 1:
        raise BadOption(
            f"--max-churn must lie between 0 and 1 (0% and 100%), found {options.max_churn:g}",
            hint="type for example --max-churn 5%",
        )
    check_directions(options.directions)
    checked, other = read_sides(workspace, (a, against), options.samples)
    return check_side(checked, other, options, shlex.join(["deviate", "check", a, "--against", against]))


def check_side(a: Side, b: Side, options: GateOptions, command: str = "") -> Gate:
    """Check side `a` against side `b`, which it must not fall behind; `command` is what to type for the same.

    Raises
    ------
    BadOption
        If the runs of a side repeat a draw that those of the other do not, a metric is not there, it is not known which
        of its values are better, one side gives percent and the other fractions, or a share is asked for that means
        nothing.
    """
    names = ComparisonOptions(metrics=list(options.drops), matches=options.matches, directions=options.directions)
    names = settle_names([a, b], names)
    if len(names.metrics) < len(options.drops):
        raise BadOption("a metric is named twice", hint=f"metrics that are checked: {', '.join(names.metrics)}")
    drops = dict(zip(names.metrics, options.drops.values(), strict=True))
    matches = match_metrics([a, b], names)
    directions = {match[0].name: _direction(match, names) for match in matches}
    for match in matches:
        _check_units((a, b), match)
    draws = repeated_draws(a, b)
    _check_draws(draws)
    pairing = pair_runs(a, b, options.pairing)
    tests = {
        match[0].name: _tested(match, directions[match[0].name], drops[match[0].name], pairing, options.alpha)
        for match in matches
    }
    adjusted = dict(zip(tests, adjust([test.p_worse for test in tests.values()], "holm"), strict=True))
    measured = [[measured_sample(sample, 1 - options.alpha) for sample in match] for match in matches]
    metrics = [
        _metric((a, b), match, directions[name], tests[name], adjusted[name], drops[name], options)
        for name, match in zip(tests, measured, strict=True)
    ]
    failures = _failures(a, [match[0] for match in measured], options)
    churn = _churn((a, b), matches, options)
    return Gate(
        a=a.label,
        b=b.label,
        passed=all(metric.passed for metric in metrics) and failures.passed and (churn is None or churn.passed),
        alpha=options.alpha,
        inconclusive=options.inconclusive,
        metrics=metrics,
        failures=failures,
        comparability=comparability([a, b], measured, [pairing], [draws], chosen=True),
        command=command,
        churn=churn,
    )


def _direction(match: Match, options: ComparisonOptions) -> Direction:
    direction = direction_of(match, options)
    if direction is None:
        name = match[0].name
        raise BadOption(
            f"nobody knows whether higher or lower values of {name!r} are better",
            hint=f"type --direction '{name}=higher'",
        )
    return direction


def _check_draws(draws: RepeatedDraws) -> None:
    """Refuse runs that are one run of their recipe."""
    for label, factors in draws.unshared.items():
        raise BadOption(
            f"all runs of {label} repeat one draw of {', '.join(factors)}, which those of the other side do not: they "
            "are one run of the recipe, expected were runs that each drew anew",
            hint=f"make the runs of both sides with: {draws.remedy}",
        )


def _check_units(sides: Sequence[Side], match: Match) -> None:
    """Refuse fractions against percent."""
    indices = units_differ(match)
    if indices is None:
        return
    (fraction, percent), values = (sides[index] for index in indices), [match[index].values[0] for index in indices]
    raise BadOption(
        f"{match[0].name!r} looks like a fraction in {fraction.label} ({values[0]:.6g}) and like percent in "
        f"{percent.label} ({values[1]:.6g})",
        hint="bring one side into the unit of the other (report the metric so in the training, or multiply the column "
        "of the table and import it again); if both are in one unit already, no test is needed to see the difference",
    )


def _tested(match: Match, direction: Direction, drop: Drop, pairing: Pairing, alpha: float) -> Noninferiority:
    a, b = match
    if drop.relative and b.values and not (min(b.values) > 0 or max(b.values) < 0):
        raise BadOption(
            f"--max-drop {drop.text} of {b.name!r}: its values are not all on one side of zero, so a share of their "
            "mean means nothing",
            hint="give the drop in the unit of the metric",
        )
    limit = moved(b.values, drop.value, direction, relative=drop.relative)
    return noninferiority(a.values, limit, direction, alpha, pairs=pairing.positions(a, b))


def _metric(
    sides: tuple[Side, Side],
    match: Sequence[MetricSpread],
    direction: Direction,
    test: Noninferiority,
    p_worse_adjusted: float | None,
    drop: Drop,
    options: GateOptions,
) -> GateMetric:
    a, b = match
    alpha, fewest = options.alpha, fewest_runs(2 * options.alpha)
    same = test.paired and test.fewest >= fewest and _equal_partners(a, b)
    judged = judge_gate(test, alpha=alpha, p_worse_adjusted=p_worse_adjusted, allowed=drop.value > 0)
    if same:
        judged = "not worse" if drop.value else "no drop shown"
    ended_a, ended_b = (side.ended for side in sides)
    lost_a, lost_b = ended_a - a.n, ended_b - b.n
    outcome = judged
    if options.max_failures is None:
        outcome = _after_losses(judged, _share(lost_a, ended_a), _share(lost_b, ended_b))
    allowed = drop.value * abs(b.spread.mean or 0) if drop.relative else drop.value
    return GateMetric(
        name=a.name,
        name_b=b.name,
        aggregate=a.aggregate,
        unit=a.unit,
        direction=direction,
        n_a=test.n_a,
        n_b=test.n_b,
        mean_a=a.spread.mean,
        mean_b=b.spread.mean,
        sd_a=a.spread.sd,
        sd_b=b.spread.sd,
        lost_a=lost_a,
        lost_b=lost_b,
        max_drop=drop.text,
        limit=test.limit,
        room=test.room.value,
        ci_room=test.room.interval,
        test=test.location.test,
        p_not_worse=test.p_not_worse,
        p_worse=test.p_worse,
        p_worse_adjusted=p_worse_adjusted,
        outcome=outcome,
        passed=outcome in PASSING or (outcome == "inconclusive" and options.inconclusive == "pass"),
        runs_needed=runs_to_decide(test, alpha) if outcome == "inconclusive" and not lost_a else None,
        same=same,
        ended_a=ended_a,
        ended_b=ended_b,
        weak_a=sum(left.weak for left in a.excluded),
        weak_b=sum(left.weak for left in b.excluded),
        drop=drop,
        compared=test.fewest,
        fewest_runs=fewest,
        reason=test.reason,
        drop_seen=drop_seen(test, alpha) if outcome == "no drop shown" else None,
        power=DEFAULT_POWER,
        sd_ratio=a.spread.sd / b.spread.sd if a.spread.sd is not None and b.spread.sd else None,
        limit_share=allowed / abs(b.spread.mean) if b.spread.mean else None,
        limit_sds=allowed / b.spread.sd if b.spread.sd else None,
        wide=_wide(drop, allowed, b),
        fractions=b.kind == "quality" and bool(b.values) and min(b.values) >= 0 and max(b.values) <= 1,
    )


def _failures(side: Side, metrics: Sequence[MetricSpread], options: GateOptions) -> GateFailures:
    failed = len({run for metric in metrics for run in metric.unsuccessful})
    runs = max((metric.tried for metric in metrics), default=side.ended)
    upper = failure_rate(failed, runs, 1 - 2 * options.alpha).interval.high
    assert upper is not None
    return GateFailures(
        failed=failed,
        runs=runs,
        upper=upper,
        seen=rate_seen(runs, 1 - options.alpha),
        allowed=options.max_failures,
        passed=options.max_failures is None or upper <= options.max_failures,
    )


def _churn(sides: tuple[Side, Side], matches: Sequence[Match], options: GateOptions) -> GateChurn | None:
    """Check how many answers change; what cannot be compared does not pass."""
    if options.max_churn is None:
        return None
    names = {match[0].name: match[1].name for match in matches}
    changed = changed_predictions(*sides, names, 1 - 2 * options.alpha)
    if changed is None:
        raise BadOption(
            f"--max-churn: no predictions of {' and '.join(side.label for side in sides if not side.evaluations)}",
            hint="`deviate report NAME` says why; --predictions FILE of `deviate run` names a file that the program "
            "writes them to",
        )
    upper = changed.churn.between.interval.high if changed.churn is not None else None
    return GateChurn(
        predictions=changed,
        upper=upper,
        allowed=options.max_churn,
        passed=upper is not None and upper <= options.max_churn,
    )


def _share(runs: int, of: int) -> float:
    return runs / of if of else 0.0


def _after_losses(outcome: Outcome, lost: float, lost_b: float) -> Outcome:
    """Let no side pass on the runs that are left: those that diverged or crashed are the worst there are.

    That as large a share of the other side's was lost as well leaves it open; a larger one is a result by itself.
    """
    if outcome == "worse" or not lost:
        return outcome
    return "runs lost" if lost > lost_b else "inconclusive"


def _equal_partners(a: MetricSpread, b: MetricSpread) -> bool:
    """Tell whether each run gave exactly the value of its partner: an unchanged recipe with the same seeds does."""
    partners = dict(zip(b.runs, b.values, strict=True))
    return all(value == partners[run] for run, value in zip(a.runs, a.values, strict=True) if run in partners)


def _wide(drop: Drop, allowed: float, b: MetricSpread) -> Wide | None:
    """Find of what the limit is too large a part."""
    mean, sd = abs(b.spread.mean or 0), b.spread.sd
    if not drop.value or b.spread.mean is None:
        return None
    if drop.relative and drop.value > WIDEST_SHARE:
        return "share"
    if not drop.relative and mean and allowed > WIDEST_SHARE * mean:
        return "mean"
    return "sds" if sd and allowed > WIDEST_SDS * sd else None
