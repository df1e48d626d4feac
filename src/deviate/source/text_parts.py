"""Take a reported text apart: the constant words and the values between them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from deviate.source.flow.attributes import given_fields
from deviate.source.flow.calls import forwarded_param
from deviate.source.flow.expressions import is_mapping, makes_mapping
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import From, Instance
from deviate.source.index import Binding, Scope, Unit
from deviate.source.syntax import called_name, dotted_text, passed_for
from deviate.source.texts import (
    TEXT_METHODS,
    Field,
    Part,
    ReportedValue,
    as_mapping,
    bindings_within,
    brace_fields,
    builds,
    change_values,
    constant_text,
    format_text,
    is_converted,
    is_grown_mapping,
    is_of_caller,
    is_open,
    is_own_method,
    is_padding,
    is_textual,
    is_whole_mapping,
    is_written_list,
    may_be_text,
    named_beside,
    named_key,
    percent_fields,
    with_label,
    with_spec,
)

#: Calls whose text or list holds their arguments.
_WRAPPING = {"dumps", "pformat", "list", "tuple", "colored", "colorstr", "AsciiTable", "DataFrame", "tabulate", "map"}
#: Texts built from texts are followed this far.
MAX_DEPTH = 6


def take_apart(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int = 0) -> list[Part]:
    """Split an expression that makes text, a list or a mapping into words and reported values."""
    if depth > MAX_DEPTH:
        return [ReportedValue(expr, scope)]
    if isinstance(expr, ast.Constant):
        return [expr.value] if isinstance(expr.value, str) else []
    if isinstance(expr, ast.JoinedStr):
        return _f_string(flow, expr, scope, depth)
    if isinstance(expr, ast.BinOp):
        return _operation(flow, expr, scope, depth)
    if isinstance(expr, ast.Call):
        return _call(flow, expr, scope, depth)
    if isinstance(expr, (ast.List, ast.Tuple, ast.Set)):
        return [part for element in expr.elts for part in (*_element(flow, element, scope, depth + 1), "\n")]
    if isinstance(expr, ast.Dict):
        return _mapping(flow, expr, scope, depth)
    if isinstance(expr, (ast.ListComp, ast.GeneratorExp)):
        return take_apart(flow, expr.elt, scope.module.inner.get(expr, scope), depth + 1)
    if isinstance(expr, ast.DictComp):
        return [ReportedValue(expr, scope, mapping=True)]
    if isinstance(expr, ast.IfExp):
        return _each(flow, (expr.body, expr.orelse), scope, depth)
    if isinstance(expr, ast.Starred):
        return take_apart(flow, expr.value, scope, depth + 1)
    if isinstance(expr, (ast.Name, ast.Attribute)):
        return _named(flow, expr, scope, depth)
    return [ReportedValue(expr, scope)]


def _element(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int) -> list[Part]:
    """Take one of several apart; a pair of a text and a value is a value under a tag."""
    if isinstance(expr, (ast.Tuple, ast.List)) and len(expr.elts) == 2:
        tag, value = expr.elts
        if isinstance(tag, ast.Constant) and isinstance(tag.value, str) and not isinstance(value, ast.Constant):
            return tagged(flow, tag.value, value, scope, depth)
    return take_apart(flow, expr, scope, depth)


def _f_string(flow: Evaluator, expr: ast.JoinedStr, scope: Scope, depth: int) -> list[Part]:
    parts: list[Part] = []
    for value in expr.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        elif isinstance(value, ast.FormattedValue):
            spec = constant_text(value.format_spec)
            parts.extend(with_spec(take_apart(flow, value.value, scope, depth + 1), spec))
    return parts


def _operation(flow: Evaluator, expr: ast.BinOp, scope: Scope, depth: int) -> list[Part]:
    if isinstance(expr.op, ast.Mod):
        text = format_text(flow, expr.left, scope)
        if text is not None:
            fields = percent_fields(text, expr.right)
            return [part for field in fields for part in _field(flow, field, scope, depth)]
        # Numbers have no rest by a tuple; a text that callers give may be any format.
        if isinstance(expr.right, ast.Tuple) or flow.resolved(expr.left, scope).has(From.TEXT):
            return take_apart(flow, expr.right, scope, depth + 1)
    if is_padding(expr):
        return []
    if isinstance(expr.op, ast.Add) and (is_written_list(expr.left) or is_written_list(expr.right)):
        return [*take_apart(flow, expr.left, scope, depth + 1), " ", *take_apart(flow, expr.right, scope, depth + 1)]
    if isinstance(expr.op, ast.Add) and is_textual(flow, expr, scope):
        return [*take_apart(flow, expr.left, scope, depth if depth < 3 else depth + 1),
                *take_apart(flow, expr.right, scope, depth + 1)]  # fmt: skip
    return [ReportedValue(expr, scope)]


def _each(flow: Evaluator, exprs: Iterable[ast.expr], scope: Scope, depth: int, end: str = "") -> list[Part]:
    """Take several expressions apart, each followed by the same text."""
    return [part for expr in exprs for part in (*take_apart(flow, expr, scope, depth + 1), *([end] if end else []))]


def _field(flow: Evaluator, field: str | Field, scope: Scope, depth: int) -> list[Part]:
    """Take the value of a field of a format text apart."""
    if isinstance(field, str):
        return [field]
    if field.spread or field.reads:
        return [
            ReportedValue(field.value, scope, spec=field.spec, reads=field.reads, mapping=field.spread == "mapping")
        ]
    parts = take_apart(flow, field.value, scope, depth + 1)
    if field.key:
        parts = change_values(parts, lambda value: replace(value, tag=value.tag or field.key))
    return with_spec(parts, field.spec)


def _call(flow: Evaluator, expr: ast.Call, scope: Scope, depth: int) -> list[Part]:
    name = called_name(expr)
    if isinstance(expr.func, ast.Attribute):
        if name == "format":
            return _format(flow, expr, expr.func.value, scope, depth)
        if name == "join" and len(expr.args) == 1 and not flow.value(expr.func.value, scope).refs:
            return take_apart(flow, expr.args[0], scope, depth + 1)
        base = expr.func.value
        if name in TEXT_METHODS and (is_converted(base) or flow.value(base, scope).has(From.TEXT)):
            return take_apart(flow, expr.func.value, scope, depth + 1)
    if name in {"str", "repr"} and len(expr.args) == 1:
        return take_apart(flow, expr.args[0], scope, depth + 1)
    if name == "dict" and expr.keywords:
        return [*_each(flow, expr.args, scope, depth), *_keywords(flow, expr, scope, depth, "\n")]
    if name in _WRAPPING:
        return _each(flow, expr.args[: 2 if name == "map" else 1], scope, depth)
    return _built_elsewhere(flow, expr, scope, depth)


def _keywords(flow: Evaluator, call: ast.Call, scope: Scope, depth: int, end: str = "") -> list[Part]:
    return [
        part
        for key in call.keywords
        for part in (*tagged(flow, key.arg, key.value, scope, depth), *([end] if end else []))
    ]


def tagged(flow: Evaluator, tag: str | None, value: ast.expr, scope: Scope, depth: int = 0) -> list[Part]:
    """Parts of a value reported under a key; without a key, of a mapping that is spread (``**stats``)."""
    parts = take_apart(flow, value, scope, depth + 1)
    if tag is None:
        return as_mapping(parts)
    return change_values(parts, lambda value: replace(value, tag=f"{tag}/{value.tag}" if value.tag else tag))


def _format(flow: Evaluator, expr: ast.Call, receiver: ast.expr, scope: Scope, depth: int) -> list[Part]:
    text = format_text(flow, receiver, scope)
    if text is None:
        return [*_each(flow, [receiver, *expr.args], scope, depth), *_keywords(flow, expr, scope, depth)]
    try:
        fields = list(brace_fields(text, expr))
    except ValueError:
        return _each(flow, expr.args, scope, depth)
    return [part for field in fields for part in _field(flow, field, scope, depth)]


def _mapping(flow: Evaluator, expr: ast.Dict, scope: Scope, depth: int) -> list[Part]:
    parts: list[Part] = []
    for key, value in zip(expr.keys, expr.values, strict=True):
        tag, label = tag_of(flow, key, scope) if key is not None else (None, None)
        parts.extend(with_label(tagged(flow, tag, value, scope, depth), label, replaces=True))
        parts.append("\n")
    return parts


def tag_of(flow: Evaluator, key: ast.expr, scope: Scope) -> tuple[str, ast.expr | None]:
    """Text of a tag, with ``{name}`` where a part of it is dynamic, and the first such part."""
    while isinstance(key, ast.IfExp):
        key = key.orelse if dotted_text(key.body) else key.body
    parts = take_apart(flow, key, scope, 1)
    # ``name = "time_" + name``: what the name holds where it is reported is the whole tag.
    own = dotted_text(key)
    whole = next((each for each in parts if own and not isinstance(each, str) and dotted_text(each.expr) == own), None)
    parts = parts if whole is None else [whole]
    text = "".join(part if isinstance(part, str) else "{" + dotted_text(part.expr) + "}" for part in parts)
    names = (part.expr for part in parts if not isinstance(part, str) and dotted_text(part.expr))
    return text, next(names, None)


def _named(flow: Evaluator, expr: ast.Name | ast.Attribute, scope: Scope, depth: int) -> list[Part]:
    """Follow a name to the text, list or mapping it was given; a name within itself gives nothing."""
    key = (id(scope.unit), dotted_text(expr))
    if key in flow.followed:
        return []
    flow.followed.add(key)
    try:
        return _followed(flow, expr, scope, depth)
    finally:
        flow.followed.discard(key)


def _followed(flow: Evaluator, expr: ast.Name | ast.Attribute, scope: Scope, depth: int) -> list[Part]:
    bindings = bindings_within(flow, expr, scope)
    running = [binding for binding in bindings if flow.program.may_run(binding.scope.unit, binding.nesting)]
    bindings = running or bindings
    kinds = {binding.kind for binding in bindings}
    is_built = any(builds(flow, binding) for binding in bindings)
    if len(bindings) == 1 and is_converted(bindings[0].value) and not bindings[0].path:
        converted = take_apart(flow, bindings[0].value, bindings[0].scope, depth + 1)  # type: ignore[arg-type]
        return change_values(converted, lambda value: replace(value, known_as=dotted_text(expr)))
    if not is_built or kinds & {"for", "with", "import", "opaque"}:
        record = _record(flow, expr, scope, depth)
        return record or [ReportedValue(expr, scope, mapping=is_mapping(flow, expr, scope))]
    if is_grown_mapping(bindings):
        return _grown_mapping(flow, expr, bindings, scope, depth)
    parts: list[Part] = [ReportedValue(expr, scope)] if "param" in kinds else []
    for binding in bindings:
        value = binding.value
        if binding.kind == "param" or value is None or binding.path or value is expr or is_own_method(value, expr):
            continue
        parts.extend([*take_apart(flow, value, binding.scope, depth + 1), "\n"])
    return parts or [ReportedValue(expr, scope)]


def _grown_mapping(flow: Evaluator, expr: ast.expr, bindings: list[Binding], scope: Scope, depth: int) -> list[Part]:
    """Take a mapping apart that is built in several statements; one that takes unknown items is reported whole."""
    whole: Part = ReportedValue(expr, scope, mapping=True)
    # What an item is in the end is no value of one statement.
    is_varied = any(map(is_open, bindings)) or any(isinstance(each.statement, ast.AugAssign) for each in bindings)
    takes_unknown_items = any(is_open(binding) and named_key(binding) is None for binding in bindings)
    parts: list[Part] = [whole] if takes_unknown_items else []
    for binding in bindings:
        key = named_key(binding)
        if binding.value is None or (takes_unknown_items and binding.kind != "key" and key is None):
            continue
        if binding.kind == "key":
            item = tagged(flow, binding.key, binding.value, binding.scope, depth)
            name = named_beside(binding) or (f"{dotted_text(expr)}['{binding.key}']" if is_varied else "")
            parts.extend(
                change_values(item, lambda value, name=name: replace(value, known_as=name))  # type: ignore[misc]
                if name
                else item
            )
        elif key is not None:
            tag, label = tag_of(flow, key, binding.scope)
            item = tagged(flow, tag, binding.value, binding.scope, depth)
            parts.extend(with_label(item, label, replaces=True))
        else:
            parts.extend(take_apart(flow, binding.value, binding.scope, depth + 1))
        parts.append("\n")
    # One that starts empty and is given to functions is filled by them.
    return parts if any(isinstance(part, ReportedValue) for part in parts) else [whole]


def _record(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int) -> list[Part]:
    """Take a record apart that is shown whole, into what its fields are given where it is made."""
    made = [(ref, ref.scope) for ref in flow.resolved(expr, scope).refs if isinstance(ref, Instance)]
    return [
        part
        for ref, home in made
        if home is not None and home.unit in flow.program.reached
        for name, value in given_fields(flow.program, flow, ref).items()
        for part in (*tagged(flow, name, value, home, depth), "\n")
    ]


def _built_elsewhere(flow: Evaluator, expr: ast.Call, scope: Scope, depth: int) -> list[Part]:
    """Text that a function of the project makes: its values, or the arguments they are computed from."""
    is_method = isinstance(expr.func, ast.Attribute) and not expr.args and not expr.keywords
    if is_method and forwarded_param(flow, expr, scope) is not None:
        return [ReportedValue(expr, scope)]  # the text of an object that callers give
    units = [ref for ref in flow.value(expr.func, scope).refs if isinstance(ref, Unit)]
    if len(units) != 1 or not may_be_text(units[0]) or not flow.value(expr, scope).has(From.TEXT):
        return [ReportedValue(expr, scope, mapping=makes_mapping(flow, expr, scope))]
    unit = units[0]
    parts = [part for result, home in unit.returns for part in take_apart(flow, result, home, depth + 2)]
    # A mapping that another function fills is recorded where it is reported.
    parts = change_values(
        parts, lambda value: ReportedValue(expr, scope, mapping=True) if is_whole_mapping(value, unit) else value
    )
    values = [part for part in parts if isinstance(part, ReportedValue)]
    if values and not any(is_of_caller(flow, value, unit) for value in values):
        return parts
    args = [arg for name in unit.parameters for arg in passed_for(expr, unit, name)]
    return _each(flow, args, scope, depth) or [ReportedValue(expr, scope)]
