"""Names, arguments and exact positions of expressions.

A position is checked: the text at a span must parse back to the same expression.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from deviate.analyse.source.files import mask
from deviate.analyse.source.index import Binding, ModuleIndex, Unit
from deviate.experiment import Span

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
