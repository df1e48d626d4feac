"""What each expression stands in."""

from __future__ import annotations

import ast

from deviate.analyse.source.index import ModuleIndex


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
