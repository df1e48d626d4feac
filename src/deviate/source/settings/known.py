"""Values that are known without running the program."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """A value that is known; None itself stands for one that is not."""

    value: object


def literal(node: ast.expr | None) -> Known | None:
    """Return what an expression of constants alone is."""
    if node is None:
        return None
    if isinstance(node, ast.Constant):
        return Known(node.value)
    try:
        return Known(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def agreed(values: list[Known | None]) -> Known | None:
    """Return the value that all of several are; None where one is not known, or they differ."""
    first = values[0] if values else None
    return first if all(value == first for value in values) else None
