"""What a reader must know before trusting the numbers, one caveat each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from deviate.report.words import count

Severity = Literal["warning", "note"]


class Caveat(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a reader must know before trusting the numbers."""

    #: What it is about, for other programs.
    slug: str
    message: str
    #: ``warning``: something is not as it should be. ``note``: a limit of what the numbers can tell.
    severity: Severity = "warning"
    #: None where it concerns the experiment as a whole.
    variant: str | None = None


#: Caveats that answer an option which the user typed.
ASKED_FOR = frozenset({"finite-test", "weak-runs"})


#: Warnings that a screen shows; it counts the others.
WARNINGS_ON_SCREEN = 2


def split_caveats(caveats: Iterable[Caveat], most: int = WARNINGS_ON_SCREEN) -> tuple[list[Caveat], list[Caveat]]:
    """Return the first `most` warnings and what was asked for, which a screen shows, and the other caveats."""
    listed = list(caveats)
    warnings = [caveat for caveat in listed if caveat.severity == "warning"]
    shown = [
        *warnings[:most],
        *(caveat for caveat in listed if caveat.severity == "note" and caveat.slug in ASKED_FOR),
    ]
    return shown, [caveat for caveat in listed if caveat not in shown]


def counted_caveats(caveats: Iterable[Caveat]) -> list[str]:
    """Count the caveats that a screen does not show.

    Examples
    --------
    >>> counted_caveats([Caveat(slug="a", message="A."), Caveat(slug="b", message="B.", severity="note")])
    ['1 more warning', '1 note']
    """
    severities = [caveat.severity for caveat in caveats]
    counts = ("more warning", severities.count("warning")), ("note", severities.count("note"))
    return [count(number, noun) for noun, number in counts if number]


def together(caveats: Iterable[Caveat]) -> list[tuple[Caveat, list[str]]]:
    """Return each caveat once, with the variants that it is on; none where it is on the whole experiment."""
    merged: dict[tuple[str, str], tuple[Caveat, list[str]]] = {}
    for caveat in caveats:
        _, variants = merged.setdefault((caveat.severity, caveat.message), (caveat, []))
        variants += [caveat.variant] if caveat.variant else []
    return list(merged.values())
