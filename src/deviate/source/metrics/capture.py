"""How the values of a metric are recorded: which expression is wrapped, or which name is read beside it."""

from __future__ import annotations

import ast
import math
import re

import msgspec

from deviate.core.experiment import Capture
from deviate.lexicon.words import is_counting, word_lists
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import METRIC_ORIGINS, External, From, Instance, Value
from deviate.source.framework_metrics import framework_capture, key_of
from deviate.source.index import ClassScope, Scope, Unit, lookup, only_binding
from deviate.source.sinks.rows import Report
from deviate.source.syntax import called_name, dotted_text, span_of, text_of
from deviate.source.texts import ReportedValue

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


# The variable that names a reported value, wrappers removed.

#: Reading one of these off an object, or calling one, gives its number.
_LISTS = word_lists("roots")
READ_ATTRIBUTES = _LISTS["reading attributes"]
READ_METHODS = _LISTS["reading methods"]
_READ_CALLS = _LISTS["reading functions"]
_LIBRARIES = {"np", "numpy", "torch", "tf", "jnp", "math", "K", "F", "jax"}


def root_of(flow: Evaluator, reported: ReportedValue) -> str:
    """Name the variable of a reported value: ``100. * correct / total`` is ``correct``."""
    if reported.known_as:
        return reported.known_as
    return text_of(root_node(flow, reported.expr, reported.scope))[:200]


def root_node(flow: Evaluator, node: ast.expr, scope: Scope, depth: int = 0) -> ast.expr:
    """Take wrappers off an expression until the node that names its value is left."""
    if depth > 12:
        return node
    inner = _unwrapped(flow, node, scope)
    if inner is None:
        return _named_root(node)
    if isinstance(inner, ast.Name):
        iterated = _iterated(inner, scope)
        if iterated is not None:
            return root_node(flow, iterated[0], iterated[1], depth + 1)
    return root_node(flow, inner, scope, depth + 1) if inner is not node else _named_root(node)


def _named_root(node: ast.expr) -> ast.expr:
    """Leave the arguments of calls out."""
    if isinstance(node, ast.Call):
        return ast.Call(func=_named_root(node.func), args=[], keywords=[])
    if isinstance(node, ast.Attribute):
        return ast.Attribute(_named_root(node.value), node.attr, ast.Load())
    return node


def _unwrapped(flow: Evaluator, node: ast.expr, scope: Scope) -> ast.expr | None:
    """One wrapper less; None where the node itself names the value."""
    if isinstance(node, ast.BinOp):
        return _operand(flow, node, scope)
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, ast.Name):
        return node
    if isinstance(node, ast.Attribute):
        return node.value if node.attr in READ_ATTRIBUTES and dotted_text(node.value) not in {"self", "cls"} else None
    if isinstance(node, ast.IfExp):
        return node.body if not isinstance(node.body, ast.Constant) else node.orelse
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.DictComp)):
        source = node.generators[0].iter
        element = node.value if isinstance(node, ast.DictComp) else node.elt
        is_counted = (
            isinstance(source, ast.Call) and called_name(source) == "range" and isinstance(element, ast.Subscript)
        )
        return element.value if is_counted and isinstance(element, ast.Subscript) else source
    if isinstance(node, ast.Starred) or (
        isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Call, ast.BinOp))
    ):
        return node.value
    return _of_call(node) if isinstance(node, ast.Call) else None


def _of_call(node: ast.Call) -> ast.expr | None:
    name = called_name(node)
    if isinstance(node.func, ast.Attribute) and name in READ_METHODS and dotted_text(node.func.value) not in _LIBRARIES:
        return node.func.value
    if name in _READ_CALLS and (node.args or node.keywords):
        first = node.args[0] if node.args else node.keywords[0].value
        return first.value if isinstance(first, ast.Starred) else first
    return None


