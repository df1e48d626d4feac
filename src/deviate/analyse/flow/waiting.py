"""Counts of how long nothing better has come: ``if better: waited = 0 else: waited += 1``."""

from __future__ import annotations

import ast

from deviate.analyse.source.index import Binding, enclosing_branches
from deviate.analyse.source.syntax import text_of


def is_set_back(counted: Binding) -> bool:
    """Whether a condition around a count sets it back to a constant in another branch."""
    statement = counted.statement
    assert isinstance(statement, ast.AugAssign)
    name = text_of(statement.target)
    return any(
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and name in map(text_of, node.targets)
        for around, branch in enclosing_branches(counted.nesting)
        for other in (around.orelse if branch == "body" else around.body)
        for node in ast.walk(other)
    )
