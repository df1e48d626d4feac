"""Wrap an expression in a call: the changes to the characters of the text."""

from __future__ import annotations

import ast
import bisect
import re
from dataclasses import dataclass

from deviate.instrument.edits import Columns
from deviate.instrument.sites import Parents, Site
from deviate.instrument.source import Source

#: What may follow the expression of an f-string field that prints its own text (``{loss=:.3f}``).
DEBUG_FIELD = re.compile(r"[\s)]*=\s*")


@dataclass(frozen=True)
class Change:
    """`text` instead of the characters from `start` to `end`."""

    start: int
    end: int
    text: str
    #: Orders changes at one offset, smallest first.
    order: tuple[int, int, int] = (0, 0, 0)


def wrap(site: Site, index: int, source: Source, parents: Parents) -> list[Change] | str:
    """Return the changes that wrap `site`, or the slug of the reason why they cannot be made.

    `index` is that of the edit: the later of two wraps of one expression is the outer.
    """
    before = site.edit.before
    left_bracket, right_bracket = brackets(site, parents)
    if isinstance(site.node, ast.GeneratorExp) and shares_brackets(site.node, parents):
        # sum(x for x in y): the brackets at the span are the call's own
        start, end = site.start + 1, site.end - 1
    else:
        start, end = site.start, site.end
    if re.match(r"\w", source.text[start - 1 : start]) or source.text[start - 1 : start] in ("'", '"'):
        before = " " + before  # return(a + b).c
    length = end - start
    head = Change(start, start, before + left_bracket, (1, -length, -index))
    tail = Change(end, end, right_bracket + site.edit.after, (-1, length, index))
    fields = [rewrite_field(field, source) for field in site.fields]
    if None in fields:
        return "debug-field"
    return [head, tail, *(change for field in fields if field is not None for change in field)]


def brackets(site: Site, parents: Parents) -> tuple[str, str]:
    """Return the brackets an expression needs to be one argument of a call."""
    node = site.node
    if isinstance(node, ast.Tuple | ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Lambda):
        return "(", ")"
    if isinstance(node, ast.GeneratorExp) and shares_brackets(node, parents):
        return "(", ")"
    return "", ""


def shares_brackets(node: ast.GeneratorExp, parents: Parents) -> bool:
    """Tell whether the brackets of `node` are those of the call whose only argument it is."""
    call = parents[node]
    if not isinstance(call, ast.Call) or call.args != [node] or call.keywords:
        return False
    return (call.end_lineno, call.end_col_offset) == (node.end_lineno, node.end_col_offset)


def rewrite_field(field: ast.FormattedValue, source: Source) -> list[Change] | None:
    """Return the changes that preserve the text of ``{loss=}``, None where there are none."""
    value = field.value
    assert value.end_lineno is not None
    assert value.end_col_offset is not None
    start = source.offset(value.lineno, value.col_offset)
    end = source.offset(value.end_lineno, value.end_col_offset)
    match = DEBUG_FIELD.match(source.text, end)
    if match is None:
        return []
    brace = source.text.rfind("{", 0, start)
    if source.text[brace + 1 : start].strip("( \t"):
        return None
    literal = source.text[brace + 1 : match.end()]
    if "\n" in literal or "\r" in literal or "\\" in literal:
        return None
    literal = literal.replace("{", "{{").replace("}", "}}")
    sign = source.text.index("=", end)
    conversion = "!r" if source.text[match.end()] == "}" else ""
    return [Change(brace, brace, literal), Change(sign, match.end(), conversion)]


def apply_changes(text: str, changes: set[Change]) -> str:
    """Return `text` with `changes` made."""
    pieces = []
    position = 0
    for change in in_order(changes):
        pieces += [text[position : change.start], change.text]
        position = change.end
    return "".join([*pieces, text[position:]])


def in_order(changes: set[Change]) -> list[Change]:
    """Return `changes` from the first to the last."""
    return sorted(changes, key=lambda change: (change.start, change.order))


def changed_columns(source: Source, changes: set[Change]) -> Columns:
    """Return by how much `changes` move the columns of each line: tracebacks mark those of the author's."""
    columns: Columns = {}
    for change in in_order(changes):
        line = bisect.bisect_right(source.line_starts, change.start)
        before = source.text[source.line_starts[line - 1] : change.start]
        removed = source.text[change.start : change.end]
        moved = (len(before.encode()), len(change.text.encode()), len(removed.encode()))
        columns.setdefault(line, []).append(moved)
    return columns
