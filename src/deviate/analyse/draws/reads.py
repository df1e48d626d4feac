"""Where names and attributes are read, by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from deviate.analyse.flow.evaluation import Flow
from deviate.analyse.source.index import ModuleIndex, Nesting, Scope


@dataclass(frozen=True, eq=False)
class Read:
    """A name or an attribute that code reads."""

    node: ast.Name | ast.Attribute
    scope: Scope
    nesting: Nesting | None


class Reads:
    """Finds reads, for each file once."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._names: dict[ModuleIndex, dict[str, list[Read]]] = {}
        self._attributes: dict[str, list[Read]] | None = None

    def of_name(self, module: ModuleIndex, name: str) -> list[Read]:
        """Return where the code of a file reads a plain name."""
        if module not in self._names:
            by_name = self._names[module] = {}
            for load in _reads_in(module):
                if isinstance(load.node, ast.Name):
                    by_name.setdefault(load.node.id, []).append(load)
        return self._names[module].get(name, [])

    def of_attribute(self, name: str) -> list[Read]:
        """Return where the running code reads an attribute of any object."""
        if self._attributes is None:
            self._attributes = {}
            for module in self.flow.program.modules:
                for load in _reads_in(module):
                    if isinstance(load.node, ast.Attribute):
                        self._attributes.setdefault(load.node.attr, []).append(load)
        return self._attributes.get(name, [])


def _reads_in(module: ModuleIndex) -> Iterator[Read]:
    return (Read(*load) for unit in module.units for load in unit.loads)
