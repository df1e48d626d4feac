"""Names, arguments and exact positions of expressions.

A position is checked: the text at a span must parse back to the same expression.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from deviate.core.experiment import Span
from deviate.source.files import mask
from deviate.source.index import Binding, ModuleIndex, Scope, Unit, bindings_of

_DATACLASS = re.compile(r"(?<![A-Za-z])dataclass|^attrs?([.]|$)")

#: Functions that import a module by its name.
IMPORTERS = frozenset({"import_module", "__import__"})


def is_namespace(node: ast.AST) -> bool:
    """Whether an expression is the dictionary of all names where it stands: ``globals()``, ``locals()``, ``vars()``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id in {"globals", "locals", "vars"} and not node.args


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


def authored_text(node: ast.expr, module: ModuleIndex) -> str:
    """Text of an expression as its author wrote it, on one line; in the normal form where it has no exact place."""
    span = span_of(node, module)
    segment = segment_at(span, module.lines) if span else None
    if segment is None:
        return text_of(node)
    rows = [row.strip() for row in segment.splitlines()]
    line = " ".join(rows)
    # A comment or a text of several lines cannot be put on one.
    return line if len(rows) == 1 or _parses_to(line, node) else text_of(node)


def _parses_to(segment: str, node: ast.expr) -> bool:
    for text in (segment, mask(segment)):
        try:
            return ast.dump(ast.parse(f"({text})", mode="eval").body) == ast.dump(node)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return False


def dotted_text(node: ast.expr) -> str:
    """``a.b.c`` as text; empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def leading_text(call: ast.Call) -> str:
    """Return the text that is written out as a call's first argument; empty: none is."""
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


#: Attributes of an environment; what their ``sample`` gives is the library's.
SPACES = {"action_space", "single_action_space", "observation_space"}


def last_part(node: ast.AST) -> str:
    """Return the last part of a name: ``c`` of ``a.b.c``; empty where it is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def called_name(call: ast.Call) -> str:
    """Last part of the name that is called."""
    return last_part(call.func)


def passed_for(call: ast.Call, unit: Unit, name: str) -> list[ast.expr]:
    """Return the arguments a call gives for one parameter of a function."""
    skipped = 1 if unit.is_method and not _through_class(call, unit) else 0
    positional = list(unit.parameters[skipped : unit.positional])
    if name == unit.kwarg:
        return [key.value for key in call.keywords if key.arg is None or key.arg not in unit.parameters]
    if name == unit.vararg:
        return [*call.args[len(positional) :]]
    by_name = [key.value for key in call.keywords if key.arg == name]
    if not by_name and name in positional:
        at = positional.index(name)
        if at < len(call.args) and not any(isinstance(arg, ast.Starred) for arg in call.args[: at + 1]):
            return [call.args[at]]
    return by_name


def _through_class(call: ast.Call, unit: Unit) -> bool:
    """``Base.method(self, x)`` passes the instance itself."""
    func = call.func
    return (
        isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
        and unit.owner is not None and func.value.id == unit.owner.name and bool(call.args)
        and isinstance(call.args[0], ast.Name) and call.args[0].id == "self"
    )  # fmt: skip


def annotations_of(unit: Unit) -> dict[str, ast.Name | ast.Attribute]:
    """Return the classes that the parameters of a function are declared to be: ``trainer: Trainer``."""
    args = getattr(unit.node, "args", None)
    if not isinstance(args, ast.arguments):
        return {}
    declared = ((arg.arg, arg.annotation) for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs))
    return {name: named for name, named in declared if isinstance(named, (ast.Name, ast.Attribute))}


def written_items(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the items that a mapping is written out with: ``{"loss": loss}``, ``dict(loss=loss)``."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.Call) and called_name(node) == "dict":
        yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg)


def unpacked(binding: Binding) -> ast.expr | None:
    """Find what one name gets of an assignment; None where that is not written out."""
    value = binding.value
    for position in binding.path:
        if not isinstance(value, (ast.Tuple, ast.List)) or not 0 <= position < len(value.elts):
            return None
        value = value.elts[position]
    return value


def is_dataclass(node: ast.AST) -> bool:
    """Whether a decorator makes parameters of the fields of a class: ``@dataclass``, ``@attrs.define``."""
    made_by = (each.func if isinstance(each, ast.Call) else each for each in getattr(node, "decorator_list", []))
    return any(_DATACLASS.search(dotted_text(each)) for each in made_by)


# What each expression stands in.


class Parents:
    """Parents of syntax nodes, for each file once."""

    def __init__(self) -> None:
        self._of: dict[ModuleIndex, dict[ast.AST, ast.AST]] = {}

    def of(self, node: ast.AST, module: ModuleIndex) -> ast.AST | None:
        """Return the node that a node of a file is part of."""
        if module not in self._of:
            nodes = ast.walk(module.tree)
            self._of[module] = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        return self._of[module].get(node)


# Which folder an expression names, as far as it is written out: texts, `os.path`, `pathlib` and ``__file__``.

#: Functions and methods that give the path they are given, in another form; some an absolute one.
_ABSOLUTE = {"abspath", "realpath", "resolve", "absolute"}
_SAME = _ABSOLUTE | {"normpath", "expanduser", "fspath", "str", "Path", "PurePath", "as_posix"}
#: Names are followed so far.
MAX_DEPTH = 8


def named_path(node: ast.expr, scope: Scope, file: Path, start: Path = Path(), depth: int = 0) -> str | None:
    """Return the path that an expression in `file` gives, which may be relative; None where that is unknown.

    `start` is the folder that the program is started in.
    """
    if depth > MAX_DEPTH:
        return None

    def inner(part: ast.expr) -> str | None:
        return named_path(part, scope, file, start, depth + 1)

    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id="__file__"):
            return str(file)
        case ast.Name():
            values = [each for each in bindings_of(node.id, scope) if each.kind == "assign" and not each.path]
            value = values[0].value if len(values) == 1 else None
            return named_path(value, values[0].scope, file, start, depth + 1) if value is not None else None
        case ast.Attribute(attr="pardir"):
            return os.pardir
        case ast.Attribute(attr="parent"):
            return _above(inner(node.value))
        case ast.Subscript(value=ast.Attribute(attr="parents") as parents, slice=ast.Constant(value=int(number))):
            return _above(inner(parents.value), number + 1)
        case ast.BinOp(op=ast.Div()):
            return _joined_parts([inner(node.left), inner(node.right)])
        case ast.BinOp(op=ast.Add()):
            left, right = inner(node.left), inner(node.right)
            return left + right if left is not None and right is not None else None
        case ast.Call():
            return _called(node, [inner(part) for part in _operands(node)], start)
    return None


def _operands(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call, after what a method of a path is called on."""
    name, func = called_name(call), call.func
    is_method = name in {"resolve", "absolute", "as_posix", "joinpath"} and isinstance(func, ast.Attribute)
    return [func.value, *call.args] if is_method and isinstance(func, ast.Attribute) else list(call.args)


