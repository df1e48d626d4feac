"""Objects of the program whose ``log`` is a framework's: modules of Lightning, trainers of Hugging Face."""

from __future__ import annotations

import ast
import re

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import Instance
from deviate.analyse.source.index import ClassScope, Scope
from deviate.analyse.source.syntax import annotations_of, text_of

_LOGGING_BASES = re.compile(
    r"\bLightning(Data)?Module$|^(transformers|trl|sentence_transformers|setfit|optimum)\b.*Trainer$"
)


def is_logging_class(flow: Evaluator, cls: ClassScope) -> bool:
    """Whether the ``log`` of a class is the framework's: its epoch values are means over batches, computed later."""
    return any(map(_LOGGING_BASES.search, flow.program.external_bases(flow, cls)))


def is_logging_object(flow: Evaluator, call: ast.expr | ast.stmt, scope: Scope) -> bool:
    """Whether a method of such an object is called, wherever it was handed to: ``module.log("loss", loss)``."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    if _is_given_module(call.func.value, scope):
        return True
    refs = flow.resolved(call.func.value, scope).refs
    return any(isinstance(ref, Instance) and is_logging_class(flow, ref.cls) for ref in refs)


def _is_given_module(node: ast.expr, scope: Scope) -> bool:
    """Whether an expression is the module that Lightning hands to a callback's method: ``pl_module``."""
    if not isinstance(node, ast.Name) or node.id not in scope.unit.parameters or scope.unit.enclosing_class is None:
        return False
    declared = annotations_of(scope.unit).get(node.id)
    return node.id == "pl_module" or (declared is not None and "LightningModule" in text_of(declared))
