"""Which function runs or names which, with the nesting of each call and reference."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.program import COMMON_METHODS, MAX_SAME_NAMED
from deviate.analyse.flow.values import External, Instance
from deviate.analyse.source.index import CallSite, ModuleIndex, Nesting, Scope, Unit, bindings_of, is_within
from deviate.analyse.source.syntax import called_name


@dataclass(frozen=True, eq=False)
class Edge:
    """A function that code runs or names, with the nesting of that code."""

    nesting: Nesting | None
    target: Unit
    line: int
    #: False where it is only named.
    called: bool = True
    #: Called within a lambda, which runs when that is called.
    deferred: bool = False


class CallGraph:
    """Edges between the functions of the running code."""

    def __init__(self, flow: Evaluator) -> None:
        self.flow = flow
        self.program = flow.program
        self._edges: dict[Unit, list[Edge]] = {}
        self._inside: dict[ast.AST, set[Unit]] = {}

    def edges(self, unit: Unit) -> list[Edge]:
        """Return what a function runs directly."""
        if unit not in self._edges:
            self._edges[unit] = [*self._called(unit), *self._mentioned(unit)]
        return self._edges[unit]

    def _called(self, unit: Unit) -> list[Edge]:
        edges: list[Edge] = []
        for site in unit.calls:
            if self.program.may_run(unit, site.nesting):
                targets = self.program.targets(self.flow, site) or self._by_method_name(site.node, unit)
                targets = targets or self._forwards(site)
                deferred = site.scope.lambda_around is not None
                edges.extend(Edge(site.nesting, each, site.node.lineno, deferred=deferred) for each in targets)
        return edges

    def _forwards(self, site: CallSite) -> list[Unit]:
        """Find what a call of a module of PyTorch's runs: its ``forward``, which may train, as meta-learners do."""
        refs = self.flow.value(site.node.func, site.scope).refs
        made = [ref.cls for ref in refs if isinstance(ref, Instance)]
        return [unit for cls in made for unit in self.program.method(self.flow, cls, "forward")]

    def _by_method_name(self, call: ast.Call, unit: Unit) -> list[Unit]:
        func = call.func
        if isinstance(func, ast.Name):
            return self._taken_by_name(func.id, unit)
        if not isinstance(func, ast.Attribute):
            return []
        if func.attr not in self.program.methods:
            return self._kept_under(func.attr)
        if func.attr in COMMON_METHODS:
            is_known = bool(self.flow.value(func.value, unit).refs)
            return [] if is_known else self.program.called_like(call, unit)
        units = [unit for unit in self.program.methods[func.attr] if unit in self.program.reached]
        if len(units) > MAX_SAME_NAMED:
            return []
        if isinstance(func.value, ast.Name):
            refs = self.flow.value(func.value, unit).refs
            if any(isinstance(ref, External) and not ref.made for ref in refs):
                return []
        return units

    def _kept_under(self, name: str) -> list[Unit]:
        """Find the functions that mappings hold under the name that one is called by: ``{"step": fit_batch}``."""
        units = self._keyed.get(name, [])
        return units if len(units) <= MAX_SAME_NAMED else []

    @cached_property
    def _keyed(self) -> dict[str, list[Unit]]:
        """Functions that mappings are written with, by their keys."""
        keyed: dict[str, list[Unit]] = {}
        for value, scope in _written(self.program.running_units()):
            for key, name in _entries(value):
                refs = self.flow.value(name, scope).refs
                own = [ref for ref in refs if isinstance(ref, Unit) and ref in self.program.reached]
                keyed.setdefault(key, []).extend(each for each in own if each not in keyed.get(key, ()))
        return keyed

    def _taken_by_name(self, name: str, unit: Unit) -> list[Unit]:
        """Find a function of the name that a variable has which takes one: ``work = getattr(module, args.work)``."""
        taken = (each.value for each in bindings_of(name, unit) if each.kind == "assign")
        holders = [call.args[0] for call in taken if isinstance(call, ast.Call) and called_name(call) == "getattr"]
        refs = [ref for holder in holders for ref in self.flow.value(holder, unit).refs]
        modules = [ref for ref in refs if isinstance(ref, ModuleIndex)] or (
            self.program.imports.plugins if holders else []
        )
        bound = [each.target for module in modules for each in module.unit.bindings.get(name, ())]
        return [each for each in bound if isinstance(each, Unit) and each in self.program.reached]

    def _mentioned(self, unit: Unit) -> list[Edge]:
        edges: list[Edge] = []
        for node, scope, nesting in unit.loads:
            named = isinstance(node, ast.Name) or node.attr in self.program.methods
            if named and self.program.may_run(unit, nesting):
                refs = self.flow.value(node, scope).refs
                edges.extend(
                    Edge(nesting, ref, node.lineno, called=False)
                    for ref in refs
                    if isinstance(ref, Unit) and ref is not unit
                )
        return edges

    def closure(self, roots: list[Unit], constructors: bool = True) -> set[Unit]:
        """Return everything that functions run, directly or not; without `constructors`, not what those run."""
        units: set[Unit] = set()
        waiting = list(roots)
        while waiting:
            unit = waiting.pop()
            if unit not in units and (constructors or unit.name != "__init__"):
                units.add(unit)
                waiting.extend(edge.target for edge in self.edges(unit))
        return units

    def inside(self, unit: Unit, node: ast.AST) -> set[Unit]:
        """Return everything that runs within a statement of a function."""
        if node not in self._inside:
            roots = [edge.target for edge in self.edges(unit) if is_within(edge.nesting, node)]
            self._inside[node] = self.closure(roots)
        return self._inside[node]


def _written(units: list[Unit]) -> Iterator[tuple[ast.expr | None, Scope]]:
    """Yield what functions assign to names and return."""
    for unit in units:
        yield from ((each.value, each.scope) for bindings in unit.bindings.values() for each in bindings)
        yield from unit.returns


def _entries(node: ast.expr | None) -> Iterator[tuple[str, ast.Name]]:
    """Yield the keys and names in a mapping, and in those that it holds."""
    for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Name):
            yield key.value, value
        yield from _entries(value)
