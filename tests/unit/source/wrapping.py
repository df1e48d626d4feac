"""Build edits for expressions of a source."""

from __future__ import annotations

import ast

from deviate.source.edits import Edit, Instrumented, span_of
from deviate.source.overlay import instrument_source


def parse(source: bytes | str) -> ast.Module:
    return ast.parse(source.replace("\ufeff", "") if isinstance(source, str) else source)


def expressions(source: bytes | str) -> list[ast.expr]:
    """Return every expression that has a span, in the order of a walk."""
    nodes = (node for node in ast.walk(parse(source)) if isinstance(node, ast.expr))
    return [node for node in nodes if isinstance(getattr(node, "ctx", ast.Load()), ast.Load)]


def edits_at(source: bytes | str, *texts: str, function: str = "__dv__") -> list[Edit]:
    """Return a wrap for each expression that unparses to one of `texts`."""
    nodes = [node for text in texts for node in expressions(source) if ast.unparse(node) == text]
    before = (lambda n: f"{function}({n}, ") if function == "__dv__" else (lambda n: f"{function}(")
    return [Edit(span=span_of(node), before=before(index)) for index, node in enumerate(nodes)]


def instrumented(source: bytes | str, *texts: str, function: str = "__dv__") -> Instrumented:
    return instrument_source(source, edits_at(source, *texts, function=function))


def wrapped(source: str, *texts: str, function: str = "__dv__") -> str:
    """Return the instrumented source; all edits must have been made."""
    result = instrumented(source, *texts, function=function)
    assert not result.skipped, result.skipped
    assert result.done
    return result.text
