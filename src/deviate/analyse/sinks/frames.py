"""What a data frame holds that is written to a file: rows and columns, given at once or one after another."""

from __future__ import annotations

import ast
from dataclasses import replace

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.sinks.readers import accumulated, argument, elements_of
from deviate.analyse.source.index import Scope, Unit, bindings_of
from deviate.analyse.source.syntax import called_name
from deviate.analyse.texts.reported import Part, as_mapping, change_values

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
        if frame.args and name in {"append", "_append"}:
            return _frame_parts(flow, frame.args[0], scope, depth + _MAX_DEPTH // 2) or as_mapping(
                elements_of(flow, frame.args[0], scope)
            )
        units = [ref for ref in flow.value(frame.func, scope).refs if isinstance(ref, Unit)]
        if units:
            results = ((each, home) for unit in units for each, home in unit.returns if isinstance(each, ast.Name))
            return [part for each, home in results for part in _set_parts(flow, each, home)]
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
