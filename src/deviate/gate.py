"""Check an experiment against another one for a gate: from what the user typed to all that is said."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence

from deviate.comparison import check_aggregates, check_asked, read_side
from deviate.errors import BadOption
from deviate.replicate.workspace import Workspace
from deviate.report.comparison.inputs import Asked
from deviate.report.gate import build_gate
from deviate.report.gate_parts import Drop, Gate, GateAsked

#: Above it, claims would be wrong too often to be called claims.
LARGEST_ALPHA = 0.25

_DROP = re.compile(r"(?P<value>\d*\.?\d+(?:e[-+]?\d+)?)\s*(?P<percent>%?)", re.IGNORECASE)

_HINT = "type for example --metric 'val acc' --max-drop 0.5, or --max-drop 'val acc=2%'"


def check(
    workspace: Workspace, a: str, against: str, asked: GateAsked, aggregates: Mapping[str, str] | None = None
) -> Gate:
    """Say whether one experiment is worse than another by more than is allowed.

    Parameters
    ----------
    workspace : Workspace
        Where they are.
    a, against : str
        Each ``EXPERIMENT`` or ``EXPERIMENT:VARIANT``.
    asked : GateAsked
        Metrics with what is allowed.
    aggregates : mapping of str to str, optional
        Aggregates by metric, where they should differ from the experiments'.

    Raises
    ------
    UnknownExperiment
        If a name is none.
    BadOption
        If the options do not fit each other or the experiments.
    """
    if not asked.drops:
        raise BadOption("a check needs a metric", hint=f"{_HINT}; `deviate report {a}` lists the metrics")
    if not 0 < asked.alpha <= LARGEST_ALPHA:
        raise BadOption(
            f"--alpha must be above 0 and at most {LARGEST_ALPHA:g}, found {asked.alpha:g}", hint="type --alpha 0.05"
        )
    check_asked(Asked(directions=asked.directions))
    sides = [read_side(workspace, name, aggregates or {}) for name in (a, against)]
    if (sides[0].experiment, sides[0].variant) == (sides[1].experiment, sides[1].variant):
        raise BadOption(
            f"{a!r} and {against!r} are the same runs", hint="check one experiment, or variant, against another"
        )
    check_aggregates(sides, aggregates or {})
    return build_gate(sides[0], sides[1], asked, shlex.join(["deviate", "check", a, "--against", against]))


def parse_drop(text: str) -> Drop:
    """Read ``0.5`` or ``2%``.

    Raises
    ------
    BadOption
        If it is no number of at least 0.

    Examples
    --------
    >>> parse_drop("2%"), parse_drop("0.5")
    (Drop(value=0.02, relative=True), Drop(value=0.5, relative=False))
    """
    found = _DROP.fullmatch(text.strip())
    value = math.inf if found is None else float(found["value"])
    if found is None or not math.isfinite(value):
        raise BadOption(f"--max-drop {text!r} is no number of at least 0", hint=_HINT)
    return Drop(value / 100, True) if found["percent"] else Drop(value, False)


def parse_drops(metrics: Sequence[str], texts: Sequence[str]) -> dict[str, Drop]:
    """Join metrics and drops: those without a name go with the metrics in their order, one for each.

    Raises
    ------
    BadOption
        If there are not as many of them, or a metric is named twice.

    Examples
    --------
    >>> parse_drops(["val acc", "loss"], ["0.5", "2%"])["loss"].text
    '2%'
    >>> parse_drops(["val acc"], ["loss=0.01"])
    {'val acc': Drop(value=0.0, relative=False), 'loss': Drop(value=0.01, relative=False)}
    """
    named = dict(_named(text) for text in texts if "=" in text)
    plain = [parse_drop(text) for text in texts if "=" not in text]
    if len(set(metrics)) < len(metrics) or len(named) < sum("=" in text for text in texts):
        raise BadOption("a metric is named twice", hint=_HINT)
    unnamed = [metric for metric in metrics if metric not in named]
    if plain and len(plain) != len(unnamed):
        raise BadOption(
            f"{len(plain)} --max-drop without a name for {len(unnamed)} --metric",
            hint="give each metric its own, in the same order, or name it: --max-drop 'val acc=0.5'",
        )
    drops = dict(zip(unnamed, plain or [Drop()] * len(unnamed), strict=True))
    return {name: {**drops, **named}[name] for name in dict.fromkeys([*metrics, *named])}


def _named(text: str) -> tuple[str, Drop]:
    name, _, drop = text.rpartition("=")
    if not name.strip():
        raise BadOption(f"--max-drop {text!r} names no metric", hint=_HINT)
    return name.strip(), parse_drop(drop)
