"""What surrounds an expression in its file, and where names are read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from deviate.analyse.index import ModuleIndex, Place, Scope

Load = tuple[ast.Name | ast.Attribute, Scope, Place | None]


class ModuleFacts:
    """What surrounds each node of a file, and where each name is read."""

    def __init__(self, module: ModuleIndex) -> None:
        self.module = module
        self.parents = _parents(module.tree)
        self.names: dict[str, list[Load]] = {}
        self.attributes: dict[str, list[Load]] = {}
        for unit in module.units:
            for load in unit.loads:
                node = load[0]
                if isinstance(node, ast.Name):
                    self.names.setdefault(node.id, []).append(load)
                else:
                    self.attributes.setdefault(node.attr, []).append(load)


def _parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    found: dict[ast.AST, ast.AST] = {}
    waiting: list[ast.AST] = [tree]
    while waiting:
        parent = waiting.pop()
        children = list(ast.iter_child_nodes(parent))
        found.update(dict.fromkeys(children, parent))
        waiting.extend(children)
    return found


def iter_names(node: ast.AST) -> Iterator[str]:
    """Yield the names and attributes in an expression."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr
