"""Split a format text into its words and the fields between them, each with the value that fills it."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

from deviate.analyse.source.syntax import is_namespace

_PERCENT = re.compile(r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+))?[hlL]?"
                      r"(?P<kind>[diouxXeEfFgGcrsa%])")  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A field of a format text and the expression that fills it."""

    value: ast.expr
    #: Format specification without its colon or percent sign.
    spec: str = ""
    #: Key of the mapping that the text is formatted with.
    key: str = ""
    #: Attributes that the text itself reads off the value: ``{loss.avg}``; one key is a part of the value instead.
    reads: str = ""
    #: Of a mapping or list that is spread, the whole is known and not the item.
    spread: str = ""


def percent_fields(text: str, right: ast.expr) -> Iterator[str | Field]:
    """Split ``text % right``."""
    values = list(right.elts) if isinstance(right, ast.Tuple) else [right]
    at = 0
    for field in _PERCENT.finditer(text):
        yield text[at : field.start()]
        at = field.end()
        if field["kind"] == "%":
            yield "%"
            continue
        values = values[(field["width"] == "*") + (field["precision"] == "*") :]
        value = _keyed(right, field["key"]) if field["key"] else (values.pop(0) if values else None)
        if value is not None:
            yield Field(value, field[0][1:] if field["kind"] not in "sr" else "", field["key"] or "")
    yield text[at:]


def _keyed(right: ast.expr, key: str) -> ast.expr | None:
    if is_namespace(right):
        return _name_at(key, right)
    items = zip(right.keys, right.values, strict=True) if isinstance(right, ast.Dict) else ()
    return next((value for name, value in items if isinstance(name, ast.Constant) and name.value == key), None)


def _name_at(name: str, node: ast.expr) -> ast.expr | None:
    """Return a name as it is read where an expression stands; its own end is not in the source."""
    return ast.Name(name, ast.Load(), lineno=node.lineno, col_offset=node.col_offset) if name.isidentifier() else None


def brace_fields(text: str, call: ast.Call) -> Iterator[str | Field]:
    """Split ``text.format(...)``; `ValueError` says that the text is no format."""
    keywords = {key.arg: key.value for key in call.keywords if key.arg}
    names = next((key.value for key in call.keywords if key.arg is None and is_namespace(key.value)), None)
    automatic = 0
    for before, name, spec, _ in list(string.Formatter().parse(text)):
        yield before
        if name is None:
            continue
        first, _, reads = re.sub(r"\[([^\]]*)\]", r".[\1]", name).partition(".")
        if not first:
            first, automatic = str(automatic), automatic + 1
        automatic += (spec or "").count("{}")
        is_position = first.isdigit() and int(first) < len(call.args)
        value = keywords.get(first) or (call.args[int(first)] if is_position else None)
        if value is None and names is not None:
            value = _name_at(first, names)
        if value is not None and not isinstance(value, ast.Starred):
            item = _item_read(value, reads)
            yield Field(item, spec or "", reads=reads if item is value else "")
        else:
            yield from _spread(call)


def _item_read(value: ast.expr, reads: str) -> ast.expr:
    """Return the item that a text reads under one key, ``{meters[loss]:.3f}``; the value where it reads another way."""
    key = re.fullmatch(r"\[([^\]]*)\]", reads)
    if key is None:
        return value
    at = ast.Constant(int(key[1]) if key[1].isdigit() else key[1])
    return ast.Subscript(value, at, ast.Load(), lineno=value.lineno, col_offset=value.col_offset)


def _spread(call: ast.Call) -> Iterator[Field]:
    """``format(*values)`` and ``format(**values)``."""
    yield from [Field(arg.value, spread="list") for arg in call.args if isinstance(arg, ast.Starred)][:1]
    yield from [Field(key.value, spread="mapping") for key in call.keywords if key.arg is None][:1]
