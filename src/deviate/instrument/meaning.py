"""Check that an instrumented source means what the source meant."""

from __future__ import annotations

import ast
import warnings

from deviate.analyse.source.stack import with_deep_stack
from deviate.instrument.preamble import PASS_THROUGH
from deviate.instrument.sites import SIDE

#: The argument that is the wrapped expression; of other wraps it is the second.
PLACES = {"__dv_loop__": 0, "__dv_while__": 0, SIDE: 2}


class RemoveWraps(ast.NodeTransformer):
    """Remove the wraps and the preamble from a tree."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace the call by the expression that it wraps."""
        self.generic_visit(node)
        name = wrap_name(node.func)
        if name not in PASS_THROUGH:
            return node
        return node.args[PLACES.get(name, 1)]

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop a statement of the preamble."""
        if lookup_name(node.value) is not None:
            return None
        return self.generic_visit(node)

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


def wrap_name(function: ast.expr) -> str | None:
    """Return the name of the function that a call calls, directly or by a lookup; None for any other callee."""
    return function.id if isinstance(function, ast.Name) else lookup_name(function)


def lookup_name(node: ast.expr) -> str | None:
    """Return the name that ``builtins.__dict__.setdefault(name, ...)`` looks up, None for any other expression."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(attr="__dict__"), attr="setdefault"),
            args=[ast.Constant(value=str(name)), ast.Lambda()],
        ) if name in PASS_THROUGH:
            return name
    return None


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
    """Tell whether `after` is `before` with wraps and a preamble, on the same number of lines.

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
