"""How the values of a metric are recorded: which expression is wrapped, or which name is read beside it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import msgspec

from deviate.analyse.abstract import External, Instance
from deviate.analyse.frameworks.logged import handed_over, key_of
from deviate.analyse.index import ClassScope, Unit, lookup
from deviate.analyse.program import called_name
from deviate.analyse.sinks import Report
from deviate.analyse.spans import span_of
from deviate.analyse.texts import Shown, dotted_text
from deviate.experiment import Capture

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

_SUMMARIES = ("avg", "global_avg", "average", "mean", "val", "value", "sum")
_TRACED = re.compile(r"(^|\.)(script|jit|pmap|vmap|function|compile|njit|tf_function|pjit|checkpoint)$")
_TEXT_CALLS = {"str", "timedelta", "format", "int", "repr", "strftime"}


def capture_of(flow: Flow, shown: Shown, report: Report, label: ast.expr | None) -> Capture | None:
    """Say how a shown value is recorded; None when nothing in the source yields it."""
    named = dotted_text(label) if label is not None else ""
    handed = handed_over(flow, shown, report, named)
    if handed is not None:
        return handed
    if _is_traced(shown):
        return None
    found = _source_capture(flow, shown, report, named)
    key = key_of(shown, report)
    return msgspec.structs.replace(found, key=key) if found is not None and key else found


def _source_capture(flow: Flow, shown: Shown, report: Report, named: str) -> Capture | None:
    span = span_of(shown.expr, shown.scope.module)
    if shown.mapping:
        return Capture(how="mapping", span=span) if span else None
    meter = meter_reads(flow, shown)
    if meter is not None:
        return _beside(flow, shown, report, meter, named)
    if _is_library_metric(flow, shown):
        return Capture(how="framework") if report.sink == "lightning" else _library_meter(flow, shown, report, named)
    return _value(flow, shown, named)


def _value(flow: Flow, shown: Shown, label: str) -> Capture | None:
    expr = numeric_part(flow, shown)
    span = span_of(expr, shown.scope.module)
    if span is not None:
        return Capture(how="value", span=span, label=label)
    if isinstance(expr, ast.Name):
        found = lookup(expr.id, shown.scope)
        bindings = [one for one in found[1] if one.kind == "assign" and not one.path] if found else []
        if len(bindings) == 1 and found and len(found[1]) == 1 and bindings[0].value is not None:
            span = span_of(bindings[0].value, shown.scope.module)
            return Capture(how="value", span=span) if span else None
    return None


def numeric_part(flow: Flow, shown: Shown) -> ast.expr:
    """Find the number inside an expression that makes text of it: ``timedelta(seconds=int(total))`` gives ``total``."""
    node = shown.expr
    while isinstance(node, ast.Call) and called_name(node) in _TEXT_CALLS and (node.args or node.keywords):
        if called_name(node) == "int" and node is shown.expr:
            break
        inner = node.args[0] if node.args else node.keywords[0].value
        if isinstance(inner, (ast.Starred, ast.Constant)):
            break
        node = inner
    return node


def meter_reads(flow: Flow, shown: Shown) -> str | None:
    """Attribute that holds the number of a shown meter: one the text reads, or the one its class shows."""
    if shown.reads:
        return shown.reads if re.fullmatch(r"[A-Za-z_][\w.]*", shown.reads) else None
    if not dotted_text(_inner_meter(shown.expr)):
        return None
    for ref in flow.resolved(_inner_meter(shown.expr), shown.scope).refs:
        if isinstance(ref, Instance):
            found = shown_attribute(flow, ref.cls)
            if found:
                return found
    return None


def _inner_meter(expr: ast.expr) -> ast.expr:
    return expr.args[0] if isinstance(expr, ast.Call) and called_name(expr) == "str" and expr.args else expr


def shown_attribute(flow: Flow, cls: ClassScope) -> str:
    """Find the attribute that a meter's own text shows: its average where there is one."""
    names: set[str] = set()
    for one in flow.program.ancestors(flow, cls):
        names |= set(one.attributes) | {name for name, unit in one.methods.items() if _is_property(unit)}
    return next((name for name in _SUMMARIES if name in names), "")


def _is_property(unit: Unit) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "property" for one in getattr(unit.node, "decorator_list", []))


def _is_library_metric(flow: Flow, shown: Shown) -> bool:
    """Whether an object of a library that keeps a number is shown itself."""
    if not isinstance(shown.expr, (ast.Name, ast.Attribute)):
        return False
    refs = flow.resolved(shown.expr, shown.scope).refs
    return any(isinstance(ref, External) and ref.made and "metric" in ref.dotted.lower() for ref in refs)


def _library_meter(flow: Flow, shown: Shown, report: Report, label: str) -> Capture | None:
    """Read a metric object of a library by its own method."""
    refs = flow.resolved(shown.expr, shown.scope).refs
    made = " ".join(ref.dotted for ref in refs if isinstance(ref, External))
    method = "result" if "keras" in made else "compute"
    found = _beside(flow, shown, report, "", label)
    return None if found is None else msgspec.structs.replace(found, beside=f"{found.beside}.{method}()")


def _beside(flow: Flow, shown: Shown, report: Report, reads: str, label: str) -> Capture | None:
    """Record an object's number when the reporting call evaluates one of its arguments."""
    base = _inner_meter(shown.expr)
    name = dotted_text(base)
    if not name:
        return None
    at = _evaluated_at(shown, report, base)
    if shown.scope.module is not report.scope.module:
        return None
    span = span_of(at, report.scope.module) if at is not None else None
    return Capture(how="beside", span=span, beside=name, reads=reads, label=label) if span else None


def _evaluated_at(shown: Shown, report: Report, base: ast.expr) -> ast.expr | None:
    """Find an expression that the reporting call evaluates where the name is bound."""
    if span_of(base, shown.scope.module) and shown.scope.unit is report.scope.unit and not _is_elsewhere(base, report):
        return base
    if isinstance(report.node, ast.Call):
        call = report.node
        given = [*call.args, *(key.value for key in call.keywords)]
        first = next((one for one in given if not isinstance(one, ast.Starred)), None)
        if first is not None:
            return first
        return call.func.value if isinstance(call.func, ast.Attribute) else None
    return None


def _is_elsewhere(base: ast.expr, report: Report) -> bool:
    """Whether the name stands outside the report: in a constructor's argument, evaluated once."""
    if not isinstance(report.node, ast.Call):
        return False
    return not (report.line <= base.lineno <= report.end_line)


def _is_traced(shown: Shown) -> bool:
    """Whether a compiler traces the function instead of running it each time."""
    unit: object = shown.scope.unit
    while isinstance(unit, Unit):
        for one in getattr(unit.node, "decorator_list", []):
            target = one.func if isinstance(one, ast.Call) else one
            if _TRACED.search(dotted_text(target)):
                return True
            if isinstance(one, ast.Call) and any(_TRACED.search(dotted_text(arg)) for arg in one.args):
                return True
        unit = unit.parent.unit if unit.parent is not None else None
    return False
