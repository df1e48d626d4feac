"""The variable that names a reported value, wrappers removed."""

from __future__ import annotations

import ast

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import METRIC_ORIGINS, From, Value
from deviate.analyse.naming.words import is_counting, word_lists
from deviate.analyse.source.index import Scope, lookup
from deviate.analyse.source.syntax import called_name, dotted_text, text_of
from deviate.analyse.texts.reported import ReportedValue

#: Reading one of these off an object, or calling one, gives its number.
_LISTS = word_lists(__file__)
READ_ATTRIBUTES = _LISTS["reading attributes"]
READ_METHODS = _LISTS["reading methods"]
_READ_CALLS = _LISTS["reading functions"]
_LIBRARIES = {"np", "numpy", "torch", "tf", "jnp", "math", "K", "F", "jax"}


def root_of(flow: Evaluator, reported: ReportedValue) -> str:
    """Name the variable of a reported value: ``100. * correct / total`` is ``correct``."""
    if reported.known_as:
        return reported.known_as
    return text_of(root_node(flow, reported.expr, reported.scope))[:200]


def root_node(flow: Evaluator, node: ast.expr, scope: Scope, depth: int = 0) -> ast.expr:
    """Take wrappers off an expression until the node that names its value is left."""
    if depth > 12:
        return node
    inner = _unwrapped(flow, node, scope)
    if inner is None:
        return _named_root(node)
    if isinstance(inner, ast.Name):
        iterated = _iterated(inner, scope)
        if iterated is not None:
            return root_node(flow, iterated[0], iterated[1], depth + 1)
    return root_node(flow, inner, scope, depth + 1) if inner is not node else _named_root(node)


def _named_root(node: ast.expr) -> ast.expr:
    """Leave the arguments of calls out."""
    if isinstance(node, ast.Call):
        return ast.Call(func=_named_root(node.func), args=[], keywords=[])
    if isinstance(node, ast.Attribute):
        return ast.Attribute(_named_root(node.value), node.attr, ast.Load())
    return node


def _unwrapped(flow: Evaluator, node: ast.expr, scope: Scope) -> ast.expr | None:
    """One wrapper less; None where the node itself names the value."""
    if isinstance(node, ast.BinOp):
        return _operand(flow, node, scope)
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, ast.Name):
        return node
    if isinstance(node, ast.Attribute):
        return node.value if node.attr in READ_ATTRIBUTES and dotted_text(node.value) not in {"self", "cls"} else None
    if isinstance(node, ast.IfExp):
        return node.body if not isinstance(node.body, ast.Constant) else node.orelse
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.DictComp)):
        source = node.generators[0].iter
        element = node.value if isinstance(node, ast.DictComp) else node.elt
        is_counted = (
            isinstance(source, ast.Call) and called_name(source) == "range" and isinstance(element, ast.Subscript)
        )
        return element.value if is_counted and isinstance(element, ast.Subscript) else source
    if isinstance(node, ast.Starred) or (
        isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Call, ast.BinOp))
    ):
        return node.value
    return _of_call(node) if isinstance(node, ast.Call) else None


def _of_call(node: ast.Call) -> ast.expr | None:
    name = called_name(node)
    if isinstance(node.func, ast.Attribute) and name in READ_METHODS and dotted_text(node.func.value) not in _LIBRARIES:
        return node.func.value
    if name in _READ_CALLS and (node.args or node.keywords):
        first = node.args[0] if node.args else node.keywords[0].value
        return first.value if isinstance(first, ast.Starred) else first
    return None


def _operand(flow: Evaluator, node: ast.BinOp, scope: Scope) -> ast.expr:
    """Choose the operand that makes the value vary: first one computed by the training, then a duration.

    A rate is none of its operands: ``len(batch) / seconds``, nor is by how much two computed values differ. A time is
    that since the moment that is subtracted.
    """
    if isinstance(node.op, ast.Sub) and all(isinstance(each, (ast.Name, ast.Attribute)) for each in _sides(node)):
        sides = [flow.resolved(side, scope) for side in _sides(node)]
        are_names = all(isinstance(side, ast.Name) for side in _sides(node))
        if are_names and all(side.has(From.CLOCK) and not side.has(*METRIC_ORIGINS) for side in sides):
            return node.right
        if all(side.has(From.LIVE) and not side.has(From.COUNT, From.TOTAL) for side in sides):
            return node
    rate = node
    while isinstance(rate.left, ast.BinOp) and isinstance(rate.right, ast.Constant):
        rate = rate.left
    if isinstance(rate.op, (ast.Div, ast.FloorDiv)) and not isinstance(rate.left, ast.Constant):
        left, right = flow.resolved(rate.left, scope), flow.resolved(rate.right, scope)
        if right.has(From.DURATION) and not right.has(From.LIVE) and not left.has(From.DURATION, From.MEMORY):
            return node
    return min(_flatten(node), key=lambda operand: _constancy(operand, flow.resolved(operand, scope)))


def _sides(node: ast.BinOp) -> tuple[ast.expr, ast.expr]:
    return node.left, node.right


def _constancy(operand: ast.expr, value: Value) -> int:
    """Rank an operand, the one that varies most first: live values, durations, others, counters, constants."""
    rank = (
        0 if value.has(From.LIVE) and not value.has(From.COUNT, From.TOTAL) else 1 if value.has(*METRIC_ORIGINS) else 2
    )
    if isinstance(operand, ast.Constant):
        return 9
    if rank == 2 and value.has(From.COUNT, From.TOTAL):
        return 5
    if not value.has(From.DURATION, From.MEMORY) and is_counting(text_of(operand).rpartition(".")[2]):
        return 6
    return 4 if rank == 2 and isinstance(operand, ast.Call) and value.has(From.CLOCK) else rank


def _flatten(node: ast.BinOp) -> list[ast.expr]:
    operands: list[ast.expr] = []
    waiting: list[ast.expr] = [node]
    while waiting and len(operands) < 60:
        operand = waiting.pop()
        if isinstance(operand, ast.BinOp):
            waiting.extend((operand.right, operand.left))
        else:
            operands.append(operand)
    return operands


def _iterated(node: ast.Name, scope: Scope) -> tuple[ast.expr, Scope] | None:
    """Find what a comprehension's variable runs over."""
    home, bindings = lookup(node.id, scope) or (scope, [])
    if not bindings or home.kind != "comprehension" or home.parent is None:
        return None
    value, position = bindings[0].value, next(iter(bindings[0].path), None)
    if value is None or value is node:
        return None
    if isinstance(value, ast.Call) and called_name(value) == "zip" and position is not None:
        value = value.args[position] if position < len(value.args) else value
    return value, home.parent
