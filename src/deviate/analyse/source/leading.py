"""The packages that a program imports before it does anything else."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from deviate.analyse.source.files import UnreadableSourceError, read_source

#: Statements that do nothing when a module is imported but bind names.
_BINDING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class _DoesMore(Exception):  # noqa: N818
    """The program does more than to import."""


def leading_packages(entry: Path, folders: Sequence[Path], wanted: Collection[str]) -> list[str]:
    r"""Return those of the `wanted` packages that a program imports first of all, in its order.

    Modules of the program's own, which lie in one of `folders`, are followed. Where the program does anything but
    import and define, what it imports later is left out: it may depend on what was done, as on a variable of the
    environment. Packages that are not wanted are passed over.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     entry = pathlib.Path(folder, "train.py")
    ...     _ = entry.write_text("import os, torch\nos.environ['A'] = '1'\nimport numpy\n")
    ...     leading_packages(entry, [entry.parent], {"torch", "numpy"})
    ['torch']
    """
    packages: list[str] = []
    try:
        for name in _imports(entry, folders, set()):
            if name in wanted and name not in packages:
                packages.append(name)
    except _DoesMore:
        pass
    return packages


def _imports(path: Path, folders: Sequence[Path], seen: set[Path]) -> Iterator[str]:
    """Yield the first names of what a module imports, and of what its own modules do."""
    seen.add(path)
    try:
        body = read_source(path).tree.body
    except UnreadableSourceError:
        raise _DoesMore from None
    for statement in body:
        for dotted in _names(statement):
            own = next((found for folder in folders for found in _files(folder, dotted)), None)
            if own is None:
                yield dotted.partition(".")[0]
            elif own not in seen:
                yield from _imports(own, folders, seen)


def _names(statement: ast.stmt) -> list[str]:
    """Return the dotted names that a statement imports, none for one that only binds names."""
    match statement:
        case ast.Import(names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module]
        case ast.Expr(ast.Constant()) | ast.Assign([ast.Name()], ast.Constant()):
            return []
    if isinstance(statement, _BINDING) and not statement.decorator_list:
        return []
    raise _DoesMore


def _files(folder: Path, dotted: str) -> Iterator[Path]:
    below = folder.joinpath(*dotted.split("."))
    yield from (path for path in (below.with_suffix(".py"), below / "__init__.py") if os.path.isfile(path))
