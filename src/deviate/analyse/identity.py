"""Whether two reports show one value: the same expression, or a name that was given it."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from deviate.analyse.abstract import Param
from deviate.analyse.index import Scope, Unit, lookup
from deviate.analyse.program import called_name
from deviate.analyse.spans import text_of

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Names given names are followed this far.
MAX_DEPTH = 6
_CONVERTING_CALLS = {"float", "int", "round", "str"}
_CONVERTING_METHODS = {"item", "detach", "cpu", "numpy", "tolist", "float", "double"}


@dataclass(eq=False)
class Identity:
    """The expression that computes a value, conversions and constant factors removed."""

    node: ast.expr
    #: Reached through a name: computed where the name is given its value, not where it is shown.
    named: bool
    #: Function in which it is computed, where the one caller of the reporting function passes it.
    handed_from: Unit | None = None

    @cached_property
    def text(self) -> str:
        """Text of the expression without its conversions."""
        return text_of(_Plain().visit(copy.deepcopy(self.node)))

    def is_same(self, other: Identity) -> bool:
        """Whether two expressions are one value; two names given equal expressions may differ in time."""
        return self.node is other.node or (self.text == other.text and not (self.named and other.named))


def identity_of(flow: Flow, expr: ast.expr, scope: Scope) -> Identity:
    """Follow names that are bound once to the expression they were given, in the function or by its one caller."""
    node, at = _converted(expr), scope
    for _ in range(MAX_DEPTH):
        given = _given(flow, node, at)
        if given is None:
            break
        node, at = _converted(given[0]), given[1]
    named = node is not _converted(expr) and not isinstance(node, ast.Name)
    return Identity(node, named, at.unit if at.unit is not scope.unit else None)


def _given(flow: Flow, node: ast.expr, scope: Scope) -> tuple[ast.expr, Scope] | None:
    found = lookup(node.id, scope) if isinstance(node, ast.Name) else None
    if found is None or found[0].unit is not scope.unit or len(found[1]) != 1:
        return None
    binding = found[1][0]
    if binding.kind == "param" and isinstance(found[0], Unit):
        return _passed(flow, Param(found[0], binding.key))
    return (binding.value, binding.scope) if binding.kind == "assign" and not binding.path and binding.value else None


def _passed(flow: Flow, param: Param) -> tuple[ast.expr, Scope] | None:
    """Find what the only call of a function passes."""
    if len(flow.program.callers(flow, param.unit)) != 1:
        return None
    passed = flow.program.arguments(flow, param)
    return passed[0] if len(passed) == 1 else None


def _converted(node: ast.expr) -> ast.expr:
    """Take conversions and constant factors off: ``100 * accuracy.item()`` is ``accuracy``."""
    while True:
        inner = _conversion(node) or _factor(node)
        if inner is None:
            return node
        node = inner


def _conversion(node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in _CONVERTING_METHODS and not node.args else None
    return node.args[0] if called_name(node) in _CONVERTING_CALLS and node.args else None


def _factor(node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.Div)):
        return None
    if isinstance(node.right, ast.Constant):
        return node.left
    return node.right if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant) else None


class _Plain(ast.NodeTransformer):
    """Remove conversions everywhere in an expression."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self.visit(_converted(node)) if _conversion(node) is not None else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """``100. * correct / total`` is ``correct / total``."""
        if isinstance(node.op, ast.Div) and _factor(node.left) is not None:
            node = ast.BinOp(_converted(node.left), node.op, node.right)
        return self.generic_visit(node)
