"""Parts of lists that are filled over time and shown later, whole."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from deviate.analyse.building import is_list
from deviate.analyse.index import Scope, lookup
from deviate.analyse.texts import Part, Shown, dotted_text, take_apart

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


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
    if not found or found[0].unit is not scope.unit or not any(is_list(one.value) for one in found[1]):
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
