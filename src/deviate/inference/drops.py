"""By how much metrics may get worse, as it is typed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec

from deviate.errors import BadOption

_DROP = re.compile(r"(?P<value>\d*\.?\d+(?:e[-+]?\d+)?)\s*(?P<percent>%?)", re.IGNORECASE)

#: For errors: how drops are typed.
DROP_HINT = "type for example --metric 'val acc' --max-drop 0.5, or --max-drop 'val acc=2%'"


class Drop(msgspec.Struct, frozen=True):
    """By how much a metric may get worse."""

    value: float = 0.0
    #: `value` is a share of the mean of the side that is checked against.
    relative: bool = False

    @property
    def text(self) -> str:
        """As it is typed."""
        return f"{100 * self.value:.10g}%" if self.relative else f"{self.value:.10g}"


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
    drop = find_drop(text)
    if drop is None:
        raise BadOption(f"--max-drop {text!r} is no number of at least 0", hint=DROP_HINT)
    return drop


def find_drop(text: str) -> Drop | None:
    """Read a number of at least 0, with or without ``%``; None where it is none."""
    match = _DROP.fullmatch(text.strip())
    value = math.inf if match is None else float(match["value"])
    if match is None or not math.isfinite(value):
        return None
    return Drop(value / 100, True) if match["percent"] else Drop(value, False)


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
        raise BadOption("a metric is named twice", hint=DROP_HINT)
    unnamed = [metric for metric in metrics if metric not in named]
    if plain and not metrics:
        raise BadOption(f"--max-drop {plain[0].text!r} names no metric", hint=DROP_HINT)
    if plain and len(plain) != len(unnamed):
        given = next(text for text in texts if "=" not in text)
        if not unnamed:
            raise BadOption(f"--max-drop {given!r} names no metric", hint=DROP_HINT)
        raise BadOption(
            f"expected one --max-drop for each --metric, found {len(plain)} for {len(unnamed)}",
            hint="give them in the same order, or name the metric: --max-drop 'val acc=0.5'",
        )
    drops = dict(zip(unnamed, plain or [Drop()] * len(unnamed), strict=True))
    return {name: {**drops, **named}[name] for name in dict.fromkeys([*metrics, *named])}


def _named(text: str) -> tuple[str, Drop]:
    name, _, drop = text.rpartition("=")
    if not name.strip():
        raise BadOption(f"--max-drop {text!r} names no metric", hint=DROP_HINT)
    return name.strip(), parse_drop(drop)
