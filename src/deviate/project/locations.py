"""Where expressions stand in the files that a user names."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

from deviate.errors import BadInput
from deviate.experiment import Span


def squash(expression: str) -> str:
    """Return `expression` without white space and with one kind of quotes, to compare what users type."""
    return "".join(expression.split()).replace('"', "'")


def function_around(tree: ast.Module, node: ast.AST) -> str:
    """Return the name of the function that a node stands in."""
    around = [
        function
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(n is node for n in ast.walk(function))
    ]
    return around[-1].name if around else "<module>"


def span_of(node: ast.expr) -> Span:
    """Return where an expression stands."""
    return Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


def parse_file(path: Path, error: Callable[[str, str], BadInput]) -> ast.Module:
    """Parse a file; `error` makes the exception of a problem and a hint."""
    try:
        return ast.parse(path.read_bytes())
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror}", "paths are relative to the project") from problem
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise error(f"{path} does not parse: {problem}", "name a file of Python source") from problem
