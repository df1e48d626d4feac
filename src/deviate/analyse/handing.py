"""Which parameter a value is handed on from, by form: itself, an element, an attribute, a conversion of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from deviate.analyse.abstract import Instance, Param
from deviate.analyse.index import Binding, Place, Scope, Unit, lookup
from deviate.analyse.program import called_name

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

MAX_DEPTH = 10
_CONVERSIONS = {"str", "float", "int", "round", "list", "tuple", "dict", "repr", "sorted", "format", "array",
    "asarray", "tensor",
                "dumps", "to_cpu", "vars", "copy", "deepcopy", "to_numpy", "tensor2float", "tolist"}  # fmt: skip
#: Methods that give the same number in another form, or the number an object keeps.
_FORMS = {"item", "result", "numpy", "astype", "tolist", "cpu", "detach", "compute", "value", "summary",
    "format", "get", "items",
          "values", "float", "double", "copy", "strip", "join", "to", "result_value", "get_value", "avg",
          "clone"}  # fmt: skip
_ITERATED = {"enumerate", "zip", "list", "tuple", "sorted", "reversed", "iter", "items", "values", "tqdm"}


def source_param(flow: Flow, expr: ast.expr, scope: Scope, depth: int = 0) -> Param | None:
    """Find the parameter that an expression hands on; None when it computes something of its own."""
    if expr in flow.handed or depth > MAX_DEPTH:
        return flow.handed.get(expr)
    flow.handed[expr] = None
    found = flow.handed[expr] = _source(flow, expr, scope, depth)
    return found


def _source(flow: Flow, expr: ast.expr, scope: Scope, depth: int) -> Param | None:
    if isinstance(expr, ast.Name):
        return _of_name(flow, expr, scope, depth)
    if isinstance(expr, ast.Attribute):
        return _of_attribute(flow, expr, scope, depth)
    if isinstance(expr, (ast.Subscript, ast.Starred)):
        return source_param(flow, expr.value, scope, depth + 1)
    if isinstance(expr, ast.Call):
        return _of_call(flow, expr, scope, depth)
    if isinstance(expr, ast.BinOp):
        sides = [source_param(flow, one, scope, depth + 1) for one in (expr.left, expr.right)
                 if not isinstance(one, ast.Constant)]  # fmt: skip
        return sides[0] if len(sides) == 1 else None
    if isinstance(expr, ast.IfExp):
        return source_param(flow, expr.body, scope, depth + 1)
    if isinstance(expr, (ast.ListComp, ast.GeneratorExp, ast.DictComp)):
        made = expr.value if isinstance(expr, ast.DictComp) else expr.elt
        return source_param(flow, made, scope.module.inner.get(expr, scope), depth + 1)
    return None


def _of_name(flow: Flow, node: ast.Name, scope: Scope, depth: int) -> Param | None:
    found = lookup(node.id, scope)
    if found is None:
        return None
    home, bindings = found
    for one in _in_force(node, bindings):
        param = _of_binding(flow, one, home, node.id, depth)
        if param is not None:
            return param
    return None


def _in_force(node: ast.Name, bindings: list[Binding]) -> list[Binding]:
    """Leave out what a name was bound to before a statement that surely runs just before the name is read."""
    sure = [one for one in bindings if one.kind == "assign" and one.line < node.lineno and _is_around(one.place, node)]
    last = max((one.line for one in sure), default=0)
    return [one for one in bindings if one.line >= last or one.kind not in {"assign", "param"}]


def _is_around(place: Place | None, node: ast.Name) -> bool:
    """Whether the branch that holds a statement holds a later expression too."""
    if place is None:
        return True
    branch = getattr(place.node, place.branch, None)
    if not isinstance(branch, list) or not branch or not isinstance(branch[-1], ast.stmt):
        return False
    return node.lineno <= (branch[-1].end_lineno or 0)


def _of_binding(flow: Flow, binding: Binding, home: Scope, name: str, depth: int) -> Param | None:
    if binding.kind == "param" and isinstance(home, Unit):
        is_self = home.is_method and home.parameters[:1] == (name,)
        return None if is_self else Param(home, name)
    if binding.kind == "for" and binding.value is not None:
        return source_param(flow, _iterated(binding.value, binding.path), binding.scope, depth + 1)
    if binding.kind in {"merge", "element"} and not _is_container(home, name):
        return None
    if binding.kind in {"assign", "merge", "element", "aug"} and binding.value is not None and not binding.path:
        return source_param(flow, binding.value, binding.scope, depth + 1)
    return None


def picked(binding: Binding) -> ast.expr | None:
    """Find what one name gets of an assignment; None where that is not written out."""
    value = binding.value
    for position in binding.path:
        if not isinstance(value, (ast.Tuple, ast.List)) or not 0 <= position < len(value.elts):
            return None
        value = value.elts[position]
    return value


def _is_container(home: Scope, name: str) -> bool:
    """Whether a name holds a list or mapping, rather than an object that is fed."""
    made = [one.value for one in home.bindings.get(name, []) if one.kind == "assign"]
    return not any(isinstance(one, ast.Call) and called_name(one)[:1].isupper() for one in made)


def _iterated(expr: ast.expr, path: tuple[int, ...]) -> ast.expr:
    while isinstance(expr, ast.Call) and called_name(expr) in _ITERATED:
        if isinstance(expr.func, ast.Attribute):
            expr = expr.func.value
        elif called_name(expr) == "zip" and path and path[0] < len(expr.args):
            expr, path = expr.args[path[0]], path[1:]
        elif expr.args:
            expr = expr.args[0]
        else:
            break
    return expr


def _of_attribute(flow: Flow, expr: ast.Attribute, scope: Scope, depth: int) -> Param | None:
    if isinstance(expr.value, ast.Name):
        for ref in flow.value(expr.value, scope).refs:
            if isinstance(ref, Instance) and expr.value.id == "self":
                for binding in ref.cls.attributes.get(expr.attr, []):
                    given = picked(binding) if binding.kind == "assign" else None
                    if given is not None:
                        param = source_param(flow, given, binding.scope, depth + 1)
                        if param is not None:
                            return param
    return source_param(flow, expr.value, scope, depth + 1)


def _of_call(flow: Flow, expr: ast.Call, scope: Scope, depth: int) -> Param | None:
    func = expr.func
    if isinstance(func, ast.Attribute):
        base = source_param(flow, func.value, scope, depth + 1)
        if base is not None:
            return base if func.attr in _FORMS else None
        if func.attr == "join" and len(expr.args) == 1:
            return source_param(flow, expr.args[0], scope, depth + 1)
    if len(expr.args) == 1 and not isinstance(expr.args[0], ast.Starred) and _hands_back(flow, expr, scope, depth):
        return source_param(flow, expr.args[0], scope, depth + 1)
    return None


def _hands_back(flow: Flow, call: ast.Call, scope: Scope, depth: int) -> bool:
    """Whether a function returns its argument, in another form at most."""
    if called_name(call) in _CONVERSIONS:
        return True
    for ref in flow.value(call.func, scope).refs:
        if isinstance(ref, Unit):
            for value, inner in ref.returns:
                param = source_param(flow, value, inner, depth + 2)
                if param is not None and param.unit is ref:
                    return True
    return False
