"""What a reader must know before trusting the numbers, one caveat each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from deviate.report.page import Block, Hint, Remark, Remarks, Severity
from deviate.report.words import listed


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
WARNINGS_ON_SCREEN = 3


def warning_lines(caveats: Sequence[Caveat], most: int = WARNINGS_ON_SCREEN) -> list[Block]:
    """Return the first warnings in a sentence each, and what was asked for."""
    asked = [each for each in caveats if each.severity == "note" and each.slug in ASKED_FOR]
    shown = [
        Remark(message=_first_sentence(caveat.message), about=listed(variants))
        for caveat, variants in _alike(caveats)[:most]
    ]
    shown += [Remark(message=caveat.message, severity=caveat.severity) for caveat in asked]
    return [Remarks(remarks=shown)] if shown else []


def more_warnings(caveats: Sequence[Caveat], command: str, most: int = WARNINGS_ON_SCREEN) -> list[Block]:
    """Return the hint at what `warning_lines` leaves out: other warnings, or reasons of those that are shown."""
    warnings = _alike(caveats)
    left = len(warnings) - most
    cut = any(_first_sentence(caveat.message) != caveat.message.rstrip(".") for caveat, _ in warnings[:most])
    return [Hint(text=f"{left} more:" if left > 0 else "more:", command=f"{command} -v")] if left > 0 or cut else []


def _alike(caveats: Iterable[Caveat]) -> list[tuple[Caveat, list[str]]]:
    """Return the first of the warnings that begin with the same words, with the variants of all."""
    # Behind a colon or in brackets stand runs and values.
    warnings = (each for each in caveats if each.severity == "warning")
    return together(warnings, lambda each: (each.slug, re.split("[:(]", each.message)[0]))


def _first_sentence(message: str) -> str:
    """Return the fact that a message begins with.

    >>> _first_sentence("Runs differ in GPU: A (run 0) and B (run 1). They are not identical runs.")
    'Runs differ in GPU: A (run 0) and B (run 1)'
    """
    return re.split(r"(?<=[^.]\.) (?=[A-Z`])", message)[0].rstrip(".")


def together(
    caveats: Iterable[Caveat], key: Callable[[Caveat], tuple[str, str]] = lambda each: (each.severity, each.message)
) -> list[tuple[Caveat, list[str]]]:
    """Return the first caveat of each key, with the variants of all; none where it is on the whole experiment."""
    merged: dict[tuple[str, str], tuple[Caveat, list[str]]] = {}
    for caveat in caveats:
        _, variants = merged.setdefault(key(caveat), (caveat, []))
        variants += [caveat.variant] if caveat.variant and caveat.variant not in variants else []
    return list(merged.values())
