"""Make an instrumented file work where the runtime is absent.

The file puts functions that pass values through into `builtins`, unless the runtime has put its own there. That is
one expression on an existing line; it binds no name in the module, as programs look at their ``globals()``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from deviate.instrument.sites import Site
from deviate.instrument.source import Source

RECORDS = "lambda i, v, *r: v"
COUNTS = "lambda v: v"
DRAWS = "lambda i, f: f"
SIDES = "lambda i, s, v: v"

#: Source of each function where the runtime is absent.
PASS_THROUGH = {
    "__dv__": RECORDS,
    "__dv_map__": RECORDS,
    "__dv_beside__": RECORDS,
    "__dv_loop__": COUNTS,
    "__dv_while__": COUNTS,
    "__dv_draw__": DRAWS,
    "__dv_side__": SIDES,
}

#: A line that the interpreter reads before it parses (PEP 263, and the kernel's ``#!``).
SPECIAL_COMMENT = re.compile(r"^#!|^[ \t\f]*#.*?coding[:=]")
BLANK_OR_COMMENT = re.compile(r"[ \t\f]*(#.*)?")

COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)


@dataclass(frozen=True)
class Slot:
    """The offset at which the preamble is inserted, with the text that joins it to the line."""

    offset: int
    before: str = ""
    after: str = ""


def lookup(function: str, quote: str = "'") -> str:
    """Return an expression that gives `function`, whether or not the runtime is present."""
    name, builtins = f"{quote}{function}{quote}", f"{quote}builtins{quote}"
    return f"__import__({builtins}).__dict__.setdefault({name}, {PASS_THROUGH[function]})"


def write_preamble(functions: Iterable[str]) -> str:
    """Return statements, on one line, that define `functions`."""
    return "; ".join(lookup(function) for function in sorted(set(functions)))


def find_slot(module: ast.Module, source: Source, sites: Iterable[Site]) -> Slot | None:
    """Return a slot that is executed before any of `sites`, None where there is none."""
    body = module.body
    leading = [statement for index, statement in enumerate(body) if is_leading(statement, index, body)]
    if leading:
        return Slot(end_of(leading[-1], source), before="; ")
    starts = [site.start for site in sites]
    previous_line = special_lines(source)
    for statement in body:
        slot = slot_at(statement, previous_line, source, starts)
        if slot is not None:
            return slot
        if not is_passed_over(statement, source, starts):
            return None
        assert statement.end_lineno is not None
        previous_line = statement.end_lineno
    return None


def is_leading(statement: ast.stmt, index: int, body: list[ast.stmt]) -> bool:
    """Tell whether `statement` is the docstring or a ``from __future__``, which must stay first."""
    if index == 0 and ast.get_docstring(ast.Module(body=body, type_ignores=[]), clean=False) is not None:
        return True
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def special_lines(source: Source) -> int:
    """Return the last of the first two lines that is special, 0 where none is."""
    lines = min(2, len(source.line_starts))
    return max((n for n in range(1, lines + 1) if SPECIAL_COMMENT.match(source.line(n))), default=0)


def slot_at(statement: ast.stmt, previous_line: int, source: Source, starts: list[int]) -> Slot | None:
    """Return a slot right before `statement`, or at the start of its body where that is always executed."""
    if not isinstance(statement, COMPOUND):
        return Slot(start_of(statement, source), after="; ")
    for number in range(previous_line + 1, first_line(statement)):
        if BLANK_OR_COMMENT.fullmatch(source.line(number)):
            comment = bool(source.line(number).strip())
            return Slot(source.line_starts[number - 1], after="  " if comment else "")
    if isinstance(statement, ast.Try | ast.ClassDef):
        inner = statement.body[0]
        header_is_free = not any(start < start_of(inner, source) for start in starts)
        is_docstring = isinstance(statement, ast.ClassDef) and ast.get_docstring(statement) is not None
        if header_is_free and not isinstance(inner, COMPOUND):
            if is_docstring:
                return Slot(end_of(inner, source), before="; ")
            return Slot(start_of(inner, source), after="; ")
    return None


def is_passed_over(statement: ast.stmt, source: Source, starts: list[int]) -> bool:
    """Tell whether `statement` only defines a function, so that no edit in it is executed yet."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    body = start_of(statement.body[0], source)
    return not any(start < body for start in starts)


def first_line(statement: ast.stmt) -> int:
    """Return the first line of `statement`, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def start_of(statement: ast.stmt, source: Source) -> int:
    """Return the index at which `statement` starts."""
    return source.offset(statement.lineno, statement.col_offset)


def end_of(statement: ast.stmt, source: Source) -> int:
    """Return the index at which `statement` ends."""
    assert statement.end_lineno is not None
    assert statement.end_col_offset is not None
    return source.offset(statement.end_lineno, statement.end_col_offset)
