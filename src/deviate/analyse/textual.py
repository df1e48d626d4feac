"""Whether an expression makes text, and the text of one that is constant."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from deviate.analyse.abstract import METRIC_ORIGINS, TEXT
from deviate.analyse.index import Scope, lookup
from deviate.analyse.program import called_name

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Sums of constant texts are followed this far, repeated ones to this length.
MAX_TEXT_DEPTH = 60
MAX_TEXT = 10_000
#: Methods of a text that make a text.
TEXT_METHODS = {"strip", "rstrip", "lstrip", "ljust", "rjust", "center", "upper", "lower", "title", "replace", "zfill",
                "capitalize", "encode"}  # fmt: skip


def is_textual(flow: Flow, expr: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether an expression makes text, by its form: text added to text, text formatted."""
    if depth > 40:
        return False
    if isinstance(expr, ast.BinOp):
        if isinstance(expr.op, ast.Mod):
            return is_textual(flow, expr.left, scope, depth + 1)
        if isinstance(expr.op, ast.Add):
            return is_textual(flow, expr.left, scope, depth + 1) or is_textual(flow, expr.right, scope, depth + 1)
        return isinstance(expr.op, ast.Mult) and is_textual(flow, expr.left, scope, depth + 1)
    if isinstance(expr, ast.Constant):
        return isinstance(expr.value, str)
    if isinstance(expr, ast.Call):
        return called_name(expr) in {"str", "format", "join", "dumps", "repr"} or called_name(expr) in TEXT_METHODS
    if isinstance(expr, ast.Name):
        value = flow.value(expr, scope)
        return value.has(TEXT) and not value.has(*METRIC_ORIGINS) and value.element is None
    return isinstance(expr, ast.JoinedStr)


def constant_string(flow: Flow, expr: ast.expr, scope: Scope, depth: int = 0) -> str | None:
    """Text of a constant string, of constants added or repeated, or of a name bound once to such."""
    if isinstance(expr, ast.Constant):
        return expr.value if isinstance(expr.value, str) else None
    if depth > MAX_TEXT_DEPTH:
        return None
    if isinstance(expr, ast.BinOp):
        return _computed_string(flow, expr, scope, depth)
    if isinstance(expr, ast.Name):
        found = lookup(expr.id, scope)
        if found and len(found[1]) == 1 and found[1][0].kind == "assign" and not found[1][0].path:
            binding = found[1][0]
            if isinstance(binding.value, (ast.Constant, ast.BinOp)):
                return constant_string(flow, binding.value, binding.scope, depth + 1)
    return None


def _computed_string(flow: Flow, expr: ast.BinOp, scope: Scope, depth: int) -> str | None:
    left = constant_string(flow, expr.left, scope, depth + 1)
    if left is None:
        return None
    if isinstance(expr.op, ast.Add):
        right = constant_string(flow, expr.right, scope, depth + 1)
        return left + right if right is not None else None
    times = expr.right.value if isinstance(expr.op, ast.Mult) and isinstance(expr.right, ast.Constant) else None
    return left * times if isinstance(times, int) and 0 <= times * len(left) <= MAX_TEXT else None
