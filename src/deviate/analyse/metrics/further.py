"""What a loop reports in some of its rounds and once more when it is done: one value, recorded at both places."""

from __future__ import annotations

import ast

from deviate.analyse.metrics.capture import numeric_part
from deviate.analyse.metrics.conversions import conversion
from deviate.analyse.metrics.finding import Finding
from deviate.analyse.sinks.report import Report
from deviate.analyse.source.index import enclosing_loops
from deviate.analyse.source.syntax import text_of
from deviate.experiment import Capture


def is_left_behind(one: Report, other: Report) -> bool:
    """Whether only one of two reports of a function is in a loop, in some of its rounds, and the other after the loop.

    The last round need not be among those that report: ``if step % 50 == 0: print(loss.avg)``.
    """
    inner, outer = (one, other) if one.line < other.line else (other, one)
    if inner.scope is not outer.scope:
        return False
    around = enclosing_loops(outer.nesting)
    left = next((loop for loop in reversed(enclosing_loops(inner.nesting)) if loop not in around), None)
    if not isinstance(left, ast.stmt) or outer.line <= (left.end_lineno or left.lineno):
        return False
    return _is_conditional(inner, left)


def _is_conditional(report: Report, loop: ast.AST) -> bool:
    """Whether a condition within a loop decides whether a report of it is made."""
    nesting = report.nesting
    while nesting is not None and nesting.node is not loop:
        if isinstance(nesting.node, ast.If):
            return True
        nesting = nesting.outer
    return False


def further_capture(first: Finding, second: Finding) -> Capture | None:
    """Say how `second` is recorded as a value of the metric of `first`; None where it may be another value."""
    known, added = first.capture, second.capture
    if known is None or added is None or added.span is None or not {known.how, added.how} <= {"value", "beside"}:
        return None
    if known.label != added.label or _place(first, known) != _place(second, added):
        return None
    if added.reads == known.reads:
        return added
    # The attributes that lead to the number are the same for all records of a metric.
    place = known.beside if known.reads else _place(second, added)
    return Capture(how="beside", span=added.span, beside=place, reads=known.reads, label=known.label)


def are_other_values(first: Finding, second: Finding) -> bool:
    """Whether two expressions of one variable are other numbers: a count of hits, and the share of hits."""
    captures = first.capture, second.capture
    return all(each is not None and each.how == "value" for each in captures) and further_capture(first, second) is None


def _place(finding: Finding, capture: Capture) -> str:
    """Return the text of the number itself, ``losses.avg``; of a mean, of its sum: it may be over the rounds so far."""
    if capture.how == "beside":
        return f"{capture.beside}.{capture.reads}".rstrip(".")
    node = numeric_part(finding.reported)
    while (inner := conversion(node)) is not None:
        node = inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"{text_of(node.left)} /"
    return text_of(node)
