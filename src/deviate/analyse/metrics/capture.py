"""How the values of a metric are recorded: which expression is wrapped, or which name is read beside it."""

from __future__ import annotations

import ast
import re

import msgspec

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import External, Instance
from deviate.analyse.frameworks.logged import framework_capture, key_of
from deviate.analyse.sinks.report import Report
from deviate.analyse.source.index import ClassScope, Unit, only_binding
from deviate.analyse.source.syntax import called_name, dotted_text, span_of, text_of
from deviate.analyse.texts.reported import ReportedValue
from deviate.experiment import Capture

_SUMMARIES = ("avg", "global_avg", "average", "mean", "val", "value", "sum")
_TRACED = re.compile(r"(^|\.)(script|jit|pmap|vmap|function|compile|njit|tf_function|pjit|checkpoint)$")
#: By package, the method by which its metric objects give their number.
_METER_METHODS = {
    "clu": "compute", "flax": "compute", "ignite": "compute", "keras": "result", "lightning": "compute",
    "pytorch_lightning": "compute", "tensorflow": "result", "tf_keras": "result", "torchmetrics": "compute",
}  # fmt: skip
_TEXT_CALLS = {"str", "timedelta", "format", "int", "repr", "strftime"}


def capture_of(flow: Evaluator, reported: ReportedValue, report: Report, label: ast.expr | None) -> Capture | None:
    """Say how a reported value is recorded; None when nothing in the source yields it."""
    label_name = dotted_text(label) if label is not None else ""
    logged = framework_capture(flow, reported, report, label_name)
    if logged is not None:
        return logged
    if _is_traced(reported):
        return None
    capture = _source_capture(flow, reported, report, label_name)
    key = key_of(reported, report)
    return msgspec.structs.replace(capture, key=key) if capture is not None and key else capture


def _source_capture(flow: Evaluator, reported: ReportedValue, report: Report, label_name: str) -> Capture | None:
    span = span_of(reported.expr, reported.scope.module)
    if reported.mapping:
        return Capture(how="mapping", span=span) if span else None
    meter = meter_reads(flow, reported)
    if meter is not None:
        return _beside(reported, report, meter, label_name)
    method = _library_method(flow, reported)
    if method and report.sink == "lightning":
        return Capture(how="framework")
    if method:
        capture = _beside(reported, report, "", label_name)
        return None if capture is None else msgspec.structs.replace(capture, beside=f"{capture.beside}.{method}()")
    return _value(reported, report, label_name)


def _value(reported: ReportedValue, report: Report, label: str) -> Capture | None:
    expr, module = numeric_part(reported), reported.scope.module
    if isinstance(expr, (ast.Name, ast.Subscript)) and expr.end_lineno is None:
        return _beside(reported, report, "", label)
    span = span_of(expr, module)
    if span is not None:
        return Capture(how="value", span=span, label=label)
    binding = only_binding(expr.id, reported.scope) if isinstance(expr, ast.Name) else None
    if binding is None or binding.kind != "assign" or binding.path or binding.value is None:
        return None
    span = span_of(binding.value, module)
    return Capture(how="value", span=span) if span else None


def numeric_part(reported: ReportedValue) -> ast.expr:
    """Find the number inside an expression that makes text of it: ``timedelta(seconds=int(total))`` gives ``total``."""
    node = reported.expr
    while isinstance(node, ast.Call) and called_name(node) in _TEXT_CALLS and (node.args or node.keywords):
        if called_name(node) == "int" and node is reported.expr:
            break
        inner = node.args[0] if node.args else node.keywords[0].value
        if isinstance(inner, (ast.Starred, ast.Constant)):
            break
        node = inner
    return node


def meter_reads(flow: Evaluator, reported: ReportedValue) -> str | None:
    """Attribute that holds the number of a reported meter: one the text reads, or the one its class displays."""
    if reported.reads:
        return reported.reads if re.fullmatch(r"[A-Za-z_][\w.]*", reported.reads) else None
    meter = _inner_meter(reported.expr)
    refs = flow.resolved(meter, reported.scope).refs if dotted_text(meter) else ()
    attributes = (displayed_attribute(flow, ref.cls) for ref in refs if isinstance(ref, Instance))
    return next(filter(None, attributes), None)


