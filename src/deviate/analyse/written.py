"""Names of files that a program writes, as its source says them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from deviate.analyse.source.files import UnreadableSourceError, read_source
from deviate.analyse.source.syntax import last_part

#: What writes a file that it is given the name of, or is a method of.
_WRITERS = {
    *("save", "savez", "savez_compressed", "savetxt", "dump", "write_text", "write_bytes", "imwrite"),
    *("to_csv", "to_json", "to_pickle", "to_parquet", "save_weights", "save_model", "save_file"),
}

_WRITING = frozenset("wax+")


def written_names(root: Path, files: Sequence[str]) -> set[str]:
    """Return the names, without folders, that files of a project give to what they write."""
    names: set[str] = set()
    for file in files:
        try:
            names.update(_names(read_source(root / file).tree))
        except UnreadableSourceError:
            continue
    return names


def _names(tree: ast.Module) -> Iterator[str]:
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                assigned.setdefault(last_part(target), []).append(node.value)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _writes(node)):
        for part in (call.func, *call.args, *(keyword.value for keyword in call.keywords)):
            for node in ast.walk(part):
                for value in (node, *assigned.get(last_part(node), ())):
                    yield from _file_names(value)


def _writes(call: ast.Call) -> bool:
    name = last_part(call.func)
    if name != "open":
        return name in _WRITERS
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    modes = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any(len(mode) < 4 and not _WRITING.isdisjoint(mode) for mode in modes)


def _file_names(value: ast.AST) -> Iterator[str]:
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and PurePosixPath(node.value).suffix:
            yield PurePosixPath(node.value).name
