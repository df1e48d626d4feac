"""Heads of tables in two rows: groups of columns above the columns, as logbooks of evolutions print them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

#: Rows above a head that may hold its groups: one of names, one that underlines them.
MOST_ROWS = 2

_CELL = re.compile(r"[^\s|]+(?: [^\s|]+)*")
_WORD = re.compile(r"[^\s|]+")
_RULE = re.compile(r"[-=─━]{2,}")
_LETTERS = re.compile(r"[^\W\d_]")
_FRAME = str.maketrans(dict.fromkeys("│┃║", "|"))

_Extent = tuple[int, int]


def in_groups(above: Sequence[str], head: str) -> list[str]:
    """Return the names of all columns of a head, each with the name of its group before it.

    Empty where no two columns have one name, and where no row above says which columns go together: by lines under its
    words, or by bars between them.

    Parameters
    ----------
    above : sequence of str
        The lines above the head.
    head : str
        The row with the names of the columns.

    Examples
    --------
    >>> in_groups(["           train       test", "       ----------  ----------"], "epoch  loss  acc   loss  acc")
    ['epoch', 'train loss', 'train acc', 'test loss', 'test acc']
    """
    # Behind a tab a cell may begin one blank after the last one.
    cell_pattern = _WORD if "\t" in head else _CELL
    columns = [(cell[0], cell.span()) for cell in cell_pattern.finditer(_even(head))]
    names = [name for name, _ in columns]
    if len(set(names)) == len(names):
        return []
    rows = [_even(text) for text in above[-MOST_ROWS:]]
    named = next((row for row in reversed(rows) if _LETTERS.search(row)), "")
    groups = _groups(named, rows[-1] if rows else "")
    return [f"{_around(extent, groups)} {name}".strip() for name, extent in columns] if groups else []


def _even(text: str) -> str:
    return text.translate(_FRAME).expandtabs()


def _groups(named: str, last: str) -> list[tuple[str, _Extent]]:
    """Return the names of groups and how far each goes: as far as the line under it, or from bar to bar."""
    extents = [rule.span() for rule in _RULE.finditer(last)]
    if not extents:
        bars = [position for position, character in enumerate(named) if character == "|"]
        extents = list(itertools.pairwise(bars))
    found = [(" ".join(_CELL.findall(named[start:end])), (start, end)) for start, end in extents]
    return [(name, extent) for name, extent in found if name] if len(found) > 1 else []


def _around(extent: _Extent, groups: Sequence[tuple[str, _Extent]]) -> str:
    """Return the name of the group that a column stands in; empty for one that stands in none."""
    middle = sum(extent) / 2
    return next((name for name, (start, end) in groups if start <= middle < end), "")