def _operand(flow: Evaluator, node: ast.BinOp, scope: Scope) -> ast.expr:
    """Choose the operand that makes the value vary: first one computed by the training, then a duration.

    A rate is none of its operands: ``len(batch) / seconds``, nor is by how much two computed values differ. A time is
    that since the moment that is subtracted.
    """
    if isinstance(node.op, ast.Sub) and all(isinstance(each, (ast.Name, ast.Attribute)) for each in _sides(node)):
        sides = [flow.resolved(side, scope) for side in _sides(node)]
        are_names = all(isinstance(side, ast.Name) for side in _sides(node))
        if are_names and all(side.has(From.CLOCK) and not side.has(*METRIC_ORIGINS) for side in sides):
            return node.right
        if all(side.has(From.LIVE) and not side.has(From.COUNT, From.TOTAL) for side in sides):
            return node
    rate = node
    while isinstance(rate.left, ast.BinOp) and isinstance(rate.right, ast.Constant):
        rate = rate.left
    if isinstance(rate.op, (ast.Div, ast.FloorDiv)) and not isinstance(rate.left, ast.Constant):
        left, right = flow.resolved(rate.left, scope), flow.resolved(rate.right, scope)
        if right.has(From.DURATION) and not right.has(From.LIVE) and not left.has(From.DURATION, From.MEMORY):
            return node
    return min(_flatten(node), key=lambda operand: _constancy(operand, flow.resolved(operand, scope)))


def _sides(node: ast.BinOp) -> tuple[ast.expr, ast.expr]:
    return node.left, node.right


def _constancy(operand: ast.expr, value: Value) -> int:
    """Rank an operand, the one that varies most first: live values, durations, others, counters, constants."""
    rank = (
        0 if value.has(From.LIVE) and not value.has(From.COUNT, From.TOTAL) else 1 if value.has(*METRIC_ORIGINS) else 2
    )
    if isinstance(operand, ast.Constant):
        return 9
    if rank == 2 and value.has(From.COUNT, From.TOTAL):
        return 5
    if not value.has(From.DURATION, From.MEMORY) and is_counting(text_of(operand).rpartition(".")[2]):
        return 6
    return 4 if rank == 2 and isinstance(operand, ast.Call) and value.has(From.CLOCK) else rank


def _flatten(node: ast.BinOp) -> list[ast.expr]:
    operands: list[ast.expr] = []
    waiting: list[ast.expr] = [node]
    while waiting and len(operands) < 60:
        operand = waiting.pop()
        if isinstance(operand, ast.BinOp):
            waiting.extend((operand.right, operand.left))
        else:
            operands.append(operand)
    return operands


def _iterated(node: ast.Name, scope: Scope) -> tuple[ast.expr, Scope] | None:
    """Find what a comprehension's variable runs over."""
    home, bindings = lookup(node.id, scope) or (scope, [])
    if not bindings or home.kind != "comprehension" or home.parent is None:
        return None
    value, position = bindings[0].value, next(iter(bindings[0].path), None)
    if value is None or value is node:
        return None
    if isinstance(value, ast.Call) and called_name(value) == "zip" and position is not None:
        value = value.args[position] if position < len(value.args) else value
    return value, home.parent


# Conversions and units around a value: ``100 * accuracy.item()`` is ``accuracy``, and ``loss / 2`` is another value.

_CONVERTING_CALLS = {"float", "int", "round", "str"}
_CONVERTING_METHODS = {"item", "detach", "cpu", "numpy", "tolist", "float", "double"}


def converted(node: ast.expr) -> ast.expr:
    """Take conversions and units off: ``100 * accuracy.item()`` is ``accuracy``."""
    while True:
        inner = conversion(node) or factor(node)
        if inner is None:
            return node
        node = inner


def conversion(node: ast.expr) -> ast.expr | None:
    """Return what a call converts, ``accuracy`` of ``accuracy.item()`` and ``float(accuracy)``; None for another."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in _CONVERTING_METHODS and not node.args else None
    return node.args[0] if called_name(node) in _CONVERTING_CALLS and node.args else None


def factor(node: ast.expr) -> ast.expr | None:
    """Return what a power of ten multiplies or divides, as percent and milliseconds are made; None where none does."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.Div)):
        return None
    if _is_unit(node.right):
        return node.left
    return node.right if isinstance(node.op, ast.Mult) and _is_unit(node.left) else None


def _is_unit(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, (int, float)) and value > 0 and math.log10(value).is_integer()
