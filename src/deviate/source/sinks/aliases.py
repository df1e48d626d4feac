"""Other names of reporting functions, and data frames that are written to files."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace

from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import Instance, Param
from deviate.source.index import Binding, Scope, Unit, bindings_of
from deviate.source.sinks.stores import accumulated, argument, elements_of
from deviate.source.syntax import called_name, dotted_text
from deviate.source.texts import Part, as_mapping, change_values

#: Names of names are followed this far.
MAX_DEPTH = 4


def original_calls(flow: Evaluator, call: ast.Call, scope: Scope) -> Iterator[ast.Call]:
    """Yield the calls that a call under another name stands for, with the arguments that this one gives."""
    yield from _originals(flow, call, scope, {dotted_text(call.func)}, 0)


def _originals(flow: Evaluator, call: ast.Call, scope: Scope, seen: set[str], depth: int) -> Iterator[ast.Call]:
    """Follow each name once: what many callers pass on under the same names has more ways than can be gone."""
    for value in _given(flow, call.func, scope) if depth <= MAX_DEPTH else ():
        name = dotted_text(value)
        original = _called_through(value, call) if name not in seen or not name else None
        if original is not None:
            seen.add(name)
            yield original
            yield from _originals(flow, original, scope, seen, depth + 1)


def _given(flow: Evaluator, func: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """Yield what the name of a called function was given: by assignment, as an argument or by default."""
    for binding in _bindings(flow, func, scope):
        values = [binding.value] if binding.kind == "assign" and not binding.path else []
        if binding.kind == "param" and isinstance(binding.scope, Unit):
            passed = flow.program.arguments(flow, Param(binding.scope, binding.key))
            values = [binding.value, *(expr for expr, _ in passed)]
        for value in values:
            yield from _choices(value)


def _bindings(flow: Evaluator, func: ast.expr, scope: Scope) -> list[Binding]:
    if isinstance(func, ast.Name):
        return bindings_of(func.id, scope)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.attr in flow.program.attributes:
        refs = [ref for ref in flow.value(func.value, scope).refs if isinstance(ref, Instance)]
        return [binding for ref in refs for binding in ref.cls.attributes.get(func.attr, [])]
    return []


def _choices(value: ast.expr | None) -> Iterator[ast.expr]:
    """Yield the ends of a choice: ``print if verbose else nothing``, ``verbose and print or nothing``."""
    if isinstance(value, (ast.IfExp, ast.BoolOp)):
        for choice in (value.body, value.orelse) if isinstance(value, ast.IfExp) else value.values:
            yield from _choices(choice)
    elif value is not None:
        yield value


def _called_through(value: ast.expr, call: ast.Call) -> ast.Call | None:
    """Call what a name was given with the arguments of a call of the name."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        return ast.copy_location(ast.Call(value, call.args, call.keywords), call)
    if isinstance(value, ast.Call) and called_name(value) == "partial" and value.args:
        args, keywords = [*value.args[1:], *call.args], [*value.keywords, *call.keywords]
        return ast.copy_location(ast.Call(value.args[0], args, keywords), call)
    if isinstance(value, ast.Lambda) and isinstance(value.body, ast.Call):
        return _through_lambda(value, value.body, call)
    return None


def _through_lambda(function: ast.Lambda, body: ast.Call, call: ast.Call) -> ast.Call | None:
    """Call what a lambda calls, with the arguments of the call in place of the lambda's parameters."""
    parameters = [arg.arg for arg in function.args.args]
    extra = function.args.vararg.arg if function.args.vararg is not None else ""
    arguments = dict(zip(parameters, call.args, strict=False))
    arguments |= {key.arg: key.value for key in call.keywords if key.arg in parameters}
    given: list[ast.expr] = []
    for arg in body.args:
        inner = arg.value if isinstance(arg, ast.Starred) else arg
        if isinstance(inner, ast.Name) and inner.id == extra and extra:
            given.extend(call.args[len(parameters) :])
        else:
            given.append(_Replaced(arguments).visit(copy.deepcopy(inner)))
    return ast.copy_location(ast.Call(body.func, given, []), call) if arguments or given else None


