"""One metric of a gate: its test against the limit, and the outcome."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import Direction
from deviate.facts.comparable import Match, Pairing
from deviate.facts.compared_metric import Adjusted
from deviate.facts.comparison_options import Drop, GateOptions
from deviate.facts.metric import MetricSpread
from deviate.facts.side import Side
from deviate.stats.gates import (
    Noninferiority,
    Outcome,
    drop_seen,
    judge_gate,
    moved,
    noninferiority,
    runs_to_decide,
    share_noninferiority,
)
from deviate.stats.intervals import Interval
from deviate.stats.power import DEFAULT_POWER
from deviate.stats.results import fewest_runs

#: Why a limit is wide. ``share``: a relative drop above `WIDEST_SHARE`; ``mean``: the drop is a larger share than that
#: of the mean; ``sds``: it is more than `WIDEST_SDS` SDs.
Wide = Literal["share", "mean", "sds"]

#: A limit beyond either of these lets through what nobody would: it is pointed out, whatever the outcome.
WIDEST_SHARE, WIDEST_SDS = 0.2, 10

#: Outcomes with which a metric passes in any case.
PASSING: tuple[Outcome, ...] = ("not worse", "no drop shown")


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
    #: Runs per side that would decide it, if the means are as they seem; None where it is decided, or nothing tells.
    runs_needed: int | None
    #: Each run gave exactly the value of the run of B with the same random numbers, or all runs of both gave one value.
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
    #: Runs that collapsed; they are among the lost.
    collapsed_a: int = 0
    collapsed_b: int = 0
    #: Digits behind the point, as the program writes the metric; None where that is not known.
    decimals: int | None = None
    #: Checks of the same runs that asked something new until this was asked, and tests that were adjusted together.
    claim: int = 1
    family: int = 1


class Question(NamedTuple):
    """By how much one metric may be worse."""

    match: Match
    direction: Direction
    drop: Drop
    #: Where the metric is the accuracy on a group: the examples of the group.
    examples: int | None = None
    #: Runs of each side that collapsed; they are not in `match` unless too few would be left.
    collapsed: tuple[int, int] = (0, 0)


def tested(question: Question, pairing: Pairing, alpha: float) -> Noninferiority:
    """Test the metric against its limit.

    Raises BadOption if the drop is a share of a mean that may be zero.
    """
    (a, b), direction, drop, examples, _ = question
    if drop.relative and b.values and not (min(b.values) > 0 or max(b.values) < 0):
        raise BadOption(
            f"--max-drop {drop.text} of {b.name!r}: its values are not all on one side of zero, so a share of their "
            "mean means nothing",
            hint="give the drop in the unit of the metric",
        )
    limit = moved(b.values, drop.value, direction, relative=drop.relative)
    pairs = pairing.positions(a, b)
    if examples is None:
        return noninferiority(a.values, limit, direction, alpha, pairs=pairs)
    # Own draws for each group, so that leaving one out does not change the others.
    rng = np.random.default_rng(zlib.crc32(a.name.encode("utf-8", "replace")))
    baseline = float(np.mean(b.values)) if b.values else math.nan
    return share_noninferiority(a.values, limit, alpha, examples=examples, baseline=baseline, rng=rng, pairs=pairs)


def gate_metric(
    sides: tuple[Side, Side],
    metrics: Sequence[MetricSpread],
    question: Question,
    test: Noninferiority,
    adjusted: Adjusted,
    options: GateOptions,
) -> GateMetric:
    """Judge one metric, measured on both sides; the alpha of `options` is that of this look."""
    a, b = metrics
    alpha, drop = options.alpha, question.drop
    lost_a, lost_b = sides[0].ended - a.n, sides[1].ended - b.n
    same = test.fewest >= fewest_runs(2 * alpha) and _are_equal(a, b, paired=test.paired)
    if same:
        outcome: Outcome = "not worse" if drop.value else "no drop shown"
    else:
        outcome = judge_gate(test, alpha=alpha, p_worse_adjusted=adjusted.p, allowed=drop.value > 0)
    if options.max_failures is None:
        outcome = _after_losses(outcome, _share(lost_a, sides[0].ended), _share(lost_b, sides[1].ended))
    return GateMetric(
        **_about_runs(sides, a, b),
        **_about_limit(question, b),
        **_about_test(test, alpha),
        p_worse_adjusted=adjusted.p,
        outcome=outcome,
        passed=outcome in PASSING or (outcome == "inconclusive" and options.inconclusive == "pass"),
        runs_needed=runs_to_decide(test, alpha) if outcome == "inconclusive" and not lost_a else None,
        drop_seen=drop_seen(test, alpha / adjusted.divisor) if outcome == "no drop shown" else None,
        same=same,
        collapsed_a=question.collapsed[0],
        collapsed_b=question.collapsed[1],
        claim=adjusted.claim,
        family=adjusted.family,
    )


def _about_runs(sides: tuple[Side, Side], a: MetricSpread, b: MetricSpread) -> dict[str, Any]:
    return {
        "name": a.name,
        "name_b": b.name,
        "aggregate": a.aggregate,
        "unit": a.unit,
        "decimals": a.decimals,
        "mean_a": a.spread.mean,
        "mean_b": b.spread.mean,
        "sd_a": a.spread.sd,
        "sd_b": b.spread.sd,
        "sd_ratio": a.spread.sd / b.spread.sd if a.spread.sd is not None and b.spread.sd else None,
        "ended_a": sides[0].ended,
        "ended_b": sides[1].ended,
        "lost_a": sides[0].ended - a.n,
        "lost_b": sides[1].ended - b.n,
        "weak_a": sum(left.weak for left in a.excluded),
        "weak_b": sum(left.weak for left in b.excluded),
        "fractions": b.kind == "quality" and bool(b.values) and min(b.values) >= 0 and max(b.values) <= 1,
    }


def _about_limit(question: Question, b: MetricSpread) -> dict[str, Any]:
    drop, mean, sd = question.drop, b.spread.mean, b.spread.sd
    allowed = drop.value * abs(mean or 0) if drop.relative else drop.value
    return {
        "direction": question.direction,
        "drop": drop,
        "max_drop": drop.text,
        "limit_share": allowed / abs(mean) if mean else None,
        "limit_sds": allowed / sd if sd else None,
        "wide": _wide(drop, allowed, b),
    }


def _about_test(test: Noninferiority, alpha: float) -> dict[str, Any]:
    return {
        "n_a": test.n_a,
        "n_b": test.n_b,
        "limit": test.limit,
        "room": test.room.value,
        "ci_room": test.room.interval,
        "test": test.location.test,
        "p_not_worse": test.p_not_worse,
        "p_worse": test.p_worse,
        "compared": test.fewest,
        "fewest_runs": fewest_runs(2 * alpha),
        "reason": test.reason,
        "power": DEFAULT_POWER,
    }


def _share(runs: int, of: int) -> float:
    return runs / of if of else 0.0


def _after_losses(outcome: Outcome, lost: float, lost_b: float) -> Outcome:
    """Let no side pass on the runs that are left: those that diverged or crashed are the worst there are.

    That as large a share of the other side's was lost as well leaves it open; a larger one is a result by itself.
    """
    if outcome == "worse" or not lost:
        return outcome
    return "runs lost" if lost > lost_b else "inconclusive"


def _are_equal(a: MetricSpread, b: MetricSpread, *, paired: bool) -> bool:
    """Tell whether each run gave exactly the value of its partner, as an unchanged recipe does, or all gave one."""
    partners = dict(zip(b.runs, b.values, strict=True))
    of_pairs = (value == partners[run] for run, value in zip(a.runs, a.values, strict=True) if run in partners)
    return len({*a.values, *b.values}) == 1 or (paired and all(of_pairs))


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
