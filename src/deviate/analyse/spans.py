"""Positions of expressions, checked: the text at a span must parse back to the same expression."""

from __future__ import annotations

import ast

from deviate.analyse.index import ModuleIndex
from deviate.analyse.source import mask
from deviate.experiment import Span


def text_of(node: ast.expr) -> str:
    """Source text of an expression in one normal form; empty when it is nested too deeply."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return ""


def span_of(node: ast.expr, module: ModuleIndex) -> Span | None:
    """Return where an expression stands, None when the position `ast` gives is not exact."""
    if getattr(node, "lineno", None) is None or node.end_lineno is None or node.end_col_offset is None:
        return None
    span = Span(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    segment = segment_at(span, module.lines)
    return span if segment is not None and _parses_to(segment, node) else None


def segment_at(span: Span, lines: list[str]) -> str | None:
    """Cut the text of a span out of a file's lines."""
    if span.end_line > len(lines):
        return None
    rows = [lines[at - 1].encode("utf-8") for at in range(span.line, span.end_line + 1)]
    rows[-1] = rows[-1][: span.end_column]
    rows[0] = rows[0][span.column :]
    try:
        return b"\n".join(rows).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _parses_to(segment: str, node: ast.expr) -> bool:
    for text in (segment, mask(segment)):
        try:
            found = ast.parse(f"({text})", mode="eval").body
            return ast.dump(found) == ast.dump(node)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return False