class _Replaced(ast.NodeTransformer):
    """Put arguments in the place of parameters; they stay the very nodes of the call."""

    def __init__(self, arguments: dict[str, ast.expr]) -> None:
        self.arguments = arguments

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.arguments.get(node.id, node)


# What a data frame holds that is written to a file: rows and columns, given at once or one after another.

_MAX_DEPTH = 12
_MAKERS = {"DataFrame", "from_dict", "from_records", "Series"}
#: Views of a frame through which rows and cells are set.
_VIEWS = {"loc", "iloc", "at", "iat"}


def data_frame(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read what the data frame was made of whose method is called: ``pd.DataFrame(rows).to_csv(path)``."""
    return _frame_parts(flow, call.func.value, scope) if isinstance(call.func, ast.Attribute) else None


def _frame_parts(flow: Evaluator, frame: ast.expr, scope: Scope, depth: int = 0) -> list[Part]:
    if depth > _MAX_DEPTH:
        return []
    if isinstance(frame, ast.Name):
        made = [
            part
            for binding in bindings_of(frame.id, scope)
            if isinstance(binding.value, ast.Call) and binding.kind == "assign"
            for part in (*_frame_parts(flow, binding.value, binding.scope, depth + 1), "\n")
        ]
        return [*made, *_set_parts(flow, frame, scope)]
    if isinstance(frame, ast.Call):
        name = called_name(frame)
        held = argument(frame, 0, "data") if name in _MAKERS else None
        if held is not None:
            return as_mapping(_columns(flow, held, scope) or elements_of(flow, held, scope))
        if frame.args and name == "concat":
            parts = frame.args[0].elts if isinstance(frame.args[0], (ast.List, ast.Tuple)) else []
            return [part for one in parts for part in _frame_parts(flow, one, scope, depth + _MAX_DEPTH // 2)]
        if isinstance(frame.func, ast.Attribute):
            return _frame_parts(flow, frame.func.value, scope, depth + 1)
    return []


def _columns(flow: Evaluator, held: ast.expr, scope: Scope) -> list[Part]:
    """Read columns that are lists filled over time: ``{"loss": losses}``; nothing where one is no variable."""
    if not isinstance(held, ast.Dict):
        return []
    keys = [key.value for key in held.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    if len(keys) != len(held.keys) or not all(isinstance(value, ast.Name) for value in held.values):
        return []
    columns = zip(keys, held.values, strict=True)
    return [part for key, value in columns for part in (*_named(accumulated(flow, value, scope), key, ""), "\n")]


def _set_parts(flow: Evaluator, frame: ast.Name, scope: Scope) -> list[Part]:
    """Read what is set in a frame: ``frame.loc[epoch] = [epoch, loss]``, ``frame["loss"] = losses``."""
    parts: list[Part] = []
    for store in scope.unit.stores:
        target = store.target
        if not isinstance(target, ast.Subscript):
            continue
        holder = target.value
        is_view = isinstance(holder, ast.Attribute) and holder.attr in _VIEWS
        base = holder.value if is_view and isinstance(holder, ast.Attribute) else holder
        if not isinstance(base, ast.Name) or base.id != frame.id:
            continue
        key = target.slice.elts[-1] if isinstance(target.slice, ast.Tuple) and target.slice.elts else target.slice
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
        read = elements_of(flow, store.value, store.scope) if is_view else accumulated(flow, store.value, store.scope)
        item = f"{frame.id}['{name}']" if name and not isinstance(store.value, (ast.Name, ast.Attribute)) else ""
        parts.extend([*_named(read, name, item), "\n"])
    return parts


def _named(parts: list[Part], name: str, item: str) -> list[Part]:
    return change_values(parts, lambda value: replace(value, tag=name or value.tag, known_as=item or value.known_as))
