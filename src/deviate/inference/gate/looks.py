"""How often a growing side was checked against another, and how small p must be now."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.contrast.noninferiority import Noninferiority
from deviate.contrast.sequential import look_levels, rounded_down, share_over_all_looks
from deviate.inference.comparison.looks import (
    Runs,
    completed_runs,
    earlier_runs,
    first_of,
    recorded_side,
    stopped_alpha,
    stopped_sides,
)
from deviate.inference.comparison.pairing import Pairing
from deviate.inference.comparison.side import Side
from deviate.inference.gate.metric import Question, tested
from deviate.inference.gate.options import GateOptions
from deviate.replicate.workspace.folders import Workspace
from deviate.replicate.workspace.looks import RecordedLooks, read_looks


class GateLook(msgspec.Struct, frozen=True, kw_only=True):
    """Which check of two sides it is, and what p must be below at it."""

    #: From 1.
    number: int
    #: Runs of each side at each check, this one last.
    sizes: list[tuple[int, int]]
    #: What each one-sided p must be below; limits and intervals have the level that goes with it.
    alpha: float
    #: Chance of a wrong claim of each kind over all checks.
    whole: float
    #: The earlier check that showed what this one asks; None where none did.
    settled: int | None = None
    #: Labels of the sides whose runs ``deviate run --until`` ended when their mean was known well enough, and what p
    #: must be below because of that alone.
    stopped: list[str] = []
    stopped_alpha: float | None = None
    #: Why this check could not be recorded; empty where it was, or did not have to be.
    unrecorded: str = ""


def gate_look(
    a: Side,
    b: Side,
    before: RecordedLooks | None,
    questions: Sequence[Question],
    pairing: Pairing,
    options: GateOptions,
) -> GateLook:
    """Find what one-sided p must be below where two sides were checked `before`.

    The two kinds of wrong claims, of being worse and of not being worse, are the two sides of a test at twice alpha.
    A check of the same runs is no new one. Where an earlier check let pass what is within its limit still, or found
    worse what is beyond it still, p must be below alpha only: nothing new is claimed.
    """
    both = 2 * options.alpha
    earlier = earlier_runs(before, a, b, both) if before else []
    sizes = [(len(runs_a), len(runs_b)) for runs_a, runs_b in [*earlier, (completed_runs(a), completed_runs(b))]]
    stopped = stopped_sides(a, b)
    alpha = rounded_down(stopped_alpha(stopped, both) / 2) if stopped else options.alpha
    levels = [level / 2 for level in look_levels(sizes, 2 * alpha)]
    settled = _settled(questions, earlier, levels, pairing, options)
    return GateLook(
        number=len(sizes),
        sizes=sizes,
        alpha=alpha if settled is not None or len(sizes) == 1 else rounded_down(levels[-1]),
        whole=share_over_all_looks(options.alpha, len(sizes)),
        settled=settled,
        stopped=list(stopped),
        stopped_alpha=alpha if stopped else None,
    )


def _settled(
    questions: Sequence[Question],
    earlier: Sequence[Runs],
    levels: Sequence[float],
    pairing: Pairing,
    options: GateOptions,
) -> int | None:
    """Return the first check that showed what this one asks, by the metrics alone."""
    if not earlier or options.max_failures is not None or options.max_churn is not None or options.groups:
        return None
    now = [tested(question, pairing, options.alpha) for question in questions]
    for number, (runs, level) in enumerate(zip(earlier, levels, strict=False), start=1):
        then = [tested(_first(question, runs), pairing, level) for question in questions]
        if _passed(questions, then, now, level) or _failed(then, now, level):
            return number
    return None


def _first(question: Question, runs: Runs) -> Question:
    match = [first_of(sample, looked) for sample, looked in zip(question.match, runs, strict=True)]
    return question._replace(match=match)


def _passed(
    questions: Sequence[Question], then: Sequence[Noninferiority], now: Sequence[Noninferiority], level: float
) -> bool:
    """Tell whether every metric was shown to be within its limit, and is within it still."""
    return all(
        question.drop.value and _shown(before.p_not_worse, level) and (after.room.value or 0) > 0
        for question, before, after in zip(questions, then, now, strict=True)
    )


def _failed(then: Sequence[Noninferiority], now: Sequence[Noninferiority], level: float) -> bool:
    """Tell whether a metric was shown to be beyond its limit, and is beyond it still."""
    return any(
        _shown(before.p_worse, level / len(then)) and (after.room.value or 0) < 0
        for before, after in zip(then, now, strict=True)
    )


def _shown(p: float | None, level: float) -> bool:
    return p is not None and p <= level


def read_checks(workspace: Workspace, a: Side, b: Side) -> RecordedLooks:
    """Read the earlier checks of two sides."""
    return read_looks(workspace, recorded_side(a), recorded_side(b), "check")
