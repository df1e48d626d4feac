"""What a reader must know before trusting the numbers, one caveat each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

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


#: Notes that answer an option which the user typed.
ASKED_FOR = frozenset({"finite-test", "weak-runs"})


def is_on_screen(caveat: Caveat) -> bool:
    """Whether a screen shows the caveat; it counts the others."""
    return caveat.severity == "warning" or caveat.slug in ASKED_FOR


def together(caveats: Iterable[Caveat]) -> list[tuple[Caveat, list[str]]]:
    """Return each caveat once, with the variants that it is on; none where it is on the whole experiment."""
    merged: dict[tuple[str, str], tuple[Caveat, list[str]]] = {}
    for caveat in caveats:
        _, variants = merged.setdefault((caveat.severity, caveat.message), (caveat, []))
        variants += [caveat.variant] if caveat.variant else []
    return list(merged.values())
