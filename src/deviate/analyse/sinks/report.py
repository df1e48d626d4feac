"""A call or an assignment that reports, and the values it reports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.mappings import makes_mapping
from deviate.analyse.flow.values import External, From
from deviate.analyse.naming.words import LOG, words_like
from deviate.analyse.sinks.aliases import original_calls
from deviate.analyse.sinks.readers import with_tag
from deviate.analyse.sinks.rows import BY_CALL, OWN_FUNCTION, OWN_NAMES
from deviate.analyse.source.index import Binding, CallSite, Nesting, Scope, Store, Unit, bindings_of, local_bindings
from deviate.analyse.source.syntax import called_name, dotted_text, text_of, written_items
from deviate.analyse.texts.parts import take_apart
from deviate.analyse.texts.reported import Part, ReportedValue, as_mapping, surround

#: Methods whose results Lightning logs, before it had ``self.log``, and under which keys.
_RETURNING = re.compile(r"^(training|validation|test)_(step|step_end|end|epoch_end)$")
_LOGGED_KEYS = {"log", "progress_bar"}
#: Attributes that progress bars show.
_BAR_ATTRIBUTES = {"comment", "suffix", "desc", "postfix", "message"}
#: Objects of libraries that log.
_TRACKER = re.compile(f"{LOG}|{words_like(begun='track|record|monitor')}")
#: Sinks of which each call shows a line.
_LINES = {"print", "logging"}
#: Mappings whose items a framework reports.
_MAPPINGS = (("keras", re.compile(r"^logs$")), ("wandb", re.compile(r"\.summary$")))


@dataclass(frozen=True, eq=False)
class Report:
    """A call or an assignment that reports."""

    sink: str
    values: list[ReportedValue]
    scope: Scope
    nesting: Nesting | None
    #: The call, or the assignment, that reports.
    node: ast.expr | ast.stmt
    #: Name and class of the project's object whose method reports.
    hint: str = ""

    @property
    def line(self) -> int:
        """First line of the call."""
        return self.node.lineno

    @property
    def end_line(self) -> int:
        """Last line of the call."""
        return self.node.end_lineno or self.node.lineno


def report_of_call(flow: Evaluator, site: CallSite) -> Report | None:
    """Recognise a reporting call of a library, under its own name or another."""
    call, scope = site.node, site.scope
    for original in (call, *original_calls(flow, call, scope)):
        for sink in BY_CALL.get(called_name(original), ()):
            if sink.matches(flow, original, scope) and (parts := sink.read(flow, original, scope)) is not None:
                return Report(sink.name, _headed(site, sink.name, surround(parts)), scope, site.nesting, call)
    name = called_name(call)
    if OWN_NAMES.search(name) and not name.startswith("_") and (parts := OWN_FUNCTION.read(flow, call, scope)):
        return Report(OWN_FUNCTION.name, surround(parts), scope, site.nesting, call)
    return None


def _headed(site: CallSite, sink: str, values: list[ReportedValue]) -> list[ReportedValue]:
    """Name a value that is shown alone after the line above: ``print("Accuracy:")``, ``print(right / total)``."""
    if sink not in _LINES or len(values) != 1 or values[0].mapping or re.search(r"\w", values[0].before):
        return values
    home, field = (site.nesting.node, site.nesting.branch) if site.nesting else (site.scope.unit.node, "body")
    block = getattr(home, field, None)
    statements: list[ast.AST] = block if isinstance(block, list) else []
    place = next((at for at, statement in enumerate(statements) if statement is site.statement), 0)
    line = statements[place - 1] if place else None
    above = line.value if isinstance(line, ast.Expr) else None
    if not isinstance(above, ast.Call) or text_of(above.func) != text_of(site.node.func) or len(above.args) != 1:
        return values
    heading = above.args[0].value if isinstance(above.args[0], ast.Constant) else None
    is_heading = isinstance(heading, str) and heading.rstrip().endswith((":", "="))
    return [replace(values[0], before=str(heading))] if is_heading else values


def report_of_store(flow: Evaluator, store: Store) -> Report | None:
    """Recognise an assignment that reports: ``bar.suffix = text``, ``logs["x"] = value``."""
    target, value, scope = store.target, store.value, store.scope
    parts: list[Part] | None = None
    sink = "tqdm"
    if isinstance(target, ast.Attribute) and target.attr in _BAR_ATTRIBUTES:
        parts = take_apart(flow, value, scope) if flow.value(value, scope).has(From.TEXT) else None
    elif isinstance(target, ast.Attribute) and target.attr == "simple_value":
        sink, parts = "tensorboard", with_tag(flow, _named_beside(store), value, scope)
    elif isinstance(target, ast.Subscript):
        name = dotted_text(target.value)
        sink = next((sink for sink, mapping in _MAPPINGS if mapping.search(name)), "")
        if sink == "keras" and not any(binding.kind == "param" for binding in bindings_of(name, scope)):
            sink = ""  # a mapping of the program's own
        parts = with_tag(flow, target.slice, value, scope) if sink else None
    return Report(sink, surround(parts), scope, store.nesting, store.statement) if parts is not None else None


def reports_of_returns(flow: Evaluator, unit: Unit) -> Iterator[Report]:
    """Yield what methods of Lightning's modules hand back to be logged: ``return {"loss": loss, "log": logs}``."""
    tests = unit.name.startswith("test") and "test" not in flow.program.calls
    if unit.owner is None or tests or not _RETURNING.search(unit.name):
        return
    for result, scope in unit.returns:
        bindings = local_bindings(result.id, scope) if isinstance(result, ast.Name) else []
        for whole, key, value in (*_items_of(result), *(item for each in bindings for item in _items_given(each))):
            if key in _LOGGED_KEYS:
                yield Report("tracker", surround(as_mapping(take_apart(flow, value, scope))), scope, None, whole)


