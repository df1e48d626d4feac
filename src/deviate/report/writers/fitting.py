"""Which columns of a table fit a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Priced(msgspec.Struct, frozen=True, kw_only=True):
    """The width of a column, and how readily it is given up (largest first; 0: never)."""

    width: int
    sacrifice: int


def fitting(columns: Sequence[Priced], room: int) -> list[int]:
    """Return the places of the columns to keep; those with the same sacrifice stay or go together.

    Examples
    --------
    >>> fitting([Priced(width=8, sacrifice=0), Priced(width=20, sacrifice=2), Priced(width=6, sacrifice=1)], 16)
    [0, 2]
    """
    kept = list(range(len(columns)))
    while sum(columns[place].width for place in kept) > room and any(columns[place].sacrifice for place in kept):
        worst = max(columns[place].sacrifice for place in kept)
        kept = [place for place in kept if columns[place].sacrifice < worst]
    return kept
