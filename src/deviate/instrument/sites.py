"""Find the expression at a span, and check that the text at the span is that expression."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from deviate.experiment import Span
from deviate.frameworks import FRAMEWORKS
from deviate.instrument.edits import Edit
from deviate.instrument.source import Source

Parents = dict[ast.AST, ast.AST]

LOOPS = ("__dv_loop__", "__dv_while__")
DRAW = "__dv_draw__"
SIDE = "__dv_side__"

#: Decorators whose compilers read the function's source or bytecode. A call to an unknown function breaks them, or
#: makes them split the code elsewhere.
COMPILER = re.compile(rf"\b({'|'.join(pattern for each in FRAMEWORKS for pattern in each.compilers)})\b")

#: Decorators that trace the function by running it: they see only the value of a draw.
TRACER = re.compile("|".join(pattern for framework in FRAMEWORKS for pattern in framework.tracers))


@dataclass(frozen=True)
class Site:
    """The expression an edit wraps."""

    edit: Edit
    node: ast.expr
    start: int
    end: int
    #: Fields of f-strings around the node, innermost first.
    fields: tuple[ast.FormattedValue, ...]


@dataclass(frozen=True)
class Tree:
    """A parsed module, its expressions by span and each node's parent."""

    module: ast.Module
    parents: Parents = field(default_factory=dict)
    expressions: dict[Span, list[ast.expr]] = field(default_factory=dict)


def index_tree(module: ast.Module) -> Tree:
    """Index `module`'s nodes."""
    tree = Tree(module)
    for parent in ast.walk(module):
        for child in ast.iter_child_nodes(parent):
            tree.parents[child] = parent
        # Before Python 3.12 a field of an f-string has the span of the whole string.
        if isinstance(parent, ast.expr) and not isinstance(parent, ast.FormattedValue | ast.Slice):
            tree.expressions.setdefault(span_of(parent), []).append(parent)
    return tree


def span_of(node: ast.expr | ast.stmt) -> Span:
    """Return the span of `node`."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Span(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def locate(edit: Edit, source: Source, tree: Tree) -> Site | str:
    """Return the site of `edit`, or the slug of the reason why it has none."""
    nodes = tree.expressions.get(edit.span, [])
    if not nodes:
        return "no-expression"
    values = [node for node in nodes if is_value(node, tree.parents)]
    if not values:
        return "not-a-value"
    start, end = source.range(edit.span)
    node = next((node for node in values if spells(source.text[start:end], node)), None)
    if node is None:
        return "position-inexact"
    if edit.function in LOOPS and not is_header(edit.function, node, tree.parents):
        return "not-a-loop-header"
    enclosing = ancestors(node, tree.parents)
    if edit.function == DRAW and not is_callee(node, tree.parents):
        return "not-a-callee"
    if any(is_compiled(parent, may_trace=edit.function in (DRAW, SIDE)) for parent in enclosing):
        return "compiled"
    fields = tuple(parent for parent in enclosing if isinstance(parent, ast.FormattedValue))
    return Site(edit, node, start, end, fields)


def is_value(node: ast.expr, parents: Parents) -> bool:
    """Tell whether `node` is evaluated where it stands and may be replaced by a call."""
    if isinstance(node, ast.Starred) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    parent = parents[node]
    if isinstance(parent, ast.Expr) and isinstance(node, ast.Constant):
        return False  # a docstring
    if isinstance(parent, ast.AnnAssign | ast.arg) and parent.annotation is node:
        return False
    if isinstance(parent, ast.JoinedStr) or (isinstance(parent, ast.FormattedValue) and parent.value is not node):
        return False  # literal text of an f-string, or a format specification
    if isinstance(parent, ast.NamedExpr) and parent.target is node:
        return False
    return not isinstance(parent, ast.pattern)


def spells(text: str, node: ast.expr) -> bool:
    """Tell whether `text` parses to an expression equal to `node`."""
    try:
        parsed = ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return ast.dump(parsed) == ast.dump(node)


def is_header(function: str, node: ast.expr, parents: Parents) -> bool:
    """Tell whether `node` is the iterable or the condition in the header of a loop."""
    parent = parents[node]
    if function == "__dv_while__":
        return isinstance(parent, ast.While) and parent.test is node
    return isinstance(parent, ast.For) and parent.iter is node


def ancestors(node: ast.AST, parents: Parents) -> list[ast.AST]:
    """Return the nodes that enclose `node`, innermost first."""
    enclosing = []
    while (parent := parents.get(node)) is not None:
        enclosing.append(parent)
        node = parent
    return enclosing


def is_callee(node: ast.expr, parents: Parents) -> bool:
    """Tell whether `node` is the callee of a call.

    The callee of a decorator does not count: Python before 3.9 allows only a dotted name there.
    """
    call = parents[node]
    if not isinstance(call, ast.Call) or call.func is not node:
        return False
    return call not in getattr(parents[call], "decorator_list", ())


def is_compiled(node: ast.AST, may_trace: bool = False) -> bool:
    """Tell whether `node` is a function that a decorator compiles; with `may_trace`, those that trace do not count."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any(COMPILER.search(decorator) and not (may_trace and TRACER.search(decorator)) for decorator in decorators)
