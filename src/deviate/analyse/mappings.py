"""Whether an expression holds a mapping: values under keys, reported whole."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from deviate.analyse.abstract import Instance
from deviate.analyse.handing import picked
from deviate.analyse.index import Scope, Unit, lookup
from deviate.analyse.program import called_name
from deviate.analyse.shown import dotted_text

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Functions that return what functions return are followed this far.
MAX_DEPTH = 4
_MAKERS = {"dict", "defaultdict", "OrderedDict", "Counter", "asdict", "_asdict", "to_dict", "todict"}


def is_mapping(flow: Flow, expr: ast.expr, scope: Scope) -> bool:
    """Whether a name's items are read by constant keys, or what it was given makes a mapping."""
    return is_used_as_mapping(expr, scope) or makes_mapping(flow, expr, scope)


def is_used_as_mapping(expr: ast.expr, scope: Scope) -> bool:
    """Whether the function reads items of a name by constant keys."""
    unit = scope.unit
    if unit.keyed_names is None:
        unit.keyed_names = {
            dotted_text(node.value)
            for node in ast.walk(unit.node)
            if isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        } - {""}
    return dotted_text(expr) in unit.keyed_names


def makes_mapping(flow: Flow, expr: ast.expr | None, scope: Scope, depth: int = 0) -> bool:
    """Whether an expression makes a mapping, by its own form or by that of what a function of the project returns."""
    if expr is None or depth > MAX_DEPTH:
        return False
    if isinstance(expr, (ast.Dict, ast.DictComp)):
        return True
    if isinstance(expr, ast.Name):
        return _is_bound_to_mapping(flow, expr, scope, depth)
    if not isinstance(expr, ast.Call):
        return False
    if called_name(expr) in _MAKERS and not _keeps_values(flow, expr, scope):
        return True
    units = [ref for ref in flow.value(expr.func, scope).refs if isinstance(ref, Unit)]
    returned = [one for unit in units for one in unit.returns]
    return bool(returned) and all(makes_mapping(flow, value, inner, depth + 1) for value, inner in returned)


def is_list(flow: Flow, expr: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether an expression makes a list or a part of one, by form; of names all that they are given counts."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(expr, (ast.List, ast.ListComp)):
        return True
    if isinstance(expr, ast.Subscript):
        return isinstance(expr.slice, ast.Slice) and is_list(flow, expr.value, scope, depth + 1)
    if isinstance(expr, ast.Call):
        return called_name(expr) in {"list", "sorted", "deque"} and not _keeps_values(flow, expr, scope)
    return isinstance(expr, ast.Name) and _is_given(expr, scope, lambda value, at: is_list(flow, value, at, depth + 1))


def _is_bound_to_mapping(flow: Flow, name: ast.Name, scope: Scope, depth: int) -> bool:
    return _is_given(name, scope, lambda value, at: makes_mapping(flow, value, at, depth + 1))


def _is_given(name: ast.Name, scope: Scope, test: Callable[[ast.expr, Scope], bool]) -> bool:
    """Whether everything a name is given by assignment passes a test, and it is given nothing otherwise."""
    found = lookup(name.id, scope)
    given = [one for one in found[1] if one.kind in {"assign", "param", "for", "with", "opaque"}] if found else []
    values = [picked(one) if one.kind == "assign" else None for one in given]
    return bool(given) and all(
        value is not None and test(value, one.scope) for one, value in zip(given, values, strict=True)
    )


def _keeps_values(flow: Flow, call: ast.Call, scope: Scope) -> bool:
    """Whether a method of the project's own object is called: what it returns is followed instead."""
    return any(isinstance(ref, (Unit, Instance)) for ref in flow.value(call.func, scope).refs)
