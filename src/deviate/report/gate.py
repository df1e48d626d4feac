"""Whether one side is worse than another by more than is allowed, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from deviate.contrast.guards import fewest_runs
from deviate.contrast.multiplicity import adjust
from deviate.contrast.noninferiority import (
    Noninferiority,
    Outcome,
    judge_gate,
    moved,
    noninferiority,
    runs_to_decide,
)
from deviate.errors import BadOption
from deviate.experiment import Direction
from deviate.measure.spread import spread
from deviate.report.comparison.inputs import Asked, Side, SideMetric
from deviate.report.comparison.match import Matched, direction_of, match_metrics, settle_names
from deviate.report.comparison.pairing import Partners, partners
from deviate.report.comparison.parts import PairComparison
from deviate.report.comparison.remarks import remarks
from deviate.report.gate_parts import Drop, Gate, GateAsked, GateMetric, Losses
from deviate.report.gate_scale import check_units, limit_remarks
from deviate.report.gate_sentences import gate_sentences
from deviate.report.parts import Warned

#: Outcomes with which a metric passes whatever is asked.
PASSING: tuple[Outcome, ...] = ("not worse", "no drop shown")


def build_gate(a: Side, b: Side, asked: GateAsked, command: str) -> Gate:
    """Check side `a` against side `b`.

    Parameters
    ----------
    a, b : Side
        The side that is checked, and the one that it must not fall behind.
    asked : GateAsked
        Metrics with what is allowed.
    command : str
        What to type for the same.

    Raises
    ------
    BadOption
        If a metric is not there, nobody knows which of its values are better, one side gives percent and the other
        fractions, or a share is asked for that means nothing.
    """
    named = Asked(metrics=list(asked.drops), matches=asked.matches, directions=asked.directions)
    options = settle_names([a, b], named)
    if len(options.metrics) < len(asked.drops):
        raise BadOption("a metric is named twice", hint=f"metrics that are checked: {', '.join(options.metrics)}")
    drops = dict(zip(options.metrics, asked.drops.values(), strict=True))
    asked = msgspec.structs.replace(asked, drops=drops)
    matched = match_metrics([a, b], options)
    together = partners(a, b, asked.pairing)
    directions = [_direction(metrics, options) for metrics in matched]
    for pair in matched:
        check_units(a, b, pair)
    found = [
        _tested(metrics, direction, asked.drops[metrics[0].name], together, asked.alpha)
        for metrics, direction in zip(matched, directions, strict=True)
    ]
    adjusted = adjust([each.p_worse for each in found], "holm")
    metrics = [
        _metric(a, b, pair, direction, each, p, asked)
        for pair, direction, each, p in zip(matched, directions, found, adjusted, strict=True)
    ]
    return Gate(
        a=a.label,
        b=b.label,
        passed=all(metric.passed for metric in metrics),
        alpha=asked.alpha,
        inconclusive=asked.inconclusive,
        metrics=metrics,
        warnings=[
            *_limits(matched, metrics, b.label, asked.drops),
            *remarks([a, b], matched, [_pair(a, b, together)], chosen=True),
        ],
        command=command,
    )


def _limits(
    matched: Sequence[Matched], metrics: Sequence[GateMetric], label: str, drops: Mapping[str, Drop]
) -> Iterable[Warned]:
    for pair, metric in zip(matched, metrics, strict=True):
        yield from limit_remarks(metric, pair[1], label, drops[metric.name])


def _direction(metrics: Matched, options: Asked) -> Direction:
    found = direction_of(metrics, options)
    if found is None:
        name = metrics[0].name
        raise BadOption(
            f"nobody knows whether higher or lower values of {name!r} are better",
            hint=f"type --direction '{name}=higher'",
        )
    return found


def _tested(metrics: Matched, direction: Direction, drop: Drop, together: Partners, alpha: float) -> Noninferiority:
    a, b = metrics
    if drop.relative and b.values and not (min(b.values) > 0 or max(b.values) < 0):
        raise BadOption(
            f"--max-drop {drop.text} of {b.name!r}: its values are not all on one side of zero, so a share of their "
            "mean means nothing",
            hint="give the drop in the unit of the metric",
        )
    limit = moved(b.values, drop.value, direction, relative=drop.relative)
    return noninferiority(a.values, limit, direction, alpha, pairs=together.places(a, b))


def _pair(a: Side, b: Side, together: Partners) -> PairComparison:
    return PairComparison(
        a=a.label, b=b.label, variant_a=a.variant, variant_b=b.variant, metrics=[], pairing=together.reason,
        shared=together.shared,
    )  # fmt: skip


def _metric(
    side: Side, other: Side, metrics: Matched, direction: Direction, found: Noninferiority, adjusted: float | None,
    asked: GateAsked,
) -> GateMetric:  # fmt: skip
    a, b = metrics
    drop = asked.drops[a.name]
    outcome = judge_gate(found, alpha=asked.alpha, p_worse_adjusted=adjusted, allowed=drop.value > 0)
    same = found.paired and found.fewest >= fewest_runs(2 * asked.alpha) and _as_partners(a, b)
    outcome = ("not worse" if drop.value else "no drop shown") if same else outcome
    lost, lost_b = _losses(side, a), _losses(other, b)
    outcome = _after_losses(outcome, lost, lost_b)
    spread_a, spread_b = spread(a.values), spread(b.values)
    limit = moved(b.values, drop.value, direction, relative=drop.relative)
    needed = runs_to_decide(found, asked.alpha) if outcome == "inconclusive" and not lost.runs else None
    told = GateMetric(
        name=a.name,
        name_b=b.name,
        aggregate=a.aggregate,
        unit=a.unit,
        direction=direction,
        n_a=found.n_a,
        n_b=found.n_b,
        mean_a=spread_a.mean,
        mean_b=spread_b.mean,
        sd_a=spread_a.sd,
        sd_b=spread_b.sd,
        lost_a=lost.runs,
        lost_b=lost_b.runs,
        max_drop=drop.text,
        limit=float(np.mean(limit)) if limit.size else None,
        room=found.room.value,
        ci_room=found.room.interval,
        test=found.location.test,
        p_not_worse=found.p_not_worse,
        p_worse=found.p_worse,
        p_worse_adjusted=adjusted,
        outcome=outcome,
        passed=outcome in PASSING or (outcome == "inconclusive" and asked.inconclusive == "pass"),
        runs_needed=needed,
        why=[],
    )
    return msgspec.structs.replace(told, why=gate_sentences(told, drop, found, (lost, lost_b), asked.alpha, same=same))


def _losses(side: Side, metric: SideMetric) -> Losses:
    return Losses(runs=metric.excluded + side.ended - side.completed, ended=side.ended)


def _after_losses(outcome: Outcome, lost: Losses, lost_b: Losses) -> Outcome:
    """Let no side pass on the runs that are left: those that diverged or crashed are the worst there are.

    That as large a share of the other side's was lost as well leaves it open; a larger one is a result by itself.
    """
    if outcome == "worse" or not lost.runs:
        return outcome
    return "runs lost" if lost.share > lost_b.share else "inconclusive"


def _as_partners(a: SideMetric, b: SideMetric) -> bool:
    """Tell whether each run gave exactly the value of its partner: an unchanged recipe with the same seeds does."""
    theirs = dict(zip(b.runs, b.values, strict=True))
    common = [(value, theirs[run]) for run, value in zip(a.runs, a.values, strict=True) if run in theirs]
    return all(value == other for value, other in common)
