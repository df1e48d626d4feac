"""The facts about whether one experiment has reached a target, or converges as its reference does."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA, Direction
from deviate.facts.samples import Bar, SampleOptions, parse_bar
from deviate.facts.side import Side, read_sides
from deviate.observe.headline import main_first
from deviate.stats.gates import (
    NANOGPT_MARGIN,
    NANOGPT_SD,
    Convergence,
    Reached,
    Test,
    convergence,
    reach_target,
)
from deviate.store.folders import Workspace

#: ``reached`` and ``missed`` are shown; ``runs lost``: some failed or gave no value, so the others do not tell.
Outcome = Literal["reached", "missed", "not shown", "runs lost", "as the reference", "too fast"]

PASSING: tuple[Outcome, ...] = ("reached", "as the reference")

#: What ``--set rule`` takes, beside ``sd=NUMBER``.
RULES = ("t", "exact", "modded-nanogpt", "mlperf")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the runs of one side have reached a target."""

    schema: int = SCHEMA
    a: str
    metric: str
    unit: str
    decimals: int | None
    #: As it was typed: one of `RULES`, or ``sd=NUMBER``.
    rule: str
    direction: Direction
    #: None for the rule of MLPerf.
    target: float | None
    #: Runs that gave no value that counts.
    lost: int
    values: list[float]
    alpha: float
    outcome: Outcome
    passed: bool
    reached: Reached | None = None
    #: The side of the reference, and the check against it.
    against: str = ""
    convergence: Convergence | None = None
    #: By what modded-nanogpt goes: distance to the target times the root of the runs.
    margin: float | None = None


def read_target(workspace: Workspace, a: str, text: str, rule: str, alpha: float, samples: SampleOptions) -> Target:
    """Test whether the runs of `a` have reached ``METRIC<=NUMBER``.

    Raises BadOption if the target or the rule cannot be read, or the experiment has no such metric.
    """
    bar = _bar(text)
    assert bar.bar is not None
    direction: Direction = "lower" if (bar.sign or "").startswith("<") else "higher"
    test, sd = _test(rule)
    (side,) = read_sides(workspace, [a], samples)
    sample = side.sample(bar.metric, "--target")
    if not sample.values:
        raise BadOption(f"no run of {a} gave a value of {sample.name!r}", hint=f"`deviate show {a}` says why")
    # The level of modded-nanogpt follows from its margin and its SD.
    limit = 0.5 * math.erfc(NANOGPT_MARGIN / NANOGPT_SD / math.sqrt(2)) if rule == "modded-nanogpt" else alpha
    reached = reach_target(sample.values, bar.bar, direction, limit, test=test, sd=sd)
    margin = None
    if rule == "modded-nanogpt":
        sign = 1 if direction == "higher" else -1
        margin = sign * (reached.mean - bar.bar) * math.sqrt(reached.n)
    lost = _lost(side, sample.n)
    outcome = _outcome(reached, limit, margin, lost)
    return Target(
        a=side.label, metric=sample.name, unit=sample.unit, decimals=sample.decimals, rule=rule, direction=direction,
        target=bar.bar, lost=lost, values=sample.values, alpha=limit, outcome=outcome, passed=outcome in PASSING,
        reached=reached, margin=margin,
    )  # fmt: skip


def read_convergence(
    workspace: Workspace, a: str, against: str, metric: str | None, alpha: float, samples: SampleOptions
) -> Target:
    """Check the epochs to a target of `a` against those of a reference, by the rule of MLPerf.

    Raises BadOption if an experiment has no such metric, or too few runs.
    """
    sides = read_sides(workspace, [a, against], samples)
    name = metric or main_first(sides[0].samples)[0].name
    ours, theirs = (side.sample(name, "--metric") for side in sides)
    try:
        checked = convergence(ours.values, theirs.values, alpha)
    except ValueError:
        raise BadOption(
            f"rule mlperf: {ours.n} and {theirs.n} runs are too few",
            hint="make 3 runs or more, and twice as many of the reference",
        ) from None
    lost = _lost(sides[0], ours.n)
    outcome: Outcome = "runs lost" if lost > 1 else "as the reference" if checked.passed else "too fast"
    return Target(
        a=sides[0].label, metric=ours.name, unit=ours.unit, decimals=ours.decimals, rule="mlperf", direction="lower",
        target=None, lost=lost, values=ours.values, alpha=alpha, outcome=outcome, passed=outcome in PASSING,
        against=sides[1].label, convergence=checked,
    )  # fmt: skip


def _lost(side: Side, values: int) -> int:
    """Return how many runs gave no value that counts."""
    return side.ended - values


def _bar(text: str) -> Bar:
    try:
        bar = parse_bar(text, "target")
    except BadOption:
        bar = Bar(text)
    if bar.bar is None:
        raise BadOption(f"--target {text!r} is not METRIC<=NUMBER", hint="type --target 'val loss<=3.28'")
    return bar


def _test(rule: str) -> tuple[Test, float | None]:
    name, _, number = rule.partition("=")
    if name == "sd":
        try:
            sd = float(number)
        except ValueError:
            sd = 0.0
        if sd > 0 and math.isfinite(sd):
            return "sd", sd
    tests: dict[str, tuple[Test, float | None]] = {
        "t": ("t", None),
        "exact": ("sign", None),
        "modded-nanogpt": ("sd", NANOGPT_SD),
    }
    if rule not in tests:
        raise BadOption(
            f"rule {rule!r} is none of {', '.join(RULES)}, sd=NUMBER",
            hint="type --set rule=sd=0.0013, or leave it out for a t test",
        )
    return tests[rule]


def _outcome(reached: Reached, alpha: float, margin: float | None, lost: int) -> Outcome:
    if reached.p_missed is not None and reached.p_missed <= alpha:
        return "missed"
    if lost:
        return "runs lost"
    if margin is not None:
        return "reached" if margin >= NANOGPT_MARGIN else "not shown"
    return "reached" if reached.p_reached is not None and reached.p_reached <= alpha else "not shown"
