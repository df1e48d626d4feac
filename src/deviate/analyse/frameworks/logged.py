"""Values that a framework logs and reports itself: Lightning's ``self.log``, TF 1 summaries."""

from __future__ import annotations

import ast

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.sinks.modules import is_logging_class, is_logging_object
from deviate.analyse.sinks.report import Report
from deviate.analyse.source.index import Scope, bindings_of
from deviate.analyse.texts.reported import ReportedValue
from deviate.experiment import Capture

#: Before the keys under which a framework's training loop reports.
PREFIX = "fit:"
#: Stands for any text in a key.
ANY = "{}"
#: Attributes in which a framework holds what it reported, by sink.
_HISTORIES = {
    "lightning": {"callback_metrics", "logged_metrics", "progress_bar_metrics"},
    "hf-trainer": {"log_history"},
    "keras": {"history"},
}
#: Assignments are followed this far.
_DEEPEST = 4


def framework_capture(flow: Evaluator, reported: ReportedValue, report: Report, label: str) -> Capture | None:
    """Say how the framework reports a value that it logs; None where the source has the value that is reported.

    Lightning logs a value of one batch and reports its mean over an epoch, validation by validation: that is what is
    monitored, and what ``trainer.callback_metrics`` holds.
    """
    if report.sink == "tf1-summary":
        return Capture(how="framework", key=reported.tag, label=label)
    if report.sink == "lightning" and _logs_by_framework(flow, report):
        return Capture(how="framework", key=PREFIX + (reported.tag or ANY), label=label)
    return None


def key_of(reported: ReportedValue, report: Report) -> str:
    """Return the name under which a framework may report a value once more that the source yields."""
    return PREFIX + reported.tag if report.sink in {"lightning", "keras"} and reported.tag else ""


def is_framework_logged(capture: Capture | None) -> bool:
    """Whether a framework reports the value, and under a name that the source gives it."""
    return capture is not None and capture.how == "framework" and bool(capture.key)


def is_read_back(expr: ast.expr, scope: Scope, sinks: set[str], depth: int = 0) -> bool:
    """Whether a value is read from where one of the frameworks holds what it reported."""
    node: ast.expr | None = expr
    while node is not None and not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute) and any(node.attr in _HISTORIES.get(sink, ()) for sink in sinks):
            return True
        node = _taken_from(node)
    bindings = bindings_of(node.id, scope) if node is not None and depth < _DEEPEST else []
    return any(
        binding.value is not None and is_read_back(binding.value, binding.scope, sinks, depth + 1)
        for binding in bindings
    )


def _taken_from(node: ast.expr) -> ast.expr | None:
    """Return what an attribute, an item, a method's result, a number or a comprehension is taken from."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return node.value
    if isinstance(node, ast.Call):
        return node.func if isinstance(node.func, ast.Attribute) else next(iter(node.args), None)
    return node.generators[0].iter if isinstance(node, (ast.DictComp, ast.ListComp, ast.GeneratorExp)) else None


def _logs_by_framework(flow: Evaluator, report: Report) -> bool:
    owner = report.scope.unit.enclosing_class
    own = owner is not None and is_logging_class(flow, owner)
    return own or is_logging_object(flow, report.node, report.scope)
