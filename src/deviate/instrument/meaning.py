"""Check that an instrumented source means what the source meant."""

from __future__ import annotations

import ast
import warnings

from deviate.analyse.source.stack import with_deep_stack
from deviate.instrument.sites import DRAW, LOOPS, SIDE

#: The argument that is the wrapped expression, of each wrap.
PLACES = {"__dv__": 1, "__dv_map__": 1, "__dv_beside__": 1, DRAW: 1, SIDE: 2, **dict.fromkeys(LOOPS, 0)}


class RemoveWraps(ast.NodeTransformer):
    """Remove the wraps from a tree."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace the call by the expression that it wraps."""
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in PLACES:
            return node
        return node.args[PLACES[node.func.id]]

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Join neighbouring literals, which a rewritten field may leave in two."""
        self.generic_visit(node)
        values: list[ast.expr] = []
        for value in node.values:
            last = values[-1] if values else None
            if isinstance(value, ast.Constant) and isinstance(last, ast.Constant):
                values[-1] = ast.Constant(value=str(last.value) + str(value.value))
            else:
                values.append(value)
        node.values = values
        return node


def parse(text: str) -> ast.Module:
    """Parse `text` without warnings about its escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text.removeprefix("\ufeff"))


def compiles(text: str) -> bool:
    """Tell whether the interpreter compiles `text` as a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text.removeprefix("\ufeff"), "<instrumented>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def means_the_same(before: str, after: str) -> bool:
    """Tell whether `after` is `before` with wraps, on the same number of lines.

    Expressions nested so deep that they can't be compared either way count as changed.
    """
    try:
        return _is_same(before, after)
    except RecursionError:
        pass
    try:
        return with_deep_stack(lambda: _is_same(before, after))
    except RecursionError:
        return False


def _is_same(before: str, after: str) -> bool:
    if not compiles(after):
        return False
    original, stripped = RemoveWraps().visit(parse(before)), RemoveWraps().visit(parse(after))
    return ast.dump(original) == ast.dump(stripped) and len(before.splitlines()) == len(after.splitlines())
