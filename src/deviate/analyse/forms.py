"""What the form of a shown expression says of it: one number, an item of a mapping, part of a list."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deviate.analyse.abstract import METRIC_ORIGINS, SETTING
from deviate.analyse.index import lookup
from deviate.analyse.mappings import is_list
from deviate.analyse.program import called_name
from deviate.analyse.texts import Shown, dotted_text

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Format specifications of numbers.
NUMERIC_SPEC = re.compile(r"[deEfFgGn%]$|^\.\d+$")
#: Sinks that take numbers.
SCALAR_SINKS = {
    "tensorboard", "tf1-summary", "wandb", "mlflow", "tracker", "lightning", "keras", "accelerate", "tqdm",
    "logger", "csv", "json",
}  # fmt: skip
_NUMBER_METHODS = {"item", "mean", "sum", "norm", "avg", "total_seconds", "result", "compute", "std", "median", "value"}
_NUMBER_CALLS = {
    "float", "int", "round", "mean", "sum", "exp", "sqrt", "len", "max", "min", "average", "median", "abs", "std",
}  # fmt: skip


def is_number(shown: Shown, sink: str) -> bool:
    """Whether format, sink or form of the expression say that it is one number."""
    if shown.reads or sink in SCALAR_SINKS or NUMERIC_SPEC.search(shown.spec):
        return True
    node = shown.expr
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Div, ast.Mult, ast.Sub, ast.Pow, ast.FloorDiv, ast.Add))
    if isinstance(node, ast.Call):
        name = called_name(node)
        return (
            name in _NUMBER_METHODS
            if isinstance(node.func, ast.Attribute) and name in _NUMBER_METHODS
            else name in _NUMBER_CALLS
        )
    return isinstance(node, ast.Attribute) and node.attr in {"avg", "val", "global_avg", "mean"}


def is_slice_of_mappings(flow: Flow, shown: Shown) -> bool:
    """``results[-10:]``, of a list that holds one mapping for each epoch."""
    sliced = shown.expr
    if not isinstance(sliced, ast.Subscript) or not isinstance(sliced.slice, ast.Slice):
        return False
    element = flow.value(sliced.value, shown.scope).element
    return element is not None and bool(element.keys) and is_list(flow, sliced, shown.scope)


def joins_settings(flow: Flow, shown: Shown) -> bool:
    """Whether a value is one of a list that settings were added to: ``results + tuple(config.values())``."""
    found = lookup(shown.expr.id, shown.scope) if isinstance(shown.expr, ast.Name) else None
    source = found[1][0] if found and len(found[1]) == 1 and found[1][0].kind == "for" else None
    if source is None or not isinstance(source.value, ast.Name):
        return False
    listed = lookup(source.value.id, source.scope)
    return any(
        isinstance(operand, ast.Call) and value.has(SETTING) and not value.has(*METRIC_ORIGINS)
        for one in (listed[1] if listed else ())
        if isinstance(one.value, ast.BinOp) and isinstance(one.value.op, ast.Add)
        for operand in (one.value.left, one.value.right)
        for value in (flow.resolved(operand, one.scope),)
    )


_MAPPINGS = re.compile(r"log|metric|stat|result|summar|score|loss|histor|record|report|perf|eval|acc", re.IGNORECASE)


def is_item(shown: Shown) -> bool:
    """Whether the value is the second variable of a loop over a mapping's items."""
    return _items_source(shown) is not None


def is_item_of_report(shown: Shown) -> bool:
    """Whether the mapping that the value is an item of is named like a report."""
    source = _items_source(shown)
    return source is not None and bool(_MAPPINGS.search(dotted_text(source) or _called_name_of(source)))


def _called_name_of(node: ast.expr) -> str:
    """Name of what is called, for a call."""
    return called_name(node) if isinstance(node, ast.Call) else ""


def _items_source(shown: Shown) -> ast.expr | None:
    node = shown.expr
    while isinstance(node, (ast.Call, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(shown.expr, ast.Call) and isinstance(node, ast.Name) and called_name(shown.expr) in _NUMBER_CALLS:
        node = shown.expr.args[0] if shown.expr.args else node
    if not isinstance(node, ast.Name):
        return None
    found = lookup(node.id, shown.scope)
    for binding in found[1] if found else ():
        value = binding.value
        if (
            binding.kind == "for"
            and binding.path == (1,)
            and isinstance(value, ast.Call)
            and called_name(value) == "items"
        ):
            return value.func.value if isinstance(value.func, ast.Attribute) else None
    return None
