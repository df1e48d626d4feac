"""Who runs what: calls and function references, with the place they stand in."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deviate.analyse.abstract import External
from deviate.analyse.index import Place, Unit, under_main_guard
from deviate.analyse.program import COMMON_METHODS, MAX_SAME_NAMED, Program

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


@dataclass(frozen=True, eq=False)
class Edge:
    """A function that code at some place runs or hands on."""

    place: Place | None
    target: Unit
    line: int
    #: False where it is only named.
    called: bool = True


class CallGraph:
    """Edges between the functions of the running code."""

    def __init__(self, flow: Flow, program: Program) -> None:
        self.flow = flow
        self.program = program
        self._edges: dict[Unit, list[Edge]] = {}
        self._inside: dict[ast.AST, set[Unit]] = {}

    def edges(self, unit: Unit) -> list[Edge]:
        """Return what a function runs directly."""
        if unit not in self._edges:
            self._edges[unit] = [*self._called(unit), *self._mentioned(unit)]
        return self._edges[unit]

    def _called(self, unit: Unit) -> list[Edge]:
        found: list[Edge] = []
        for site in unit.calls:
            if unit.module is not self.program.entry and under_main_guard(site.place):
                continue
            targets = self.program.targets(self.flow, site) or self._by_method_name(site.node, unit)
            found.extend(Edge(site.place, target, site.node.lineno) for target in targets)
        return found

    def _by_method_name(self, call: ast.Call, unit: Unit) -> list[Unit]:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr in COMMON_METHODS:
            return []
        named = self.program.methods.get(func.attr, [])
        if not named or len(named) > MAX_SAME_NAMED:
            return []
        if isinstance(func.value, ast.Name):
            refs = self.flow.value(func.value, unit).refs
            if any(isinstance(ref, External) and not ref.made for ref in refs):
                return []
        return named

    def _mentioned(self, unit: Unit) -> list[Edge]:
        found: list[Edge] = []
        for node, scope, place in unit.loads:
            if isinstance(node, ast.Name) or node.attr in self.program.methods:
                refs = self.flow.value(node, scope).refs
                found.extend(
                    Edge(place, ref, node.lineno, called=False)
                    for ref in refs
                    if isinstance(ref, Unit) and ref is not unit
                )
        return found

    def closure(self, roots: list[Unit], constructors: bool = True) -> set[Unit]:
        """Return everything that functions run, directly or not; without `constructors`, not what those run."""
        found: set[Unit] = set()
        waiting = list(roots)
        while waiting:
            unit = waiting.pop()
            if unit not in found and (constructors or unit.name != "__init__"):
                found.add(unit)
                waiting.extend(edge.target for edge in self.edges(unit))
        return found

    def inside(self, unit: Unit, node: ast.AST) -> set[Unit]:
        """Return everything that runs within a statement of a function."""
        if node not in self._inside:
            roots = [edge.target for edge in self.edges(unit) if stands_in(edge.place, node)]
            self._inside[node] = self.closure(roots)
        return self._inside[node]


def stands_in(place: Place | None, node: ast.AST) -> bool:
    """Whether a place is within a compound statement."""
    while place is not None:
        if place.node is node:
            return True
        place = place.outer
    return False
