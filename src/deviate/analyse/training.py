"""Signs that a piece of code trains: gradients, optimiser steps, updates of weights."""

from __future__ import annotations

import ast
import re

from deviate.analyse.index import CallSite, Place, Unit
from deviate.analyse.program import called_name
from deviate.analyse.texts import dotted_text

_CALLS = {
    "backward", "apply_gradients", "train_on_batch", "minimize", "GradientTape", "value_and_grad", "manual_backward",
    "partial_fit", "train_batch", "apply_updates", "optimize_parameters", "zero_grad", "backward_step", "grad",
    "apply_gradient", "update_params", "train_step", "training_step", "forward_backward", "optimizer_step",
}  # fmt: skip
_OPTIMISERS = re.compile(r"(optim|(^|[._])opt($|[._\d])|scaler|solver|trainer$)", re.IGNORECASE)
_TRAIN_OPS = re.compile(r"train|optim|(^|[._])opt|minimi[sz]|solver|update", re.IGNORECASE)
_RATES = re.compile(r"(^|[._])(lr|learning_rate|eta|alpha|step_size|rate|grads?|gradients?|d[wb]|grad_\w+)\b",
                    re.IGNORECASE)  # fmt: skip


def training_places(unit: Unit) -> list[tuple[Place | None, str]]:
    """Return where a function's own code trains, and by what."""
    found = [(site.place, sign) for site in unit.calls if (sign := sign_of_call(site))]
    if found or not unit.loops:
        return found
    return [*found, *_manual_updates(unit)]


def sign_of_call(site: CallSite) -> str:
    """Name the sign of training a call is; empty for none."""
    name = called_name(site.node)
    receiver = site.node.func.value if isinstance(site.node.func, ast.Attribute) else None
    said = dotted_text(receiver) if receiver is not None else ""
    if name in _CALLS and name not in {"zero_grad"}:
        return name if not (name == "grad" and receiver is None) else ""
    if name in {"step", "update"} and receiver is not None and _OPTIMISERS.search(said):
        return f"{said}.{name}" if name == "step" or len(site.node.args) >= 2 else ""
    if re.search(r"scaler$", name) and len(site.node.args) >= 2:
        return name
    if name == "run" and "sess" in said.lower() and site.node.args and _mentions_training(site.node.args[0]):
        return f"{said}.run"
    return ""


def _mentions_training(node: ast.expr) -> bool:
    for one in ast.walk(node):
        text = one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else ""
        if text and _TRAIN_OPS.search(text):
            return True
    return False


def _manual_updates(unit: Unit) -> list[tuple[Place | None, str]]:
    """``w -= lr * gradient`` and ``w = w - lr * gradient``."""
    found: list[tuple[Place | None, str]] = []
    for loop in unit.loops:
        for node in ast.walk(loop.node):
            if (isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub) and is_scaled_step(node.value)) or (
                (
                    isinstance(node, ast.Assign)
                    and isinstance(node.value, ast.BinOp)
                    and isinstance(node.value.op, ast.Sub)
                )
                and is_scaled_step(node.value.right)
            ):
                found.append((Place(loop.node, "body", loop.place), "weight update"))
    return found


def is_scaled_step(node: ast.expr) -> bool:
    """Whether a product has a learning rate or a gradient in it."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.Div)):
        return False
    for one in ast.walk(node):
        text = dotted_text(one) if isinstance(one, (ast.Name, ast.Attribute)) else ""
        if text and _RATES.search(text):
            return True
    return False
