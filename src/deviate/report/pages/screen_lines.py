"""How much room a screen has."""

from __future__ import annotations

import textwrap

#: Lines of a screen of that many columns, and of the head of a table with its rule.
LINES, COLUMNS, HEAD_LINES = 12, 80, 2


def lines_taken(*texts: str) -> int:
    """Return how many lines texts take below each other."""
    return sum(len(textwrap.wrap(text, COLUMNS)) for text in texts)
