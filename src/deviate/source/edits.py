"""Edits of a source as data: where an expression stands, how it is wrapped, and what is left as it is."""

from __future__ import annotations

import ast
import bisect
import io
import re
import tokenize
from dataclasses import dataclass, field

import msgspec

from deviate.core.experiment import Span
from deviate.core.frameworks import FRAMEWORKS


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """A call around the expression at `span`: the text `before` and the text `after` it."""

    span: Span
    #: ``__dv__(3, ``
    before: str
    #: ``)``
    after: str = ")"

    @property
    def function(self) -> str:
        """Name of the function that receives the expression."""
        return self.before.partition("(")[0]


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """An edit that was not made, and why."""

    edit: Edit
    #: One of the slugs of `SKIP_REASONS`.
    reason: str
    message: str


#: Why an edit was not made.
SKIP_REASONS = {
    "unreadable": "the file cannot be read",
    "unparsable": "the file does not parse",
    "no-expression": "no expression stands at the span",
    "not-a-value": "the expression at the span is assigned to, or is no value of its own",
    "position-inexact": "the text at the span is not the expression that the parser places there",
    "not-a-loop-header": "the span is not the iterable of a for loop or the condition of a while loop",
    "not-a-callee": "the span is not what a call calls",
    "compiled": "the code around it is compiled by a decorator, which would meet the wrap",
    "debug-field": "the f-string field shows its own text and cannot be rewritten on its line",
    "changes-meaning": "the file would not mean the same with the wrap in it",
}


#: For each line that was edited, its changes from left to right: the column in the author's line, and how many columns
#: came and how many went there, in bytes of UTF-8.
Columns = dict[int, list[tuple[int, int, int]]]


class FileCode(msgspec.Struct, frozen=True, kw_only=True):
    """A file as its author wrote it, and the text that Python is given where it runs the file."""

    source: bytes
    #: None: the file runs as it is.
    given: bytes | None = None
    columns: Columns = {}
    #: Modules that it imports before it does anything else.
    imports: list[str] = []


class Instrumented(msgspec.Struct, frozen=True, kw_only=True):
    """An instrumented source."""

    text: str
    #: How the file's bytes spell `text`.
    encoding: str
    done: list[Edit]
    skipped: list[Skipped]
    #: The file as it was.
    source: bytes = b""
    columns: Columns = {}
    #: Modules that it imports before it does anything else.
    imports: list[str] = []

    @property
    def data(self) -> bytes:
        """The bytes of the text."""
        return self.text.encode(self.encoding)

    @property
    def code(self) -> FileCode:
        """The file, and what Python is given in its place."""
        given = self.data if self.done else None
        return FileCode(source=self.source, given=given, columns=self.columns, imports=self.imports)


def skip(edit: Edit, reason: str, detail: str = "") -> Skipped:
    """Return `edit` as skipped for `reason`."""
    message = SKIP_REASONS[reason] + (f" ({detail})" if detail else "")
    return Skipped(edit=edit, reason=reason, message=message)


# A source text, and offsets into it from the lines and columns of `ast`.

#: What the tokenizer takes for the end of a line; a form feed is none.
NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Source:
    """Decoded text with its newlines as they are, and the offsets at which its lines start."""

    text: str
    encoding: str
    line_starts: tuple[int, ...]

    def offset(self, line: int, column: int) -> int:
        """Return the offset into `text` of a line (from 1) and a column in UTF-8 bytes."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        content = self.text[start:end]
        if content.isascii():
            return start + column
        return start + len(content.encode()[:column].decode())

    def range(self, span: Span) -> tuple[int, int]:
        """Return the offsets into `text` of the start and the end of `span`."""
        return self.offset(span.line, span.column), self.offset(span.end_line, span.end_column)

    def line(self, number: int) -> str:
        """Return line `number` (from 1) without its newline."""
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[self.line_starts[number - 1] : end].rstrip("\r\n")


def read_source(source: bytes | str) -> Source:
    """Decode `source` as the interpreter does; newlines stay as they are.

    Raises SyntaxError or UnicodeDecodeError if the bytes are not in the encoding that they declare.
    """
    encoding = "utf-8"
    if isinstance(source, bytes):
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        source = source.decode(encoding)
    starts = (0, *(match.end() for match in NEWLINE.finditer(source)))
    return Source(text=source, encoding=encoding, line_starts=starts)


# Find the expression at a span, and check that the text at the span is that expression.

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


# Wrap an expression in a call: the changes to the characters of the text.

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
