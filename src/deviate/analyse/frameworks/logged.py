"""Values that the source hands to a framework, which reports them itself: Lightning's ``self.log``, TF 1 summaries."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deviate.analyse.index import ClassScope, Scope, Unit, lookup
from deviate.analyse.sinks import Report
from deviate.analyse.texts import Shown
from deviate.experiment import Capture

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Before the keys under which a framework's training loop reports.
PREFIX = "fit:"
#: Stands for any text in a key.
ANY = "{}"
#: Bases whose ``self.log`` is the framework's: its epoch values are means over batches, computed later.
_LOGGING_BASES = re.compile(
    r"\bLightning(Data)?Module$|^(transformers|trl|sentence_transformers|setfit|optimum)\b.*Trainer$"
)
#: Attributes in which a framework keeps what it reported, by sink.
_KEPT = {
    "lightning": {"callback_metrics", "logged_metrics", "progress_bar_metrics"},
    "hf-trainer": {"log_history"},
    "keras": {"history"},
}
#: Assignments are followed this far.
_DEEPEST = 4


def handed_over(flow: Flow, shown: Shown, report: Report, label: str) -> Capture | None:
    """Say how the framework reports a value it is handed; None where the source has the value that is reported.

    Lightning logs a value of one batch and reports its mean over an epoch, validation by validation: that is what is
    monitored, and what ``trainer.callback_metrics`` holds.
    """
    if report.sink == "tf1-summary":
        return Capture(how="framework", key=shown.tag, label=label)
    if report.sink == "lightning" and _logs_by_framework(flow, report):
        return Capture(how="framework", key=PREFIX + (shown.tag or ANY), label=label)
    return None


def key_of(shown: Shown, report: Report) -> str:
    """Return the name under which a framework may report a value once more that the source yields."""
    told = report.sink in {"lightning", "keras"} and shown.tag
    return PREFIX + shown.tag if told else ""


def is_handed_over(capture: Capture | None) -> bool:
    """Whether a framework reports the value, and under a name that the source gives it."""
    return capture is not None and capture.how == "framework" and bool(capture.key)


def is_read_back(expr: ast.expr, scope: Scope, sinks: set[str], depth: int = 0) -> bool:
    """Whether a value is read from where one of the frameworks keeps what it reported."""
    node: ast.expr | None = expr
    while node is not None and not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute) and any(node.attr in _KEPT.get(sink, ()) for sink in sinks):
            return True
        node = _inner(node)
    found = lookup(node.id, scope) if node is not None and depth < _DEEPEST else None
    return found is not None and any(
        one.value is not None and is_read_back(one.value, one.scope, sinks, depth + 1) for one in found[1]
    )


def _inner(node: ast.expr) -> ast.expr | None:
    """Return what an attribute, an item, a method's result, a number or a comprehension is taken from."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return node.value
    if isinstance(node, ast.Call):
        return node.func if isinstance(node.func, ast.Attribute) else next(iter(node.args), None)
    return node.generators[0].iter if isinstance(node, (ast.DictComp, ast.ListComp, ast.GeneratorExp)) else None


def _logs_by_framework(flow: Flow, report: Report) -> bool:
    owner = _class_around(report.scope.unit)
    return owner is not None and any(_LOGGING_BASES.search(one) for one in flow.program.external_bases(flow, owner))


def _class_around(unit: Unit) -> ClassScope | None:
    """Return the class whose method a function is, or stands in."""
    around: Unit | None = unit
    while around is not None and around.owner is None:
        around = around.parent.unit if around.parent is not None else None
    return around.owner if around is not None else None
