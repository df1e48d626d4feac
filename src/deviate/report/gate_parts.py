"""The parts that the outcome of a gate consists of, as frozen data."""

from __future__ import annotations

from typing import Literal

import msgspec

from deviate.contrast.noninferiority import Outcome
from deviate.experiment import SCHEMA, Direction
from deviate.measure.intervals import Interval
from deviate.report.comparison.inputs import Pairing
from deviate.report.parts import Warned

#: What becomes of a metric about which too little is known.
Inconclusive = Literal["pass", "fail"]

DEFAULT_ALPHA = 0.05


class Drop(msgspec.Struct, frozen=True):
    """By how much a metric may get worse."""

    value: float = 0.0
    #: `value` is a share of the mean of the side that is checked against.
    relative: bool = False

    @property
    def text(self) -> str:
        """As it is typed."""
        return f"{100 * self.value:.10g}%" if self.relative else f"{self.value:.10g}"


class GateAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked, and how sure."""

    #: By metric, in the order in which they are told.
    drops: dict[str, Drop]
    #: Share of wrong claims of each kind.
    alpha: float = DEFAULT_ALPHA
    inconclusive: Inconclusive = "fail"
    directions: dict[str, Direction] = {}
    #: Metric of the side that is checked -> its name on the other.
    matches: dict[str, str] = {}
    pairing: Pairing = "auto"


class Losses(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one side that gave no finite value of a metric: they failed, or completed without one."""

    runs: int
    #: All that ended, in whatever way.
    ended: int

    @property
    def share(self) -> float:
        """Of the runs that ended."""
        return self.runs / self.ended if self.ended else 0.0


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
    #: Runs that gave no finite value: failed, or completed without one.
    lost_a: int
    lost_b: int
    #: As it was asked for.
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
    why: list[str]


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said about whether one side may pass; writers only lay it out."""

    schema: int = SCHEMA
    a: str
    b: str
    passed: bool
    alpha: float
    inconclusive: Inconclusive
    metrics: list[GateMetric]
    warnings: list[Warned]
    #: What to type for the same.
    command: str

    def __repr__(self) -> str:
        from deviate.report.writers.gate_terminal import render_gate_terminal

        return render_gate_terminal(self).rstrip("\n")
