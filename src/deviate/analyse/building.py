"""How a name got what it holds: in one statement or several, as text, list or mapping that can be taken apart."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from deviate.analyse.abstract import TEXT, Instance
from deviate.analyse.index import Binding, ClassScope, Scope, lookup
from deviate.analyse.program import called_name
from deviate.analyse.shown import dotted_text
from deviate.analyse.textual import is_textual

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


def is_converted(value: ast.expr | None) -> bool:
    """``str(value)``."""
    return isinstance(value, ast.Call) and called_name(value) == "str" and len(value.args) == 1


def mentions(value: ast.expr, expr: ast.expr) -> bool:
    """Whether a name is given the result of a method of its own: ``text = text.strip()``."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and dotted_text(value.func.value) != ""
        and (dotted_text(value.func.value) == dotted_text(expr) and value.func.attr not in {"format", "join"})
    )


def bindings_of(flow: Flow, expr: ast.Name | ast.Attribute, scope: Scope) -> list[Binding]:
    """Find what a name, or an attribute of an object of the project, is bound to within the function."""
    if isinstance(expr, ast.Name):
        found = lookup(expr.id, scope)
        return found[1] if found and found[0].unit is scope.unit else []
    for ref in flow.value(expr.value, scope).refs:
        if isinstance(ref, Instance) and isinstance(ref.cls, ClassScope):
            return [one for one in ref.cls.attributes.get(expr.attr, []) if one.scope.unit is scope.unit]
    return []


def builds(flow: Flow, binding: Binding) -> bool:
    """Whether a binding makes text, a list or a mapping that can be taken apart."""
    value = binding.value
    if value is None or binding.path:
        return False
    if binding.kind == "key" or isinstance(value, (ast.JoinedStr, ast.Dict)):
        return True
    if isinstance(value, (ast.List, ast.Tuple)):
        return bool(value.elts)
    if isinstance(value, ast.Call):
        name = called_name(value)
        if name in {"format", "join", "dumps", "str"}:
            return flow.value(value, binding.scope).has(TEXT)
        return (name == "dict" and bool(value.keywords)) or name == "format"
    if isinstance(value, ast.BinOp):
        return is_textual(flow, value, binding.scope)
    return False


def is_grown_mapping(bindings: list[Binding]) -> bool:
    """Whether a mapping is written out or filled key by key."""
    return any(isinstance(one.value, ast.Dict) and one.kind == "assign" for one in bindings) or any(
        one.kind == "key" for one in bindings
    )


def is_open(binding: Binding) -> bool:
    """Whether a binding gives a mapping items under keys that are not written out."""
    value = binding.value
    if binding.kind == "element":
        return True
    if binding.kind == "key":
        return False
    if isinstance(value, ast.Dict):
        return any(key is None or not isinstance(key, ast.Constant) for key in value.keys)
    return not (isinstance(value, ast.Call) and called_name(value) in {"dict", "OrderedDict"} and not value.args)


def is_list(value: ast.expr | None) -> bool:
    """Whether a list is made, whatever is put into it later."""
    return isinstance(value, ast.List) or (isinstance(value, ast.Call) and called_name(value) in {"list", "deque"})