def _items_given(binding: Binding) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    """Yield what a binding puts under written keys of a mapping."""
    if binding.value is not None and binding.kind == "key":
        yield binding.value, binding.key, binding.value
    elif binding.value is not None and binding.kind in {"assign", "merge"}:
        yield from _items_of(binding.value)


def _items_of(whole: ast.expr) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    return ((whole, key, value) for key, value in written_items(whole))


def wrapped_by_trackers(flow: Evaluator, sites: Iterable[CallSite]) -> set[Unit]:
    """Return the functions that a tracker of a library wraps, to log what they return: ``tracker.log("val")(step)``."""
    return {
        ref
        for site in sites
        if isinstance(site.node.func, ast.Call) and _wraps(flow, site.node.func, site.scope)
        for argument in site.node.args[:1]
        for ref in flow.value(argument, site.scope).refs
        if isinstance(ref, Unit)
    }


def _wraps(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    if called_name(call) not in {"log", "track"} or not isinstance(call.func, ast.Attribute):
        return False
    refs = flow.resolved(call.func.value, scope).refs
    return any(isinstance(ref, External) and _TRACKER.search(ref.dotted) for ref in refs)


def reports_of_wrapped(flow: Evaluator, unit: Unit, wrapped: set[Unit]) -> Iterator[Report]:
    """Yield the mappings that a wrapped function returns, unless another wrapped one gives them."""
    for result, scope in unit.returns if unit in wrapped else ():
        values = [each.value for each in bindings_of(result.id, scope)] if isinstance(result, ast.Name) else []
        calls = [value.func for value in values if isinstance(value, ast.Call)]
        is_given = any(ref in wrapped for func in calls for ref in flow.value(func, scope).refs)
        if not is_given and makes_mapping(flow, result, scope):
            yield Report("tracker", surround(as_mapping(take_apart(flow, result, scope))), scope, None, result)


def _named_beside(store: Store) -> ast.expr | None:
    """Tag that is set beside the value of a summary: ``value.tag = name; value.simple_value = loss``."""
    assert isinstance(store.target, ast.Attribute)
    holder = dotted_text(store.target.value)
    return next(
        (
            other.value
            for other in store.scope.unit.stores
            if isinstance(other.target, ast.Attribute) and other.target.attr == "tag"
            and dotted_text(other.target.value) == holder
        ),
        None,
    )  # fmt: skip
