"""Whether an expression holds a mapping: values under keys, reported whole."""

from __future__ import annotations

import ast
from collections.abc import Callable

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import External, Instance
from deviate.analyse.source.index import Binding, Scope, Unit, bindings_of
from deviate.analyse.source.syntax import called_name, dotted_text, unpacked

#: Functions that return what functions return are followed this far.
MAX_DEPTH = 4
_MAKERS = {"dict", "defaultdict", "OrderedDict", "Counter", "asdict", "_asdict", "to_dict", "todict"}


def is_mapping(flow: Evaluator, expr: ast.expr, scope: Scope) -> bool:
    """Whether a name's items are read by constant keys, or what it was given makes a mapping."""
    return is_used_as_mapping(expr, scope) or makes_mapping(flow, expr, scope) or bool(flow.value(expr, scope).keys)


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


def makes_mapping(flow: Evaluator, expr: ast.expr | None, scope: Scope, depth: int = 0) -> bool:
    """Whether an expression makes a mapping, by its own form or by that of what a function of the project returns."""
    if expr is None or depth > MAX_DEPTH:
        return False
    if isinstance(expr, (ast.Dict, ast.DictComp)):
        return True
    if isinstance(expr, ast.Name):
        return _is_always_assigned(expr, scope, lambda value, home: makes_mapping(flow, value, home, depth + 1))
    if not isinstance(expr, ast.Call):
        return False
    if called_name(expr) in _MAKERS and not _is_own_method(flow, expr, scope):
        return True
    if called_name(expr) == "evaluate" and _is_of_trainer(flow, expr, scope):
        return True
    returns = [result for ref in flow.value(expr.func, scope).refs if isinstance(ref, Unit) for result in ref.returns]
    return bool(returns) and all(makes_mapping(flow, value, home, depth + 1) for value, home in returns)


def _is_of_trainer(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether a method of a library's trainer is called, as Hugging Face's."""
    refs = flow.resolved(call.func.value, scope).refs if isinstance(call.func, ast.Attribute) else ()
    return any(isinstance(ref, External) and ref.dotted.endswith("Trainer") for ref in refs)


def is_list(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether an expression makes a list or a part of one, by form; of a name, all that it is bound to counts."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(expr, (ast.List, ast.ListComp)):
        return True
    if isinstance(expr, ast.Subscript):
        return isinstance(expr.slice, ast.Slice) and is_list(flow, expr.value, scope, depth + 1)
    if isinstance(expr, ast.Call):
        return called_name(expr) in {"list", "sorted", "deque"} and not _is_own_method(flow, expr, scope)
    return isinstance(expr, ast.Name) and _is_always_assigned(
        expr, scope, lambda value, home: is_list(flow, value, home, depth + 1)
    )


def _is_always_assigned(name: ast.Name, scope: Scope, test: Callable[[ast.expr, Scope], bool]) -> bool:
    """Whether everything a name is bound to is assigned and passes a test."""
    kinds = {"assign", "param", "for", "with", "opaque"}
    bindings = [binding for binding in bindings_of(name.id, scope) if binding.kind in kinds and not _is_none(binding)]
    return bool(bindings) and all(
        binding.kind == "assign" and (value := unpacked(binding)) is not None and test(value, binding.scope)
        for binding in bindings
    )


def _is_own_method(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether a method of the project's own object is called: what it returns is followed instead."""
    return any(isinstance(ref, (Unit, Instance)) for ref in flow.value(call.func, scope).refs)


def _is_none(binding: Binding) -> bool:
    """Whether a name is only declared: ``metrics = None``."""
    value = unpacked(binding) if binding.kind == "assign" else binding
    return isinstance(value, ast.Constant) and value.value is None
