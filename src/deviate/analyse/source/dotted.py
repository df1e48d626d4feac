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
        parts = _joined(node) or []
        fixed = takewhile(bool, (constant_start(part) for part in parts))
        return "".join(f"{part}." for part in fixed)
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return re.split(r"[{%]", text)[0]


def constant_ends(node: ast.expr) -> str:
    """Path of the modules that a text stands for which is open in the middle, or in its last two parts or more.

    ``f"kinds.{name}.work"`` is one, and ``f"settings.{kind}.{name}"``. Empty for any other expression, and where the
    text begins with what is open.
    """
    text = _opened(node)
    is_open = re.fullmatch(r"[A-Za-z_][\w.]*\.\*(\.(\w+|\*))+", text)
    return text.replace(".", "/") if is_open else ""


def open_parts(node: ast.expr) -> int:
    """Count the parts of a dotted name that are all open: 2 of ``"%s.%s" % (kind, name)``; 0 of any other."""
    text = _opened(node)
    return text.count("*") if re.fullmatch(r"\*(\.\*)+", text) else 0


def _opened(node: ast.expr) -> str:
    """Return a text that is built, with ``*`` for each part that is not written out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        node = node.left
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        node = node.func.value
    return re.sub(r"\{[^{}]*\}|%s", "*", "".join(_parts_of(node)))


def _parts_of(node: ast.expr) -> list[str]:
    """Constant parts of a text, with ``*`` for each of the others."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_parts_of(node.left), *_parts_of(node.right)]
    if (joined := _joined(node)) is not None:
        parts = ["".join(_parts_of(part)) for part in joined]
        return [".".join(parts)]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in _parts_of(value)]
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return [node.value if is_text else "*"]  # type: ignore[attr-defined]


def _joined(node: ast.expr) -> list[ast.expr] | None:
    """Return the parts that ``".".join([package, name])`` puts together; None for any other expression."""
    is_join = isinstance(node, ast.Call) and called_name(node) == "join" and len(node.args) == 1
    parts = node.args[0] if is_join else None  # type: ignore[attr-defined]
    return parts.elts if isinstance(parts, (ast.List, ast.Tuple)) else None
