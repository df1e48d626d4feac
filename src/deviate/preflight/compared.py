"""What two probes that should be equal were compared in beside their draws."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.collect.fingerprints import WEIGHTS
from deviate.collect.identity import Difference
from deviate.preflight.causes import Outcome, differ, value_difference
from deviate.preflight.trial import Ending


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One short run of the command."""

    #: ``as it is``, ``control``, or the factor that was varied alone.
    name: str
    ended: Ending
    seconds: float
    iterations: int
    fingerprints: dict[str, str]
    #: Why it failed or was not looked at; empty where it was.
    reason: str = ""
    hint: str = ""
    stderr: list[str] = []


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared of two probes, as far as both went."""

    #: The metrics that have values in both probes, and how many values were compared.
    metrics: list[str] = []
    values: int = 0
    #: Iterations of the main loop that both began.
    iterations: int = 0
    #: Both came to the end of the program.
    ended: bool = False
    #: The final weights were compared.
    weights: bool = False
    #: Whether all that was compared is equal; null where nothing was.
    equal: bool | None = None
    #: The first value that differs.
    difference: Difference | None = None
    #: Why nothing was compared; empty where something was.
    why: str = ""


#: Of probes that nobody made.
NOT_MADE = Compared(why="a probe failed or was not made")


def compare_probes(outcomes: Sequence[Outcome], probes: Sequence[Probe], limit: float) -> Compared:
    """Compare two probes; `probes` says how they went, with `limit` as the most seconds each may take."""
    first, second = outcomes
    if not (first.usable and second.usable):
        return NOT_MADE
    ours, theirs = first.beside(second), second.beside(first)
    counts = {name: min(len(ours[name].values), len(theirs[name].values)) for name in ours.keys() & theirs.keys()}
    metrics = sorted(name for name, number in counts.items() if number)
    ended = first.ended and second.ended
    weights = ended and WEIGHTS in first.prints and WEIGHTS in second.prints
    why = "" if metrics or weights else _why(probes, limit)
    return Compared(
        metrics=metrics,
        values=sum(counts.values()),
        iterations=min((probe.iterations for probe in probes), default=0),
        ended=ended,
        weights=weights,
        equal=None if why else not differ(first, second),
        difference=value_difference(first, second) if metrics else None,
        why=why,
    )


def _why(probes: Sequence[Probe], limit: float) -> str:
    if any(probe.ended == "limit" for probe in probes):
        return f"no metric was recorded within {limit:g} s (--limit)"
    return "no metric was recorded"
