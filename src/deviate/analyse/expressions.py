"""What each kind of expression gives, from what its parts give."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from deviate.analyse.abstract import CONSTANT, LIVE, METRIC_ORIGINS, SCHEDULE, TEXT, Value, join, mixed, of
from deviate.analyse.attributes import attribute_value
from deviate.analyse.calls import call_value
from deviate.analyse.externals import subtract
from deviate.analyse.index import Scope
from deviate.analyse.training import is_scaled_step

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


_A_TEXT, _A_CONSTANT = of(TEXT), of(CONSTANT)


def constant_value(node: ast.Constant) -> Value:
    """Evaluate a literal."""
    return _A_TEXT if isinstance(node.value, (str, bytes)) else _A_CONSTANT


def _text(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.JoinedStr)
    inner = [flow.value(one.value, scope) for one in node.values if isinstance(one, ast.FormattedValue)]
    return Value(mixed(inner).origins | {TEXT})


def _operation(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.BinOp)
    left, right = flow.value(node.left, scope), flow.value(node.right, scope)
    if isinstance(node.op, ast.Sub) and is_scaled_step(node.right):
        return Value(mixed((left, right)).origins | {LIVE})
    if isinstance(node.op, ast.Sub):
        return subtract(_clocked(flow, left), _clocked(flow, right))
    if isinstance(node.op, (ast.Add, ast.Mult)) and (left.element or right.element):
        return Value(left.origins | right.origins, element=join([one for one in (left.element, right.element) if one]))
    if isinstance(node.op, ast.FloorDiv) and not left.has(*METRIC_ORIGINS):
        return mixed((left, right))
    return mixed((left, right))


def _clocked(flow: Flow, value: Value) -> Value:
    return flow.resolve(value) if value.params() else value


def _several(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    children = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
    return mixed([flow.value(one, scope) for one in children])


def _choice(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    if isinstance(node, ast.IfExp):
        return join([flow.value(node.body, scope), flow.value(node.orelse, scope)])
    assert isinstance(node, ast.BoolOp)
    return join([flow.value(one, scope) for one in node.values])


def _sequence(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, (ast.Tuple, ast.List, ast.Set))
    items = tuple(flow.value(one, scope) for one in node.elts)
    inner = join(items)
    exact = not any(isinstance(one, ast.Starred) for one in node.elts) and len(items) <= 40
    return Value(mixed(items).origins, (), items if exact else None, {}, inner)


def _mapping(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.Dict)
    keys: dict[str, Value] = {}
    values = []
    for key, inner in zip(node.keys, node.values, strict=True):
        value = flow.value(inner, scope)
        values.append(value)
        if key is None:
            keys.update(value.keys)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            keys[key.value] = value
    return Value(mixed(values).origins, keys=keys, element=join(values))


def _comprehension(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    inner = scope.module.inner.get(node, scope)
    assert isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp))
    value = flow.value(node.value if isinstance(node, ast.DictComp) else node.elt, inner)
    return Value(value.origins, element=value)


def _lambda(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.Lambda)
    inner = flow.value(node.body, scope.module.inner.get(node, scope))
    return Value(inner.origins, element=None)


def _subscript(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.Subscript)
    base = flow.value(node.value, scope)
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str):
        if key in {"lr", "learning_rate"}:
            return of(SCHEDULE)
        if key in base.keys:
            return base.keys[key]
    if isinstance(key, int) and base.items is not None and -len(base.items) <= key < len(base.items):
        return base.items[key]
    if isinstance(node.slice, ast.Slice):
        return base
    if base.element is not None:
        return base.element
    return Value(base.origins, base.refs if base.items is None else ())


def _inner(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    inner = node.value  # type: ignore[attr-defined]
    return flow.value(inner, scope)


def _unary(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.UnaryOp)
    return flow.value(node.operand, scope)


def _attribute(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.Attribute)
    return attribute_value(flow, node, scope)


def _call(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.Call)
    return call_value(flow, node, scope)


#: How each kind of expression but a name and a literal is evaluated.
HANDLERS: dict[type, Callable[[Flow, ast.expr, Scope], Value]] = {
    ast.JoinedStr: _text,
    ast.BinOp: _operation,
    ast.Compare: _several,
    ast.IfExp: _choice,
    ast.BoolOp: _choice,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _mapping,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.Subscript: _subscript,
    ast.Starred: _inner,
    ast.Await: _inner,
    ast.NamedExpr: _inner,
    ast.FormattedValue: _inner,
    ast.UnaryOp: _unary,
    ast.Attribute: _attribute,
    ast.Call: _call,
}