def _inner_meter(expr: ast.expr) -> ast.expr:
    return expr.args[0] if isinstance(expr, ast.Call) and called_name(expr) == "str" and expr.args else expr


def displayed_attribute(flow: Evaluator, cls: ClassScope) -> str:
    """Find the attribute that a meter's own text displays: its average where there is one."""
    names: set[str] = set()
    for base in flow.program.ancestors(flow, cls):
        names |= set(base.attributes) | {name for name, unit in base.methods.items() if unit.has_decorator("property")}
    return next((name for name in _SUMMARIES if name in names), "")


def _library_method(flow: Evaluator, reported: ReportedValue) -> str:
    """Return the method by which a library's metric object that is reported itself gives its number; else nothing."""
    if not isinstance(reported.expr, (ast.Name, ast.Attribute)):
        return ""
    refs = flow.resolved(reported.expr, reported.scope).refs
    made = [ref.dotted for ref in refs if isinstance(ref, External) and ref.made]
    return next(filter(None, map(_method_of, made)), "")


def _method_of(dotted: str) -> str:
    """Return the method that gives the number of an object of this class, if its library is one of metric objects.

    Examples
    --------
    >>> _method_of("torchmetrics.Accuracy"), _method_of("tensorflow.keras.metrics.Mean")
    ('compute', 'result')
    >>> _method_of("torch_geometric.data.Data"), _method_of("sklearn.metrics.confusion_matrix")
    ('', '')
    """
    *packages, cls = dotted.split(".")
    is_metric = cls[:1].isupper() and not {"metrics", "torchmetrics"}.isdisjoint(packages)
    return _METER_METHODS.get(packages[0], "") if is_metric else ""


def _beside(reported: ReportedValue, report: Report, reads: str, label: str) -> Capture | None:
    """Record an object's number when the reporting call evaluates one of its arguments."""
    base = _inner_meter(reported.expr)
    name = _place_of(base)
    if not name or reported.scope.module is not report.scope.module:
        return None
    expr = _evaluated_expression(reported, report, base)
    span = span_of(expr, report.scope.module) if expr is not None else None
    return Capture(how="beside", span=span, beside=name, reads=reads, label=label) if span else None


def _place_of(base: ast.expr) -> str:
    """Return the text of a name, an attribute, or an item under a written key: ``meters["loss"]``; else nothing."""
    node = base
    while isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
        node = node.value
    return text_of(base) if isinstance(node, ast.Name) else ""


def _evaluated_expression(reported: ReportedValue, report: Report, base: ast.expr) -> ast.expr | None:
    """Find an expression that the reporting call evaluates where the name is bound."""
    is_within = reported.scope.unit is report.scope.unit and not _is_elsewhere(base, report)
    if is_within and span_of(base, reported.scope.module):
        return base
    if isinstance(report.node, ast.Call):
        call = report.node
        args = [*call.args, *(key.value for key in call.keywords)]
        first = next((arg for arg in args if not isinstance(arg, ast.Starred)), None)
        if first is not None:
            return first
        return call.func.value if isinstance(call.func, ast.Attribute) else None
    return None


def _is_elsewhere(base: ast.expr, report: Report) -> bool:
    """Whether the name stands outside the report: in a constructor's argument, evaluated once."""
    if not isinstance(report.node, ast.Call):
        return False
    return not (report.line <= base.lineno <= report.end_line)


def _is_traced(reported: ReportedValue) -> bool:
    """Whether a compiler traces the function instead of running it each time."""
    unit: Unit | None = reported.scope.unit
    while unit is not None:
        for decorator in unit.decorators:
            exprs = [decorator.func, *decorator.args] if isinstance(decorator, ast.Call) else [decorator]
            if isinstance(decorator, ast.Call) and called_name(decorator) == "wraps":
                continue  # names what is wrapped, which may be called ``function``
            if any(_TRACED.search(dotted_text(expr)) for expr in exprs):
                return True
        unit = unit.parent.unit if unit.parent is not None else None
    return False
