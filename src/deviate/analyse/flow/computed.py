"""What a program takes by a name that it computes, where settings decide the name."""

from __future__ import annotations

import ast

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.plugins import imported_by_name
from deviate.analyse.flow.values import MAX_REFS, Instance, Value
from deviate.analyse.source.dotted import constant_start
from deviate.analyse.source.index import ModuleIndex, Scope
from deviate.analyse.source.syntax import IMPORTERS, called_name, is_namespace


def chosen_by_name(flow: Evaluator, node: ast.Call | ast.Subscript, scope: Scope) -> Value | None:
    """Evaluate ``import_module(name)``, ``getattr(module, name)``, ``module.__dict__[name]``, ``eval(name)``.

    None for any other expression, and where the name is not known.
    """
    if not flow.program.is_decided:
        return None
    if isinstance(node, ast.Call) and called_name(node) in IMPORTERS:
        module = imported_by_name(flow.program, node, scope)
        return Value(refs=(module,)) if module is not None else None
    holder, name = taken_from(node)
    module = _module(flow, holder, scope) if holder is not None else None
    known = flow.program.choices.value(name, scope) if module is not None and name is not None else None
    if module is None or known is None or not isinstance(known.value, str):
        return None
    value = flow.value_of_name(known.value, module)
    return value if value.refs else None


def methods_begun(flow: Evaluator, node: ast.Call, scope: Scope) -> Value | None:
    """Evaluate ``getattr(self, "sample_" + how)``: all methods of an own object that are called like that; or None."""
    holder, name = taken_from(node)
    start = constant_start(name) if name is not None else ""
    owners = [ref.cls for ref in flow.value(holder, scope).refs if isinstance(ref, Instance)] if start else []
    methods = [
        method
        for cls in dict.fromkeys(each for owner in owners for each in flow.program.ancestors(flow, owner))
        for called, method in cls.methods.items()
        if called.startswith(start)
    ]
    return Value(refs=tuple(methods[:MAX_REFS])) if methods else None


def taken_from(node: ast.Call | ast.Subscript) -> tuple[ast.expr | None, ast.expr | None]:
    """Return what holds a name, and the name: the scope of a file stands for itself as ``globals()``."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "eval" and node.args:
            return node.func, node.args[0]
        is_getattr = called_name(node) == "getattr" and len(node.args) > 1
        return (node.args[0], node.args[1]) if is_getattr else (None, None)
    held = node.value
    if isinstance(held, ast.Attribute) and held.attr == "__dict__":
        return held.value, node.slice
    if isinstance(held, ast.Call) and called_name(held) == "vars" and len(held.args) == 1:
        return held.args[0], node.slice
    return (held, node.slice) if is_namespace(held) else (None, None)


def _module(flow: Evaluator, holder: ast.expr, scope: Scope) -> ModuleIndex | None:
    if is_namespace(holder) or (isinstance(holder, ast.Name) and holder.id == "eval"):
        return scope.module
    modules = [ref for ref in flow.value(holder, scope).refs if isinstance(ref, ModuleIndex)]
    return modules[0] if len(modules) == 1 else None
