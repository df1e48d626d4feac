"""Source files that a program may read as data, such as a language model that is trained on its own code."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

#: What a text that names no source file, and runs none that it reads, has not in it.
_MARKS = re.compile(rb"__file__|\.py['\"]|\b(exec|compile)\(")
#: What runs a text that was read: that has to be the instrumented one.
_RUNNING = {"exec", "compile"}
#: What makes the folder of a path, or its name alone.
_BESIDE = {"dirname", "parent", "parents", "split", "basename", "stem", "name"}


def sources_read(root: Path, files: Collection[str], instrumented: Collection[str]) -> list[str]:
    """Return the instrumented files, sorted, if the program may read one of them as data.

    Parameters
    ----------
    root : Path
        The program as its author wrote it.
    files : collection of str
        Its files, relative to `root`.
    instrumented : collection of str
        Those that runs have in another form.

    Returns
    -------
    list of str
        Empty unless the program names such a file, all files of a kind (``*.py``), or ``__file__`` for more than its
        folder or its name; and where it runs texts (``exec``), which may be those that it reads.
    """
    names = {PurePosixPath(file).name for file in instrumented}
    trees = [tree for file in files if file.endswith(".py") for tree in _parsed(root / file)]
    if any(_runs_texts(tree) for tree in trees) or not any(_names_sources(tree, names) for tree in trees):
        return []
    return sorted(instrumented)


def _parsed(file: Path) -> Iterator[ast.Module]:
    text = file.read_bytes()
    if _MARKS.search(text):
        try:
            yield ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return


def _runs_texts(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _RUNNING
        for node in ast.walk(tree)
    )


def _names_sources(tree: ast.Module, names: Collection[str]) -> bool:
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return any(_is_source(node, names) or _is_own_file(node, above) for node in above)


def _is_source(node: ast.AST, names: Collection[str]) -> bool:
    """Whether a text is the path of an instrumented file, a pattern for source files, or their ending."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value.endswith(".py"):
        return False
    name = PurePosixPath(node.value).name
    return name in names or name == ".py" or "*" in name


def _is_own_file(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether ``__file__`` is used for more than the folder or the name of the file."""
    if not isinstance(node, ast.Name) or node.id != "__file__":
        return False
    around = above[node]
    while isinstance(around, (ast.Call, ast.Attribute)):
        named = around.func if isinstance(around, ast.Call) else around
        name = named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""
        if name in _BESIDE:
            return False
        around = above[around]
    return True
