"""Small pieces of English that sentences share."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.experiment import Status

#: How a run ended, as the verb of a sentence.
ENDED: dict[Status, str] = {
    "completed": "completed",
    "failed": "failed",
    "timed-out": "timed out",
    "cancelled": "was cancelled",
    "not-instrumented": "was not instrumented",
}

#: Names listed in full; of longer lists the first are named and the rest are counted.
NAMES_LISTED = 5


def ended_as(status: Status, runs: int = 1) -> str:
    """Say how one run or several ended.

    Examples
    --------
    >>> ended_as("timed-out"), ended_as("cancelled", 2)
    ('timed out', 'were cancelled')
    """
    return ENDED[status] if runs == 1 else ENDED[status].replace("was ", "were ")


def count(number: int, noun: str) -> str:
    """Return the number with its noun.

    Examples
    --------
    >>> count(1, "run"), count(8, "run")
    ('1 run', '8 runs')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], most: int = NAMES_LISTED) -> str:
    """Join names, counting those beyond the first `most`.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdefgh"))
    ('a', 'a, b and c', 'a, b, c, d, e and 3 more')
    """
    shown = list(names) if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""
