"""Which parameter a value is forwarded from, by form: itself, an element, an attribute, a conversion of it."""

from __future__ import annotations

import ast

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import Instance, Param
from deviate.analyse.naming.words import word_lists
from deviate.analyse.source.index import Binding, Scope, Unit, in_force, lookup
from deviate.analyse.source.syntax import called_name, unpacked

MAX_DEPTH = 10
_LISTS = word_lists(__file__)
_CONVERSIONS = _LISTS["converting functions"]
#: Methods that give the same number in another form, or the number an object holds.
_FORMS = _LISTS["methods that give the same number"]
_ITERATED = _LISTS["iterating functions"]


def forwarded_param(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int = 0) -> Param | None:
    """Find the parameter that an expression forwards; None when it computes something of its own."""
    if expr in flow.forwarded or depth > MAX_DEPTH:
        return flow.forwarded.get(expr)
    flow.forwarded[expr] = None
    flow.forwarded[expr] = _source(flow, expr, scope, depth)
    return flow.forwarded[expr]


def _source(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int) -> Param | None:
    if isinstance(expr, ast.Name):
        return _of_name(flow, expr, scope, depth)
    if isinstance(expr, ast.Attribute):
        return _of_attribute(flow, expr, scope, depth)
    if isinstance(expr, (ast.Subscript, ast.Starred)):
        return forwarded_param(flow, expr.value, scope, depth + 1)
    if isinstance(expr, ast.Call):
        return _of_call(flow, expr, scope, depth)
    if isinstance(expr, ast.BinOp):
        sides = [side for side in (expr.left, expr.right) if not isinstance(side, ast.Constant)]
        if isinstance(expr.op, ast.Div) and _is_one_unless_given(expr.right, scope):
            sides = [expr.left]
        params = [forwarded_param(flow, side, scope, depth + 1) for side in sides]
        return params[0] if len(params) == 1 else None
    if isinstance(expr, ast.IfExp):
        return forwarded_param(flow, expr.body, scope, depth + 1)
    if isinstance(expr, (ast.ListComp, ast.GeneratorExp, ast.DictComp)):
        element = expr.value if isinstance(expr, ast.DictComp) else expr.elt
        return forwarded_param(flow, element, scope.module.inner.get(expr, scope), depth + 1)
    return None


def _is_one_unless_given(node: ast.expr, scope: Scope) -> bool:
    """Whether a name is a parameter whose default is one: ``n`` of ``def log(key, value, n=1)``."""
    default = scope.unit.defaults.get(node.id) if isinstance(node, ast.Name) else None
    return isinstance(default, ast.Constant) and default.value == 1


def _of_name(flow: Evaluator, node: ast.Name, scope: Scope, depth: int) -> Param | None:
    definition = lookup(node.id, scope)
    if definition is None:
        return None
    home, bindings = definition
    params = (_of_binding(flow, binding, home, node.id, depth) for binding in in_force(node, bindings))
    return next((param for param in params if param is not None), None)


def _of_binding(flow: Evaluator, binding: Binding, home: Scope, name: str, depth: int) -> Param | None:
    if binding.kind == "param" and isinstance(home, Unit):
        is_self = home.is_method and home.parameters[:1] == (name,)
        return None if is_self else Param(home, name)
    if binding.kind == "for" and binding.value is not None:
        return forwarded_param(flow, _iterated(binding.value, binding.path), binding.scope, depth + 1)
    if binding.kind in {"merge", "element"} and not _is_container(home, name):
        return None
    if binding.kind in {"assign", "merge", "element", "aug"} and binding.value is not None and not binding.path:
        return forwarded_param(flow, binding.value, binding.scope, depth + 1)
    return None


def _is_container(home: Scope, name: str) -> bool:
    """Whether a name holds a list or mapping, rather than an object of a class."""
    values = [binding.value for binding in home.bindings.get(name, []) if binding.kind == "assign"]
    return not any(isinstance(value, ast.Call) and called_name(value)[:1].isupper() for value in values)


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


def _of_attribute(flow: Evaluator, expr: ast.Attribute, scope: Scope, depth: int) -> Param | None:
    refs = flow.value(expr.value, scope).refs if isinstance(expr.value, ast.Name) and expr.value.id == "self" else ()
    for ref in refs:
        for binding in ref.cls.attributes.get(expr.attr, []) if isinstance(ref, Instance) else ():
            value = unpacked(binding) if binding.kind == "assign" else None
            param = forwarded_param(flow, value, binding.scope, depth + 1) if value is not None else None
            if param is not None:
                return param
    return forwarded_param(flow, expr.value, scope, depth + 1)


def _of_call(flow: Evaluator, expr: ast.Call, scope: Scope, depth: int) -> Param | None:
    func = expr.func
    if isinstance(func, ast.Attribute):
        base = forwarded_param(flow, func.value, scope, depth + 1)
        if base is not None:
            # A meter's ``compute()`` gives its number, ``criterion.compute(scores, y)`` one of its own.
            is_own = func.attr == "compute" and bool(expr.args or expr.keywords)
            return base if func.attr in _FORMS and not is_own else None
        if func.attr == "join" and len(expr.args) == 1:
            return forwarded_param(flow, expr.args[0], scope, depth + 1)
    is_single = len(expr.args) == 1 and not isinstance(expr.args[0], ast.Starred)
    if is_single and _returns_argument(flow, expr, scope, depth):
        return forwarded_param(flow, expr.args[0], scope, depth + 1)
    return None


def _returns_argument(flow: Evaluator, call: ast.Call, scope: Scope, depth: int) -> bool:
    """Whether a function returns its argument, in another form at most."""
    if called_name(call) in _CONVERSIONS:
        return True
    for ref in flow.value(call.func, scope).refs:
        if isinstance(ref, Unit):
            params = (forwarded_param(flow, value, home, depth + 2) for value, home in ref.returns)
            if any(param is not None and param.unit is ref for param in params):
                return True
    return False
