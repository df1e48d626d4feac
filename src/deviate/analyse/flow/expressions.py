"""The value of each kind of expression, from the values of its parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from deviate.analyse.flow.attributes import attribute_value
from deviate.analyse.flow.calls import call_value
from deviate.analyse.flow.computed import chosen_by_name
from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import From, Instance, Value, as_number, element_of, join, mixed, of, subtract
from deviate.analyse.source.index import ClassScope, Scope, Unit, bindings_of
from deviate.analyse.source.syntax import dotted_text

#: Operations that texts do not have.
_OF_NUMBERS = (ast.Pow, ast.FloorDiv, ast.MatMult)
_A_TEXT, _A_CONSTANT = of(From.TEXT), of(From.CONSTANT)


def constant_value(node: ast.Constant) -> Value:
    """Evaluate a literal."""
    return _A_TEXT if isinstance(node.value, (str, bytes)) else _A_CONSTANT


def _text(flow: Evaluator, node: ast.JoinedStr, scope: Scope) -> Value:
    fields = [flow.value(part.value, scope) for part in node.values if isinstance(part, ast.FormattedValue)]
    return Value(mixed(fields).origins | {From.TEXT})


def _operation(flow: Evaluator, node: ast.BinOp, scope: Scope) -> Value:
    left, right = flow.value(node.left, scope), flow.value(node.right, scope)
    if isinstance(node.op, ast.Sub) and is_scaled_step(node.right):
        return Value(mixed((left, right)).origins | {From.LIVE})
    if isinstance(node.op, ast.Sub):
        difference = subtract(flow.resolve(left), flow.resolve(right))
        return difference if difference.has(From.DURATION) else as_number(mixed((left, right)))
    if isinstance(node.op, (ast.Add, ast.Mult)) and (left.element or right.element):
        elements = [side.element for side in (left, right) if side.element]
        return Value(left.origins | right.origins, element=join(elements))
    if isinstance(node.op, _OF_NUMBERS) or (isinstance(node.op, ast.Div) and not left.has(From.PATH)):
        return as_number(mixed((left, right)))
    return mixed((left, right))


def _parts(flow: Evaluator, node: ast.expr, scope: Scope) -> Value:
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return mixed([flow.value(child, scope) for child in children])


def _choice(flow: Evaluator, node: ast.IfExp | ast.BoolOp, scope: Scope) -> Value:
    choices = node.values if isinstance(node, ast.BoolOp) else (node.body, node.orelse)
    values = [flow.value(choice, scope) for choice in choices]
    if isinstance(node, ast.IfExp) and flow.program.is_decided and all(map(_is_defined, values)):
        taken = flow.program.choices.taken(node, scope)
        return flow.value(taken, scope) if taken is not None and taken is not node else join(values)
    return join(values)


def _is_defined(value: Value) -> bool:
    """Whether a value is a function, a class or an object of the project."""
    return any(isinstance(ref, (Unit, ClassScope, Instance)) for ref in value.refs)


def _sequence(flow: Evaluator, node: ast.Tuple | ast.List | ast.Set, scope: Scope) -> Value:
    items = tuple(flow.value(element, scope) for element in node.elts)
    exact = not any(isinstance(element, ast.Starred) for element in node.elts) and len(items) <= 40
    return Value(mixed(items).origins, (), items if exact else None, {}, join(items))


def _mapping(flow: Evaluator, node: ast.Dict, scope: Scope) -> Value:
    keys: dict[str, Value] = {}
    values = []
    for key, expr in zip(node.keys, node.values, strict=True):
        value = flow.value(expr, scope)
        values.append(value)
        if key is None:
            keys.update(value.keys)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            keys[key.value] = value
    return Value(mixed(values).origins, keys=keys, element=join(values) if values else None)


def _comprehension(flow: Evaluator, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp))
    value = flow.value(node.value if isinstance(node, ast.DictComp) else node.elt, scope.module.inner.get(node, scope))
    return Value(value.origins, element=value)


def _lambda(flow: Evaluator, node: ast.Lambda, scope: Scope) -> Value:
    return Value(flow.value(node.body, scope.module.inner.get(node, scope)).origins)


def _subscript(flow: Evaluator, node: ast.Subscript, scope: Scope) -> Value:
    base = flow.value(node.value, scope)
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str):
        if key in {"lr", "learning_rate"}:
            return of(From.SCHEDULE)
        if key in base.keys and not _is_only_its_own(base.keys[key]):
            return _with_stored(base.keys[key], base.element)
        if base.keys and not base.refs and base.plain() <= {From.CONSTANT, From.TEXT}:
            return of(From.UNKNOWN)  # put there by what is not seen: nothing that is written out is it
    if isinstance(key, int) and base.items is not None and -len(base.items) <= key < len(base.items):
        return join([base.items[key], *_set_later(flow, node.value, key, scope)])
    if isinstance(node.slice, ast.Slice):
        return base
    named = chosen_by_name(flow, node, scope) if key is None else None
    if named is not None:
        return named
    own = [unit for ref in base.refs if isinstance(ref, Instance)
           for unit in flow.program.method(flow, ref.cls, "__getitem__")]  # fmt: skip
    if own:
        return join([flow.returned(unit) for unit in own])
    if key is None and base.keys:
        return element_of(base)
    if base.element is not None:
        return base.element
    return Value(base.origins, base.refs if base.items is None else ())


def _with_stored(item: Value, stored: Value | None) -> Value:
    """Add what is stored under computed keys to an item that has no more than a first value: ``sums[phase]["x"]``."""
    is_first = item.origins <= {From.CONSTANT, From.SETTING, From.TOTAL} and not item.keys and not item.refs
    return join([item, Value(stored.origins)]) if is_first and stored is not None and stored.origins else item


def _is_only_its_own(item: Value) -> bool:
    """Whether all that is known of an item is that it is made of itself: ``out["loss"] = out["loss"].detach()``."""
    return not (item.origins or item.refs or item.keys) and item.items is None and item.element is None


def _set_later(flow: Evaluator, holder: ast.expr, key: int, scope: Scope) -> list[Value]:
    """Evaluate what one position of a list is given after it is written out: ``best = [0, 0]; best[0] = accuracy``."""
    bindings = bindings_of(holder.id, scope) if isinstance(holder, ast.Name) else []
    return [
        flow.value(binding.value, binding.scope)
        for binding in bindings
        if binding.kind == "element" and isinstance(binding.statement, ast.Assign)
        for target in binding.statement.targets
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == key
    ]  # fmt: skip


def _inner(flow: Evaluator, node: ast.Starred | ast.Await | ast.NamedExpr | ast.FormattedValue, scope: Scope) -> Value:
    return flow.value(node.value, scope)


def _unary(flow: Evaluator, node: ast.UnaryOp, scope: Scope) -> Value:
    return flow.value(node.operand, scope)


#: How each kind of expression but a name and a literal is evaluated.
HANDLERS: dict[type, Callable[..., Value]] = {
    ast.JoinedStr: _text, ast.BinOp: _operation, ast.Compare: _parts, ast.IfExp: _choice, ast.BoolOp: _choice,
    ast.Tuple: _sequence, ast.List: _sequence, ast.Set: _sequence, ast.Dict: _mapping,
    ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension, ast.Lambda: _lambda, ast.Subscript: _subscript, ast.Starred: _inner,
    ast.Await: _inner, ast.NamedExpr: _inner, ast.FormattedValue: _inner, ast.UnaryOp: _unary,
    ast.Attribute: attribute_value, ast.Call: call_value,
}  # fmt: skip

_RATES = re.compile(r"(^|[._])(lr|learning_rate|eta|alpha|step_size|rate|grads?|gradients?|d[wb]|grad_\w+)\b",
                    re.IGNORECASE)  # fmt: skip


def is_scaled_step(node: ast.expr) -> bool:
    """Whether a product has a learning rate or a gradient in it."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.Div)):
        return False
    return any(
        _RATES.search(dotted_text(part)) for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute))
    )