def _called(call: ast.Call, operands: list[str | None], start: Path) -> str | None:
    name = called_name(call)
    if name in {"join", "joinpath"} or (name == "Path" and len(operands) > 1):
        return _joined_parts(operands)
    if name in {"getcwd", "cwd"} and not operands:
        return str(start)
    if name == "dirname" and operands:
        return os.path.dirname(operands[0]) if operands[0] is not None else None
    if name not in _SAME or not operands:
        return None
    is_relative = name in _ABSOLUTE and operands[0] is not None
    return os.path.normpath(os.path.join(start, operands[0] or "")) if is_relative else operands[0]


def _joined_parts(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return os.path.join(*known) if known and len(known) == len(parts) else None


def _above(path: str | None, levels: int = 1) -> str | None:
    for _ in range(levels):
        path = os.path.dirname(path) if path is not None else None
    return path


# Dotted names as import statements and computed imports give them.

#: A text that may name something in a module.
DOTTED_TEXT = re.compile(r"""["']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)["']""")


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Dotted names a statement may load as modules, with leading dots."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = "." * node.level + (node.module or "")
    return [base, *(base + alias.name if base.endswith(".") else f"{base}.{alias.name}" for alias in node.names
                    if alias.name != "*")]  # fmt: skip


def name_below(base: str, name: str) -> str:
    """Dotted name of something in a module, which may be given by dots alone."""
    return f"{base}.{name}" if base.strip(".") else base + name


def constant_start(node: ast.expr) -> str:
    """Leading constant text of an expression that builds a string."""
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        node = node.func.value
    if isinstance(node, ast.Call) and called_name(node) == "join" and node.args:
        parts = _joined(node) or []
        fixed = takewhile(bool, (constant_start(part) for part in parts))
        return "".join(f"{part}." for part in fixed)
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return re.split(r"[{%]", text)[0]


def constant_ends(node: ast.expr) -> str:
    """Path of the modules that a text stands for which is open in the middle, or in its last two parts or more.

    ``f"kinds.{name}.work"`` is one, and ``f"settings.{kind}.{name}"``. Empty for any other expression, and where the
    text begins with what is open.
    """
    text = _opened(node)
    is_open = re.fullmatch(r"[A-Za-z_][\w.]*\.\*(\.(\w+|\*))+", text)
    return text.replace(".", "/") if is_open else ""


def open_parts(node: ast.expr) -> int:
    """Count the parts of a dotted name that are all open: 2 of ``"%s.%s" % (kind, name)``; 0 of any other."""
    text = _opened(node)
    return text.count("*") if re.fullmatch(r"\*(\.\*)+", text) else 0


def _opened(node: ast.expr) -> str:
    """Return a text that is built, with ``*`` for each part that is not written out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        node = node.left
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        node = node.func.value
    return re.sub(r"\{[^{}]*\}|%s", "*", "".join(_parts_of(node)))


def _parts_of(node: ast.expr) -> list[str]:
    """Constant parts of a text, with ``*`` for each of the others."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_parts_of(node.left), *_parts_of(node.right)]
    if (joined := _joined(node)) is not None:
        parts = ["".join(_parts_of(part)) for part in joined]
        return [".".join(parts)]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in _parts_of(value)]
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return [node.value if is_text else "*"]  # type: ignore[attr-defined]


def _joined(node: ast.expr) -> list[ast.expr] | None:
    """Return the parts that ``".".join([package, name])`` puts together; None for any other expression."""
    is_join = isinstance(node, ast.Call) and called_name(node) == "join" and len(node.args) == 1
    parts = node.args[0] if is_join else None  # type: ignore[attr-defined]
    return parts.elts if isinstance(parts, (ast.List, ast.Tuple)) else None
