"""Dotted names as import statements and computed imports give them."""

from __future__ import annotations

import ast
import re
from itertools import takewhile

from deviate.analyse.source.syntax import called_name

#: A text that may name something in a module.
DOTTED_TEXT = re.compile(r"""["']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)["']""")


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Dotted names a statement may load as modules, with leading dots."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = "." * node.level + (node.module or "")
    return [base, *(base + alias.name if base.endswith(".") else f"{base}.{alias.name}" for alias in node.names
                    if alias.name != "*")]  # fmt: skip


def name_below(base: str, name: str) -> str:
    """Dotted name of something in a module, which may be given by dots alone."""
    return f"{base}.{name}" if base.strip(".") else base + name


def constant_start(node: ast.expr) -> str:
    """Leading constant text of an expression that builds a string."""
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        node = node.func.value
    if isinstance(node, ast.Call) and called_name(node) == "join" and node.args:
        parts = node.args[0].elts if isinstance(node.args[0], (ast.List, ast.Tuple)) else []
        fixed = takewhile(bool, (constant_start(part) for part in parts))
        return "".join(f"{part}." for part in fixed)
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return re.split(r"[{%]", text)[0]
