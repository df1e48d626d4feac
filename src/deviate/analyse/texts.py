"""Take a reported text apart: the constant words and the values shown between them."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from deviate.analyse.abstract import TEXT
from deviate.analyse.building import (
    bindings_of,
    builds,
    is_converted,
    is_grown_mapping,
    is_open,
    mentions,
)
from deviate.analyse.formats import Field, brace_fields, percent_fields
from deviate.analyse.index import Binding, Scope, Unit
from deviate.analyse.mappings import is_mapping, makes_mapping
from deviate.analyse.program import called_name, passed_for
from deviate.analyse.shown import Part as Part
from deviate.analyse.shown import Shown as Shown
from deviate.analyse.shown import constant_text, with_spec
from deviate.analyse.shown import dotted_text as dotted_text
from deviate.analyse.shown import surround as surround
from deviate.analyse.textual import TEXT_METHODS, constant_string, is_textual

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Calls that show what they are given.
_WRAPPING = {"dumps", "pformat", "list", "tuple", "colored", "colorstr", "AsciiTable", "DataFrame", "tabulate", "map"}
#: Texts built from texts are followed this far.
MAX_DEPTH = 6


def take_apart(flow: Flow, expr: ast.expr, scope: Scope, depth: int = 0) -> list[Part]:
    """Split an expression that makes text, a list or a mapping into words and shown values."""
    if depth > MAX_DEPTH:
        return [Shown(expr, scope)]
    if isinstance(expr, ast.Constant):
        return [expr.value] if isinstance(expr.value, str) else []
    if isinstance(expr, ast.JoinedStr):
        return _f_string(flow, expr, scope, depth)
    if isinstance(expr, ast.BinOp):
        return _operation(flow, expr, scope, depth)
    if isinstance(expr, ast.Call):
        return _call(flow, expr, scope, depth)
    if isinstance(expr, (ast.List, ast.Tuple, ast.Set)):
        return [part for one in expr.elts for part in [*_element(flow, one, scope, depth + 1), "\n"]]
    if isinstance(expr, ast.Dict):
        return _mapping(flow, expr, scope, depth)
    if isinstance(expr, (ast.ListComp, ast.GeneratorExp)):
        return _comprehended(flow, expr, scope, depth)
    if isinstance(expr, ast.DictComp):
        return [Shown(expr, scope, mapping=True)]
    if isinstance(expr, ast.IfExp):
        return [*take_apart(flow, expr.body, scope, depth + 1), *take_apart(flow, expr.orelse, scope, depth + 1)]
    if isinstance(expr, ast.Starred):
        return take_apart(flow, expr.value, scope, depth + 1)
    if isinstance(expr, ast.Attribute) and _is_text(flow, expr.value, scope):
        return take_apart(flow, expr.value, scope, depth + 1)
    if isinstance(expr, (ast.Name, ast.Attribute)):
        return _named(flow, expr, scope, depth)
    return [Shown(expr, scope)]


def _element(flow: Flow, expr: ast.expr, scope: Scope, depth: int) -> list[Part]:
    """Take one of several apart; a pair of a text and a value is a value under a tag."""
    if isinstance(expr, (ast.Tuple, ast.List)) and len(expr.elts) == 2:
        tag, value = expr.elts
        if isinstance(tag, ast.Constant) and isinstance(tag.value, str) and not isinstance(value, ast.Constant):
            return tagged(flow, tag.value, value, scope, depth)
    return take_apart(flow, expr, scope, depth)


def _is_text(flow: Flow, expr: ast.expr, scope: Scope) -> bool:
    """``AsciiTable(rows).table``: an attribute of something made of text."""
    return (
        isinstance(expr, ast.Call)
        and bool(expr.args)
        and flow.value(expr, scope).has(TEXT)
        and isinstance(expr.args[0], (ast.List, ast.JoinedStr))
    )


def _f_string(flow: Flow, expr: ast.JoinedStr, scope: Scope, depth: int) -> list[Part]:
    parts: list[Part] = []
    for one in expr.values:
        if isinstance(one, ast.Constant):
            parts.append(str(one.value))
        elif isinstance(one, ast.FormattedValue):
            spec = constant_text(one.format_spec)
            parts.extend(with_spec(take_apart(flow, one.value, scope, depth + 1), spec))
    return parts


def _operation(flow: Flow, expr: ast.BinOp, scope: Scope, depth: int) -> list[Part]:
    if isinstance(expr.op, ast.Mod):
        text = constant_string(flow, expr.left, scope)
        if text is not None:
            return _percent(flow, text, expr.right, scope, depth)
        if flow.value(expr.left, scope).has(TEXT):
            return take_apart(flow, expr.right, scope, depth + 1)
        if isinstance(expr.right, ast.Name) and expr.right.id == scope.unit.vararg:
            return [*take_apart(flow, expr.left, scope, depth + 1), " ", Shown(expr.right, scope)]
    lists = (ast.List, ast.ListComp)
    if isinstance(expr.op, ast.Add) and (isinstance(expr.left, lists) or isinstance(expr.right, lists)):
        return [*take_apart(flow, expr.left, scope, depth + 1), " ", *take_apart(flow, expr.right, scope, depth + 1)]
    if isinstance(expr.op, ast.Add) and is_textual(flow, expr, scope):
        return [*take_apart(flow, expr.left, scope, depth if depth < 3 else depth + 1),
                *take_apart(flow, expr.right, scope, depth + 1)]  # fmt: skip
    if isinstance(expr.op, ast.Mult) and isinstance(expr.left, ast.Constant) and isinstance(expr.left.value, str):
        return []
    return [Shown(expr, scope)]


def _percent(flow: Flow, text: str, right: ast.expr, scope: Scope, depth: int) -> list[Part]:
    return [part for one in percent_fields(text, right) for part in _field(flow, one, scope, depth)]


def _field(flow: Flow, field: str | Field, scope: Scope, depth: int) -> list[Part]:
    """Take what fills a field of a format text apart."""
    if isinstance(field, str):
        return [field]
    if field.spread or field.reads:
        return [Shown(field.value, scope, spec=field.spec, reads=field.reads, mapping=field.spread == "mapping")]
    shown = take_apart(flow, field.value, scope, depth + 1)
    if field.key:
        shown = [replace(one, tag=one.tag or field.key) if isinstance(one, Shown) else one for one in shown]
    return with_spec(shown, field.spec)


def _call(flow: Flow, expr: ast.Call, scope: Scope, depth: int) -> list[Part]:
    name = called_name(expr)
    if isinstance(expr.func, ast.Attribute):
        if name == "format":
            return _format(flow, expr, expr.func.value, scope, depth)
        if name == "join" and len(expr.args) == 1 and not flow.value(expr.func.value, scope).refs:
            return take_apart(flow, expr.args[0], scope, depth + 1)
        if name in TEXT_METHODS and flow.value(expr.func.value, scope).has(TEXT):
            return take_apart(flow, expr.func.value, scope, depth + 1)
    if name in {"str", "repr"} and len(expr.args) == 1:
        return take_apart(flow, expr.args[0], scope, depth + 1)
    if name == "dict" and expr.keywords:
        return _keywords(flow, expr, scope, depth)
    if name in _WRAPPING:
        return [
            part for one in expr.args[: 1 if name != "map" else 2] for part in take_apart(flow, one, scope, depth + 1)
        ]
    return _built_elsewhere(flow, expr, scope, depth)


def _keywords(flow: Flow, call: ast.Call, scope: Scope, depth: int) -> list[Part]:
    parts: list[Part] = []
    for one in call.args:
        parts.extend(take_apart(flow, one, scope, depth + 1))
    for key in call.keywords:
        parts.extend([*tagged(flow, key.arg, key.value, scope, depth), "\n"])
    return parts


def tagged(flow: Flow, tag: str | None, value: ast.expr, scope: Scope, depth: int = 0) -> list[Part]:
    """Parts of a value shown under a key; without a key, of a mapping that is spread (``**stats``)."""
    shown = take_apart(flow, value, scope, depth + 1)
    if tag is None:
        return [replace(one, mapping=True) if isinstance(one, Shown) and not one.tag else one for one in shown]
    return [
        replace(one, tag=f"{tag}/{one.tag}" if one.tag else tag) if isinstance(one, Shown) else one for one in shown
    ]


def _format(flow: Flow, expr: ast.Call, receiver: ast.expr, scope: Scope, depth: int) -> list[Part]:
    text = constant_string(flow, receiver, scope)
    if text is None:
        return [*take_apart(flow, receiver, scope, depth + 1),
                *(part for one in expr.args for part in take_apart(flow, one, scope, depth + 1)),
                *(part for key in expr.keywords for part in tagged(flow, key.arg, key.value, scope,
                    depth))]  # fmt: skip
    try:
        fields = list(brace_fields(text, expr))
    except ValueError:
        return [part for one in expr.args for part in take_apart(flow, one, scope, depth + 1)]
    return [part for one in fields for part in _field(flow, one, scope, depth)]


def _mapping(flow: Flow, expr: ast.Dict, scope: Scope, depth: int) -> list[Part]:
    parts: list[Part] = []
    for key, value in zip(expr.keys, expr.values, strict=True):
        if key is None:
            parts.extend(tagged(flow, None, value, scope, depth))
        else:
            tag, label = tag_of(flow, key, scope)
            shown = tagged(flow, tag, value, scope, depth)
            parts.extend(replace(one, label=label) if isinstance(one, Shown) and label else one for one in shown)
        parts.append("\n")
    return parts


def tag_of(flow: Flow, key: ast.expr, scope: Scope) -> tuple[str, ast.expr | None]:
    """Text of a tag, with ``{name}`` where a part of it is dynamic, and the first such part."""
    while isinstance(key, ast.IfExp):
        key = key.orelse if dotted_text(key.body) else key.body
    parts = take_apart(flow, key, scope, 1)
    dynamic = [one for one in parts if isinstance(one, Shown)]
    text = "".join(one if isinstance(one, str) else "{" + dotted_text(one.expr) + "}" for one in parts)
    named = [one.expr for one in dynamic if dotted_text(one.expr)]
    return text, named[0] if named else None


def _comprehended(flow: Flow, expr: ast.ListComp | ast.GeneratorExp, scope: Scope, depth: int) -> list[Part]:
    inner = scope.module.inner.get(expr, scope)
    source = expr.generators[0].iter
    literal = isinstance(source, (ast.List, ast.Tuple)) and isinstance(expr.generators[0].target, ast.Name)
    parts = take_apart(flow, expr.elt, inner, depth + 1)
    if literal and isinstance(source, (ast.List, ast.Tuple)):
        target = expr.generators[0].target
        assert isinstance(target, ast.Name)
        if any(isinstance(one, Shown) and isinstance(one.expr, ast.Name) and one.expr.id == target.id for one in parts):
            return [part for one in source.elts for part in [*take_apart(flow, one, scope, depth + 1), " "]]
    return parts


def _named(flow: Flow, expr: ast.Name | ast.Attribute, scope: Scope, depth: int) -> list[Part]:
    """Follow a name to the text, list or mapping it was given; a name within itself gives nothing."""
    key = (id(scope.unit), dotted_text(expr))
    if key in flow.followed:
        return []
    flow.followed.add(key)
    try:
        return _followed(flow, expr, scope, depth)
    finally:
        flow.followed.discard(key)


def _followed(flow: Flow, expr: ast.Name | ast.Attribute, scope: Scope, depth: int) -> list[Part]:
    bindings = bindings_of(flow, expr, scope)
    if not bindings:
        return [Shown(expr, scope, mapping=is_mapping(flow, expr, scope))]
    built = [one for one in bindings if builds(flow, one)]
    if len(bindings) == 1 and is_converted(bindings[0].value) and not bindings[0].path:
        inner = take_apart(flow, bindings[0].value, bindings[0].scope, depth + 1)  # type: ignore[arg-type]
        return [replace(one, known_as=dotted_text(expr)) if isinstance(one, Shown) else one for one in inner]
    if not built or any(one.kind in {"for", "with", "import", "opaque"} for one in bindings):
        return [Shown(expr, scope, mapping=is_mapping(flow, expr, scope))]
    if is_grown_mapping(bindings):
        return _grown_mapping(flow, expr, bindings, scope, depth)
    parts: list[Part] = [Shown(expr, scope)] if any(one.kind == "param" for one in bindings) else []
    for one in bindings:
        if one.kind != "param" and one.value is not None and not one.path:
            if one.value is expr or mentions(one.value, expr):
                continue
            parts.extend([*take_apart(flow, one.value, one.scope, depth + 1), "\n"])
    return parts or [Shown(expr, scope)]


def _grown_mapping(flow: Flow, expr: ast.expr, bindings: list[Binding], scope: Scope, depth: int) -> list[Part]:
    """Take a mapping apart that is built in several statements; one that takes unknown items is shown whole."""
    whole = any(is_open(one) for one in bindings)
    parts: list[Part] = [Shown(expr, scope, mapping=True)] if whole else []
    if whole:
        bindings = [one for one in bindings if one.kind == "key"]
    for one in bindings:
        if one.value is None:
            continue
        if one.kind == "key":
            shown = tagged(flow, one.key, one.value, one.scope, depth)
            known = f"{dotted_text(expr)}['{one.key}']" if whole else ""
            parts.extend(replace(part, known_as=known) if isinstance(part, Shown) and known else part for part in shown)
        else:
            parts.extend(take_apart(flow, one.value, one.scope, depth + 1))
        parts.append("\n")
    # One that starts empty and is given to functions is filled by them.
    return parts if any(isinstance(one, Shown) for one in parts) else [Shown(expr, scope, mapping=True)]


def _built_elsewhere(flow: Flow, expr: ast.Call, scope: Scope, depth: int) -> list[Part]:
    """Text that a function of the project makes: the values it shows, seen from here where they are arguments."""
    units = [ref for ref in flow.value(expr.func, scope).refs if isinstance(ref, Unit)]
    if len(units) != 1 or not units[0].returns or not flow.value(expr, scope).has(TEXT):
        return [Shown(expr, scope, mapping=makes_mapping(flow, expr, scope))]
    unit = units[0]
    inside = [part for value, inner in unit.returns for part in take_apart(flow, value, inner, depth + 2)]
    shown = [one for one in inside if isinstance(one, Shown)]
    own = [one for one in shown if not _is_parameter_of(flow, one, unit)]
    if len(own) == len(shown) and shown:
        return inside
    given = [one for name in unit.parameters for one in passed_for(expr, unit, name)]
    parts = [part for one in given for part in take_apart(flow, one, scope, depth + 1)]
    return parts or [Shown(expr, scope)]


def _is_parameter_of(flow: Flow, shown: Shown, unit: Unit) -> bool:
    return any(one.unit is unit for one in flow.value(shown.expr, shown.scope).params()) or shown.scope.unit is not unit
