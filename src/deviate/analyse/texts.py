"""Take a reported text apart: the constant words and the values shown between them."""

from __future__ import annotations

import ast
import re
import string
from dataclasses import replace
from typing import TYPE_CHECKING

from deviate.analyse.abstract import METRIC_ORIGINS, TEXT, Instance
from deviate.analyse.index import Binding, ClassScope, Scope, Unit, lookup
from deviate.analyse.program import called_name, passed_for
from deviate.analyse.shown import Part as Part
from deviate.analyse.shown import Shown as Shown
from deviate.analyse.shown import constant_text, with_spec
from deviate.analyse.shown import dotted_text as dotted_text
from deviate.analyse.shown import surround as surround

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Texts built from texts are followed this far.
MAX_DEPTH = 6
#: Sums of constant texts are followed this far, repeated ones to this length.
MAX_TEXT_DEPTH = 60
MAX_TEXT = 10_000
_PERCENT = re.compile(r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+))?[hlL]?"
                      r"(?P<kind>[diouxXeEfFgGcrsa%])")  # fmt: skip
_TEXT_METHODS = {"strip", "rstrip", "lstrip", "ljust", "rjust", "center", "upper", "lower", "title", "replace", "zfill",
                 "capitalize", "encode"}  # fmt: skip


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
        return [part for one in expr.elts for part in [*take_apart(flow, one, scope, depth + 1), "\n"]]
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
    lists = (ast.List, ast.ListComp)
    if isinstance(expr.op, ast.Add) and (isinstance(expr.left, lists) or isinstance(expr.right, lists)):
        return [*take_apart(flow, expr.left, scope, depth + 1), " ", *take_apart(flow, expr.right, scope, depth + 1)]
    if isinstance(expr.op, ast.Add) and is_textual(flow, expr, scope):
        return [*take_apart(flow, expr.left, scope, depth if depth < 3 else depth + 1),
                *take_apart(flow, expr.right, scope, depth + 1)]  # fmt: skip
    if isinstance(expr.op, ast.Mult) and isinstance(expr.left, ast.Constant) and isinstance(expr.left.value, str):
        return []
    return [Shown(expr, scope)]


