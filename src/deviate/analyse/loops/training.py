"""Signs that a piece of code trains: gradients, optimiser steps, updates of weights."""

from __future__ import annotations

import ast
import re

from deviate.analyse.flow.expressions import is_scaled_step
from deviate.analyse.naming.words import TRAIN, word_lists, words_like, words_of
from deviate.analyse.source.dotted import imported_names
from deviate.analyse.source.index import CallSite, Nesting, Scope, Unit, bindings_of
from deviate.analyse.source.syntax import called_name, dotted_text

_CALLS = word_lists(__file__)["training calls"]
_OPTIMISERS = re.compile(
    words_like("opts?", "optim(?!al|ist|um)|scaler|solver") + rf"|(?i:optim(i[sz]er)?s?|gradscaler)(?![a-z])|{TRAIN}er$"
)
_TRAIN_OPS = re.compile(f"{TRAIN}|{words_like('opts?', 'optim(?!al|ist|um)|minimi[sz]|solver|update')}")

#: The sign that a loop trains which is arithmetic alone.
WEIGHT_UPDATE = "weight update"


def training_signs(unit: Unit) -> list[tuple[Nesting | None, str]]:
    """Return where a function's own code trains, and by what."""
    signs = [(site.nesting, sign) for site in unit.calls if (sign := sign_of_call(site))]
    if signs or not unit.loops:
        return signs
    return [*signs, *_manual_updates(unit)]


def sign_of_call(site: CallSite) -> str:
    """Name the sign of training a call is; empty for none."""
    name = called_name(site.node)
    receiver = site.node.func.value if isinstance(site.node.func, ast.Attribute) else None
    receiver_name = dotted_text(receiver) if receiver is not None else ""
    if name in {"minimize", "apply_gradients"} and site.node.args and _is_kept(site) and _is_of_graphs(site):
        return ""
    if name in _CALLS:
        return name if not (name == "grad" and receiver is None) else ""
    if name in {"step", "update"} and receiver is not None and _OPTIMISERS.search(receiver_name):
        return f"{receiver_name}.{name}" if name == "step" or len(site.node.args) >= 2 else ""
    if re.search(r"scaler$", name) and len(site.node.args) >= 2:
        return name
    if name == "run" and site.node.args and _is_session(receiver, site.scope):
        asked = [site.node.args[0], *_assigned(site.node.args[0], site.scope)]
        return f"{receiver_name}.run" if any(map(_mentions_training, asked)) else ""
    return ""


def _is_kept(site: CallSite) -> bool:
    """Whether the result of a call is used."""
    return not (isinstance(site.statement, ast.Expr) and site.statement.value is site.node)


def _is_of_graphs(site: CallSite) -> bool:
    """Whether a file uses TensorFlow, where ``train_op = optimizer.minimize(loss)`` makes an operation to be run."""
    imports = (node for node, _, _ in site.scope.module.imports)
    return any(name.partition(".")[0] == "tensorflow" for node in imports for name in imported_names(node))


def _is_session(node: ast.expr | None, scope: Scope) -> bool:
    """Whether something is called, made or bound as a session: ``with supervisor.managed_session() as s``."""
    called = dotted_text(node) if node is not None else ""
    called = called_name(node) if isinstance(node, ast.Call) else called
    if not {"sess", "session"}.isdisjoint(words_of(called)):
        return True
    bindings = bindings_of(node.id, scope) if isinstance(node, ast.Name) else []
    made = (binding.value for binding in bindings if isinstance(binding.value, ast.Call))
    return any("session" in words_of(called_name(call)) for call in made)


def _assigned(node: ast.expr, scope: Scope) -> list[ast.expr]:
    """Return the lists and mappings that a name is assigned: ``ops = [loss, train_op]``."""
    bindings = bindings_of(node.id, scope) if isinstance(node, ast.Name) else []
    values = [binding.value for binding in bindings if binding.kind == "assign" and not binding.path]
    return [value for value in values if isinstance(value, (ast.List, ast.Tuple, ast.Dict))]


def _mentions_training(node: ast.expr) -> bool:
    """Whether a name, attribute or key in an expression is called like an operation that trains."""
    nodes = list(ast.walk(node))
    names = [part.id for part in nodes if isinstance(part, ast.Name)]
    keys = [
        part.slice.value for part in nodes if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant)
    ]
    texts = [key for key in keys if isinstance(key, str)]
    attributes = [part.attr for part in nodes if isinstance(part, ast.Attribute)]
    return any(map(_TRAIN_OPS.search, names + attributes + texts))


def _manual_updates(unit: Unit) -> list[tuple[Nesting | None, str]]:
    """``w -= lr * gradient`` and ``w = w - lr * gradient``."""
    return [
        (Nesting(loop.node, "body", loop.nesting), WEIGHT_UPDATE)
        for loop in unit.loops
        for node in ast.walk(loop.node)
        if (step := _subtracted(node)) is not None and is_scaled_step(step)
    ]


def _subtracted(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub):
        return node.value
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Sub):
        return node.value.right
    return None
