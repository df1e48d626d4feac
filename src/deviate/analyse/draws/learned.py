"""Signs that a training changes a value: that it is a parameter."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from deviate.analyse.draws.surroundings import iter_names
from deviate.analyse.index import Binding
from deviate.analyse.shown import dotted_text
from deviate.analyse.training import is_scaled_step

_PARAMETERS = {"Parameter", "Variable", "get_variable", "add_weight", "add_param", "shared", "UninitializedParameter"}
_OPTIMISERS = re.compile(
    r"^(SGD|Adam\w*|RMSprop|Adagrad|Adadelta|LBFGS|Lamb|Lion|NAdam|RAdam|AdamW|\w*[oO]ptimi[sz]ers?\w*)$"
)
_OPTIMISER_OBJECTS = re.compile(r"(optim\w*|(^|_)opt|tx|solver)$", re.IGNORECASE)
#: Names of gradients and of what is made of them.
_STEP = re.compile(
    r"^(d[WwbB]\w{0,3}|dtheta|grads?|gradients?|grad_\w+|delta_?[WwbB]?|velocity|updates?|[vm]_?[WwbB]\d*)\d*$"
)


def learns(call: ast.Call, name: str) -> bool:
    """Whether what is handed to a call becomes a parameter, or is one."""
    if name in _PARAMETERS:
        return name != "Variable" or any(key.arg == "requires_grad" for key in call.keywords) or _is_tensorflow(call)
    if any(key.arg == "requires_grad" and not is_false(key.value) for key in call.keywords):
        return True
    if _OPTIMISERS.search(name):
        return True
    receiver = dotted_text(call.func.value).rpartition(".")[2] if isinstance(call.func, ast.Attribute) else ""
    return name == "init" and bool(_OPTIMISER_OBJECTS.search(receiver))


def is_descent(binding: Binding) -> bool:
    """Whether an assignment takes a step down a gradient."""
    statement, value = binding.statement, binding.value
    if isinstance(statement, ast.AugAssign):
        if not isinstance(statement.op, (ast.Sub, ast.Add)):
            return False
        named = isinstance(statement.op, ast.Sub) and any(_STEP.match(one) for one in iter_names(statement.value))
        return named or is_scaled_step(statement.value)
    return (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, (ast.Sub, ast.Add))
        and is_scaled_step(value.right)
        and binding.kind in {"assign", "element", "key"}
    )


def is_carried(binding: Binding, name: str) -> bool:
    """Whether a call gives a new value for an old one.

    As in ``params, loss = step(params, batch)`` or ``w = step(w) + noise``.
    """
    return any(
        isinstance(one, ast.Name) and one.id == name
        for call in _calls(binding.value)
        for one in (*call.args, *(key.value for key in call.keywords))
    )


def _calls(value: ast.expr | None) -> Iterator[ast.Call]:
    """Yield the calls that an expression is, or is a sum or product of."""
    if isinstance(value, ast.Call):
        yield value
    elif isinstance(value, ast.BinOp):
        yield from _calls(value.left)
        yield from _calls(value.right)


def is_false(node: ast.expr) -> bool:
    """Whether an expression is a constant that says no."""
    return isinstance(node, ast.Constant) and not node.value


def _is_tensorflow(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id in {
        "tf", "tensorflow", "keras"}  # fmt: skip
