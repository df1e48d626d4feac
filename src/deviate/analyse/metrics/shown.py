"""Values that are named and shown like a metric, whatever their parts are: ``accuracy {:.2f}`` of two counters."""

from __future__ import annotations

import ast
import re

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import From, Instance, Param, Value
from deviate.analyse.metrics.forms import MAX_DEPTH, is_share
from deviate.analyse.naming.words import (
    UNNAMED,
    is_counting,
    is_metric_word,
    is_schedule,
    is_settings_name,
    meaning_of,
)
from deviate.analyse.source.index import Scope, Unit, bindings_of
from deviate.analyse.source.syntax import called_name
from deviate.analyse.texts.reported import ReportedValue

#: A format that shows decimal places.
DECIMALS = re.compile(r"\.0*[1-9]\d*[feg]")
#: Functions and methods that make one number of several.
_REDUCING = {"mean", "nanmean", "average", "median", "std", "max", "min", "sum", "reduce_mean"}
#: Those that give the number that they are given, in another form.
_CONVERTING = {"float", "round", "abs", "sum", "str"}


def is_shown_as_metric(
    flow: Evaluator, value: Value, reported: ReportedValue, name: str, description: str, *, is_tracked: bool
) -> bool:
    """Whether a value has the name of a loss or a quality, is shown as a share or with decimals, and is computed.

    `name` is its own, `description` what the report calls it; `is_tracked` says that a tracker takes it.
    """
    if reported.mapping or value.has(From.SCHEDULE, From.PATH, From.CLOCK, From.RANDOM):
        return False
    if is_counting(name) or is_settings_name(name) or is_schedule(name) or is_schedule(description):
        return False
    is_divided = is_share(flow, reported.expr, reported.scope)
    # Words that mean other things, too, are enough for a share: ``em`` of ``right / total``.
    meaning = meaning_of(description) if is_divided or is_metric_word(description) else None
    if meaning is None or meaning is UNNAMED or meaning.kind not in {"quality", "loss"}:
        return False
    is_shown = is_divided or is_tracked or DECIMALS.search(reported.spec) is not None
    return is_shown and is_computed(flow, reported.expr, reported.scope)


def is_computed(flow: Evaluator, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether a value is one quantity by another, one number of several, or what a function of the project returns."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        if isinstance(node.op, ast.Div) and not any(map(_is_written, sides)):
            return True
        return any(is_computed(flow, side, scope, depth + 1) for side in sides)
    if isinstance(node, ast.Subscript):
        return is_computed(flow, node.value, scope, depth + 1)
    if isinstance(node, ast.Call):
        name = called_name(node)
        if name in _CONVERTING and len(node.args) > 0:
            return is_computed(flow, node.args[0], scope, depth + 1)
        return name in _REDUCING or any(isinstance(ref, Unit) for ref in flow.value(node.func, scope).refs)
    if isinstance(node, ast.Name):
        return any(is_computed(flow, value, home, depth + 1) for value, home in _given(flow, node, scope))
    if isinstance(node, ast.Attribute):
        return any(
            binding.value is not None and is_computed(flow, binding.value, binding.scope, depth + 1)
            for ref in flow.value(node.value, scope).refs
            if isinstance(ref, Instance)
            for binding in ref.cls.attributes.get(node.attr, [])
        )
    return False


def _is_written(node: ast.expr) -> bool:
    """Whether a number is written out: ``100``, ``2**20``."""
    if isinstance(node, ast.BinOp):
        return _is_written(node.left) and _is_written(node.right)
    return isinstance(node, ast.Constant)


def _given(flow: Evaluator, node: ast.Name, scope: Scope) -> list[tuple[ast.expr, Scope]]:
    """Return what a name is assigned, or what callers pass for it."""
    bindings = bindings_of(node.id, scope)
    given = [(one.value, one.scope) for one in bindings if one.kind in {"assign", "aug"} and one.value is not None]
    for binding in bindings:
        if binding.kind == "param" and binding.scope.unit is not None:
            given += flow.program.arguments(flow, Param(binding.scope.unit, binding.key))
    return given
