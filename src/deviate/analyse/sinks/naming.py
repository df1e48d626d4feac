"""What names a reported value where it stands, so that its name need not be sought with those who pass it."""

from __future__ import annotations

import ast

from deviate.analyse.naming.words import UNNAMED, meaning_of
from deviate.analyse.source.index import Unit, local_bindings
from deviate.analyse.source.syntax import dotted_text
from deviate.analyse.texts.reported import ReportedValue


def does_nothing(unit: Unit) -> bool:
    """Whether a function has no body: a stand-in for a writer that is not wanted."""
    body = getattr(unit.node, "body", [])
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def hands_on(unit: Unit) -> bool:
    """Whether a method hands all that it is given to one of its own name: ``self.writer.add_scalar(*args)``."""
    return unit.vararg is not None and any(
        isinstance(site.node.func, ast.Attribute)
        and site.node.func.attr == unit.name
        and any(isinstance(arg, ast.Starred) and dotted_text(arg.value) == unit.vararg for arg in site.node.args)
        for site in unit.calls
    )


def names_items(reported: ReportedValue) -> bool:
    """Whether the mapping is a comprehension of the reporting function that names the items: ``{f"gpu {i}": ...}``."""
    node: ast.expr | None = reported.expr
    if isinstance(node, ast.Name):
        bindings = local_bindings(node.id, reported.scope)
        made = [binding.value for binding in bindings if isinstance(binding.value, ast.DictComp)]
        node = made[0] if made else None
    if not isinstance(node, ast.DictComp):
        return False
    texts = [part.value for part in ast.walk(node.key) if isinstance(part, ast.Constant)]
    return any(isinstance(text, str) and text.strip("_/ .") for text in texts)


def number_of(expr: ast.expr) -> ast.expr:
    """Take the methods off that read a number: ``loss.item()`` is ``loss``."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and not expr.args:
        expr = expr.func.value
    return expr


def names_metric(expr: ast.expr) -> bool:
    """Whether a value is an attribute that is named like a metric, whatever object it is of: ``net.reg_loss``."""
    number = number_of(expr)
    return isinstance(number, ast.Attribute) and meaning_of(number.attr) not in (None, UNNAMED)
