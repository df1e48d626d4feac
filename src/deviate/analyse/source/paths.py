"""Which folder an expression names, as far as it is written out: texts, `os.path`, `pathlib` and ``__file__``."""

from __future__ import annotations

import ast
import os
from pathlib import Path

from deviate.analyse.source.index import Scope, bindings_of
from deviate.analyse.source.syntax import called_name

#: Functions and methods that give the path they are given, in another form; some an absolute one.
_ABSOLUTE = {"abspath", "realpath", "resolve", "absolute"}
_SAME = _ABSOLUTE | {"normpath", "expanduser", "fspath", "str", "Path", "PurePath", "as_posix"}
#: Names are followed so far.
MAX_DEPTH = 8


def named_path(node: ast.expr, scope: Scope, file: Path, start: Path = Path(), depth: int = 0) -> str | None:
    """Return the path that an expression in `file` gives, which may be relative; None where that is unknown.

    `start` is the folder that the program is started in.
    """
    if depth > MAX_DEPTH:
        return None

    def inner(part: ast.expr) -> str | None:
        return named_path(part, scope, file, start, depth + 1)

    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id="__file__"):
            return str(file)
        case ast.Name():
            values = [each for each in bindings_of(node.id, scope) if each.kind == "assign" and not each.path]
            value = values[0].value if len(values) == 1 else None
            return named_path(value, values[0].scope, file, start, depth + 1) if value is not None else None
        case ast.Attribute(attr="pardir"):
            return os.pardir
        case ast.Attribute(attr="parent"):
            return _above(inner(node.value))
        case ast.Subscript(value=ast.Attribute(attr="parents") as parents, slice=ast.Constant(value=int(number))):
            return _above(inner(parents.value), number + 1)
        case ast.BinOp(op=ast.Div()):
            return _joined([inner(node.left), inner(node.right)])
        case ast.BinOp(op=ast.Add()):
            left, right = inner(node.left), inner(node.right)
            return left + right if left is not None and right is not None else None
        case ast.Call():
            return _called(node, [inner(part) for part in _operands(node)], start)
    return None


def _operands(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call, after what a method of a path is called on."""
    name, func = called_name(call), call.func
    is_method = name in {"resolve", "absolute", "as_posix", "joinpath"} and isinstance(func, ast.Attribute)
    return [func.value, *call.args] if is_method and isinstance(func, ast.Attribute) else list(call.args)


def _called(call: ast.Call, operands: list[str | None], start: Path) -> str | None:
    name = called_name(call)
    if name in {"join", "joinpath"} or (name == "Path" and len(operands) > 1):
        return _joined(operands)
    if name in {"getcwd", "cwd"} and not operands:
        return str(start)
    if name == "dirname" and operands:
        return os.path.dirname(operands[0]) if operands[0] is not None else None
    if name not in _SAME or not operands:
        return None
    is_relative = name in _ABSOLUTE and operands[0] is not None
    return os.path.normpath(os.path.join(start, operands[0] or "")) if is_relative else operands[0]


def _joined(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return os.path.join(*known) if known and len(known) == len(parts) else None


def _above(path: str | None, levels: int = 1) -> str | None:
    for _ in range(levels):
        path = os.path.dirname(path) if path is not None else None
    return path