def is_textual(flow: Flow, expr: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether an expression makes text, by its form: text added to text, text formatted."""
    if depth > 40:
        return False
    if isinstance(expr, ast.BinOp):
        if isinstance(expr.op, ast.Mod):
            return is_textual(flow, expr.left, scope, depth + 1)
        if isinstance(expr.op, ast.Add):
            return is_textual(flow, expr.left, scope, depth + 1) or is_textual(flow, expr.right, scope, depth + 1)
        return isinstance(expr.op, ast.Mult) and is_textual(flow, expr.left, scope, depth + 1)
    if isinstance(expr, ast.Constant):
        return isinstance(expr.value, str)
    if isinstance(expr, ast.Call):
        return called_name(expr) in {"str", "format", "join", "dumps", "repr"} or called_name(expr) in _TEXT_METHODS
    if isinstance(expr, ast.Name):
        value = flow.value(expr, scope)
        return value.has(TEXT) and not value.has(*METRIC_ORIGINS) and value.element is None
    return isinstance(expr, ast.JoinedStr)


def constant_string(flow: Flow, expr: ast.expr, scope: Scope, depth: int = 0) -> str | None:
    """Text of a constant string, of constants added or repeated, or of a name bound once to such."""
    if isinstance(expr, ast.Constant):
        return expr.value if isinstance(expr.value, str) else None
    if depth > MAX_TEXT_DEPTH:
        return None
    if isinstance(expr, ast.BinOp):
        return _computed_string(flow, expr, scope, depth)
    if isinstance(expr, ast.Name):
        found = lookup(expr.id, scope)
        if found and len(found[1]) == 1 and found[1][0].kind == "assign" and not found[1][0].path:
            binding = found[1][0]
            if isinstance(binding.value, (ast.Constant, ast.BinOp)):
                return constant_string(flow, binding.value, binding.scope, depth + 1)
    return None


def _computed_string(flow: Flow, expr: ast.BinOp, scope: Scope, depth: int) -> str | None:
    left = constant_string(flow, expr.left, scope, depth + 1)
    if left is None:
        return None
    if isinstance(expr.op, ast.Add):
        right = constant_string(flow, expr.right, scope, depth + 1)
        return left + right if right is not None else None
    times = expr.right.value if isinstance(expr.op, ast.Mult) and isinstance(expr.right, ast.Constant) else None
    return left * times if isinstance(times, int) and 0 <= times * len(left) <= MAX_TEXT else None


def _percent(flow: Flow, text: str, right: ast.expr, scope: Scope, depth: int) -> list[Part]:
    values = list(right.elts) if isinstance(right, ast.Tuple) else [right]
    parts: list[Part] = []
    at = 0
    for field in _PERCENT.finditer(text):
        parts.append(text[at : field.start()])
        at = field.end()
        if field["kind"] == "%":
            parts.append("%")
            continue
        values = values[(field["width"] == "*") + (field["precision"] == "*") :]
        value = _keyed(right, field["key"]) if field["key"] else (values.pop(0) if values else None)
        if value is not None:
            shown = take_apart(flow, value, scope, depth + 1)
            if field["key"]:
                shown = [replace(one, tag=one.tag or field["key"]) if isinstance(one, Shown) else one for one in shown]
            parts.extend(with_spec(shown, field[0][1:] if field["kind"] not in "sr" else ""))
    return [*parts, text[at:]]


def _keyed(right: ast.expr, key: str) -> ast.expr | None:
    if isinstance(right, ast.Dict):
        for one, value in zip(right.keys, right.values, strict=True):
            if isinstance(one, ast.Constant) and one.value == key:
                return value
    return None


def _call(flow: Flow, expr: ast.Call, scope: Scope, depth: int) -> list[Part]:
    name = called_name(expr)
    if isinstance(expr.func, ast.Attribute):
        if name == "format":
            return _format(flow, expr, expr.func.value, scope, depth)
        if name == "join" and len(expr.args) == 1 and not flow.value(expr.func.value, scope).refs:
            return take_apart(flow, expr.args[0], scope, depth + 1)
        if name in _TEXT_METHODS and flow.value(expr.func.value, scope).has(TEXT):
            return take_apart(flow, expr.func.value, scope, depth + 1)
    if name in {"str", "repr"} and len(expr.args) == 1:
        return take_apart(flow, expr.args[0], scope, depth + 1)
    if name == "dict" and expr.keywords:
        return _keywords(flow, expr, scope, depth)
    if name in {
        "dumps",
        "pformat",
        "list",
        "tuple",
        "colored",
        "colorstr",
        "AsciiTable",
        "DataFrame",
        "tabulate",
        "map",
    }:
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
    named = {key.arg: key.value for key in expr.keywords if key.arg}
    parts: list[Part] = []
    automatic = 0
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError:
        return [part for one in expr.args for part in take_apart(flow, one, scope, depth + 1)]
    for before, field, spec, _ in fields:
        parts.append(before)
        if field is None:
            continue
        first, _, reads = re.sub(r"\[([^\]]*)\]", r".[\1]", field).partition(".")
        if not first:
            first, automatic = str(automatic), automatic + 1
        value = named.get(first) or (expr.args[int(first)] if first.isdigit() and int(first) < len(expr.args) else None)
        automatic += (spec or "").count("{}")
        if value is not None and not isinstance(value, ast.Starred):
            shown: list[Part] = [Shown(value, scope, reads=reads)]
            if not reads:
                shown = take_apart(flow, value, scope, depth + 1)
            parts.extend(with_spec(shown, spec or ""))
        else:
            starred = [one for one in expr.args if isinstance(one, ast.Starred)]
            spread = [key.value for key in expr.keywords if key.arg is None]
            parts.extend(Shown(one.value, scope) for one in starred[:1])
            parts.extend(Shown(one, scope, mapping=True) for one in spread[:1])
    return parts


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
    bindings = _bindings_of(flow, expr, scope)
    if not bindings:
        return [Shown(expr, scope, mapping=is_used_as_mapping(expr, scope))]
    built = [one for one in bindings if _builds(flow, one)]
    if len(bindings) == 1 and _is_converted(bindings[0].value) and not bindings[0].path:
        inner = take_apart(flow, bindings[0].value, bindings[0].scope, depth + 1)  # type: ignore[arg-type]
        return [replace(one, known_as=dotted_text(expr)) if isinstance(one, Shown) else one for one in inner]
    if not built or any(one.kind in {"for", "with", "import", "opaque"} for one in bindings):
        return [Shown(expr, scope, mapping=is_used_as_mapping(expr, scope))]
    if _is_grown_mapping(bindings):
        return _grown_mapping(flow, expr, bindings, scope, depth)
    parts: list[Part] = [Shown(expr, scope)] if any(one.kind == "param" for one in bindings) else []
    for one in bindings:
        if one.kind != "param" and one.value is not None and not one.path:
            if one.value is expr or _mentions(one.value, expr):
                continue
            parts.extend([*take_apart(flow, one.value, one.scope, depth + 1), "\n"])
    return parts or [Shown(expr, scope)]


def is_used_as_mapping(expr: ast.expr, scope: Scope) -> bool:
    """Whether the function reads items of a name by constant keys."""
    unit = scope.unit
    if unit.keyed_names is None:
        unit.keyed_names = {
            dotted_text(node.value)
            for node in ast.walk(unit.node)
            if isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        } - {""}
    return dotted_text(expr) in unit.keyed_names


def _is_converted(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and called_name(value) == "str" and len(value.args) == 1


def _mentions(value: ast.expr, expr: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and dotted_text(value.func.value) != ""
        and (dotted_text(value.func.value) == dotted_text(expr) and value.func.attr not in {"format", "join"})
    )


def _bindings_of(flow: Flow, expr: ast.Name | ast.Attribute, scope: Scope) -> list[Binding]:
    if isinstance(expr, ast.Name):
        found = lookup(expr.id, scope)
        return found[1] if found and found[0].unit is scope.unit else []
    for ref in flow.value(expr.value, scope).refs:
        if isinstance(ref, Instance) and isinstance(ref.cls, ClassScope):
            return [one for one in ref.cls.attributes.get(expr.attr, []) if one.scope.unit is scope.unit]
    return []


def _builds(flow: Flow, binding: Binding) -> bool:
    """Whether a binding makes text, a list or a mapping that can be taken apart."""
    value = binding.value
    if value is None or binding.path:
        return False
    if binding.kind == "key" or isinstance(value, (ast.JoinedStr, ast.Dict)):
        return True
    if isinstance(value, (ast.List, ast.Tuple)):
        return bool(value.elts)
    if isinstance(value, ast.Call):
        name = called_name(value)
        if name in {"format", "join", "dumps", "str"}:
            return flow.value(value, binding.scope).has(TEXT)
        return (name == "dict" and bool(value.keywords)) or name == "format"
    if isinstance(value, ast.BinOp):
        return is_textual(flow, value, binding.scope)
    return False


def _is_grown_mapping(bindings: list[Binding]) -> bool:
    return any(isinstance(one.value, ast.Dict) and one.kind == "assign" for one in bindings) or any(
        one.kind == "key" for one in bindings
    )


def _grown_mapping(flow: Flow, expr: ast.expr, bindings: list[Binding], scope: Scope, depth: int) -> list[Part]:
    """Take a mapping apart that is built in several statements; one that takes unknown items is shown whole."""
    whole = any(_is_open(one) for one in bindings)
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
    return parts


def _is_open(binding: Binding) -> bool:
    value = binding.value
    if binding.kind == "element":
        return True
    if binding.kind == "key":
        return False
    if isinstance(value, ast.Dict):
        return any(key is None or not isinstance(key, ast.Constant) for key in value.keys)
    return not (isinstance(value, ast.Call) and called_name(value) in {"dict", "OrderedDict"} and not value.args)


def _built_elsewhere(flow: Flow, expr: ast.Call, scope: Scope, depth: int) -> list[Part]:
    """Text that a function of the project makes: the values it shows, seen from here where they are arguments."""
    units = [ref for ref in flow.value(expr.func, scope).refs if isinstance(ref, Unit)]
    if len(units) != 1 or not units[0].returns or not flow.value(expr, scope).has(TEXT):
        return [Shown(expr, scope)]
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


def elements_of(flow: Flow, expr: ast.expr, scope: Scope) -> list[Part]:
    """Parts of an argument; a list that was built elsewhere in the function gives its elements."""
    parts = take_apart(flow, expr, scope)
    if (
        len(parts) != 1
        or not isinstance(parts[0], Shown)
        or parts[0].expr is not expr
        or not isinstance(expr, ast.Name)
    ):
        return parts
    found = lookup(expr.id, scope)
    if not found or found[0].unit is not scope.unit or not any(_is_list(one.value) for one in found[1]):
        return parts
    kept = [one for one in found[1] if one.value is not None and one.kind in {"assign", "aug", "element", "merge"}]
    inner = [
        part for one in kept if one.value is not None for part in [*take_apart(flow, one.value, one.scope, 2), "\n"]
    ]
    return inner if any(isinstance(one, Shown) for one in inner) else parts


def kept_values(flow: Flow, expr: ast.expr, scope: Scope, tag: str | None = None) -> list[Part]:
    """Parts of a list that was filled over time: what was put into it, named by the list unless by a key."""
    name = tag or dotted_text(expr).rpartition(".")[2]
    parts = elements_of(flow, expr, scope)
    return [replace(one, tag=name) if isinstance(one, Shown) and not one.tag and name else one for one in parts]


def _is_list(value: ast.expr | None) -> bool:
    return isinstance(value, ast.List) or (isinstance(value, ast.Call) and called_name(value) in {"list", "deque"})
