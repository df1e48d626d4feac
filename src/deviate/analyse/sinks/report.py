"""Calls and assignments of libraries that report something, and what they show."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deviate.analyse.abstract import TEXT
from deviate.analyse.index import CallSite, Place, Scope
from deviate.analyse.program import called_name
from deviate.analyse.sinks.parts import Told, with_tag
from deviate.analyse.sinks.printed import text_sink
from deviate.analyse.sinks.tracked import log_call, mapping_sink, tagged_sink
from deviate.analyse.sinks.written import figure_sink, file_sink
from deviate.analyse.texts import Part, Shown, dotted_text, surround, take_apart

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


@dataclass(frozen=True, eq=False)
class Report:
    """One place of the program that reports, and what it shows."""

    sink: str
    shown: list[Shown]
    scope: Scope
    place: Place | None
    line: int
    end_line: int
    #: The call, or the assignment, that reports.
    node: ast.AST
    #: Name and class of the project's object that is told.
    hint: str = ""


def report_of_call(flow: Flow, site: CallSite) -> Report | None:
    """Recognise a reporting call of a library."""
    found = _recognise(flow, site.node, site.scope)
    if found is None:
        return None
    sink, parts = found
    node = site.node
    return Report(sink, surround(parts), site.scope, site.place, node.lineno, node.end_lineno or node.lineno, node)


def _recognise(flow: Flow, call: ast.Call, scope: Scope) -> Told | None:
    name = called_name(call)
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    said = dotted_text(receiver) if receiver is not None else ""
    for recognise in (text_sink, tagged_sink, mapping_sink, file_sink, figure_sink, log_call):
        found = recognise(flow, call, scope, name, said)
        if found is not None:
            return found
    return None


def report_of_store(
    flow: Flow, target: ast.expr, value: ast.expr, scope: Scope, place: Place | None, statement: ast.stmt
) -> Report | None:
    """Recognise an assignment that reports: ``bar.suffix = text``, ``logs["x"] = value``."""
    parts: list[Part] | None = None
    sink = "tqdm"
    if isinstance(target, ast.Attribute) and target.attr in {"suffix", "desc", "postfix", "message"}:
        if flow.value(value, scope).has(TEXT):
            parts = take_apart(flow, value, scope)
    elif isinstance(target, ast.Subscript):
        said = dotted_text(target.value)
        if said.endswith(".summary") or said == "logs":
            sink = "keras" if said == "logs" else "wandb"
            parts = with_tag(flow, target.slice, value, scope)
    if parts is None:
        return None
    return Report(
        sink, surround(parts), scope, place, statement.lineno, statement.end_lineno or statement.lineno, statement
    )
