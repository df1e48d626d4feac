"""Conversions and constant factors around a value: ``100 * accuracy.item()`` is ``accuracy``."""

from __future__ import annotations

import ast

from deviate.analyse.source.syntax import called_name

_CONVERTING_CALLS = {"float", "int", "round", "str"}
_CONVERTING_METHODS = {"item", "detach", "cpu", "numpy", "tolist", "float", "double"}


def converted(node: ast.expr) -> ast.expr:
    """Take conversions and constant factors off: ``100 * accuracy.item()`` is ``accuracy``."""
    while True:
        inner = conversion(node) or factor(node)
        if inner is None:
            return node
        node = inner


def conversion(node: ast.expr) -> ast.expr | None:
    """Return what a call converts, ``accuracy`` of ``accuracy.item()`` and ``float(accuracy)``; None for another."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in _CONVERTING_METHODS and not node.args else None
    return node.args[0] if called_name(node) in _CONVERTING_CALLS and node.args else None


def factor(node: ast.expr) -> ast.expr | None:
    """Return what a constant multiplies or divides; None where none does."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.Div)):
        return None
    if isinstance(node.right, ast.Constant):
        return node.left
    return node.right if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant) else None
