"""Paths that source computes from where it lies or is started: ``join(pardir, "data")``, ``Path.cwd().parent``."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from deviate.analyse.source.files import UnreadableSourceError, parse_text
from deviate.analyse.source.index import Scope
from deviate.analyse.source.indexer import index_module
from deviate.analyse.source.paths import named_path
from deviate.analyse.source.stack import deeply

#: Text without any of these computes no such path.
_MARKS = ("__file__", "cwd(", "pardir", '".."', "'..'", ".parent", "dirname(")

#: Another place of a file: what follows from where it lies or is started is another path there.
_ELSEWHERE = Path("/elsewhere") / "/".join("abcdefgh") / "file.py"


@deeply
def computed_paths(text: str, file: Path, start: Path) -> list[Path]:
    """Return the paths, absolute and relative, that expressions of a Python file evaluate to, where that is known.

    `start` is the folder in which the program is started. An absolute path that is written out is none of them: it
    means the same in every copy.
    """
    if not any(mark in text for mark in _MARKS):
        return []
    try:
        source = parse_text(text)
    except UnreadableSourceError:
        return []
    module = index_module(file.name, "", source.tree, source.lines)
    return [path for unit in module.units for path in _of(unit.node, unit, file, start)]


def _of(node: ast.AST, scope: Scope, file: Path, start: Path) -> Iterator[Path]:
    """Yield the paths of the outermost expressions in a part of a file that give one."""
    if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
        path = named_path(node, scope, file, start)
        if path is not None:
            elsewhere = named_path(node, scope, _ELSEWHERE, _ELSEWHERE.parent)
            if path != elsewhere if os.path.isabs(path) else os.pardir in Path(path).parts:
                yield Path(path)
            return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _of(child, scope, file, start)
