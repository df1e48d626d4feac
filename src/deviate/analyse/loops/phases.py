"""What runs before, during and after the main loop."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from deviate.analyse.flow.callgraph import CallGraph, Edge
from deviate.analyse.flow.program import COMMON_METHODS, Program
from deviate.analyse.source.index import CallSite, Loop, Nesting, Unit, enclosing_branches, enclosing_loops, is_within
from deviate.analyse.source.syntax import dotted_text

_REGISTERING = re.compile(r"(^|[._])(on|register|hook|event|handler|handles|callback|listen|subscribe)([._]|er|$)")


class Phases:
    """Separates code that only prepares the training, or serves something else, from code that trains or evaluates.

    Code after the loop counts, because it may report what the training led to; so does code whose callers are not
    known, such as hooks that a library runs. The main loop, or the call of a library's,
    stands in `unit`; `training` are all loops that train: a pre-training, and the ones that other settings choose.
    `repeating` are loops of whole trainings: those that do not lead to the main loop run other methods beside it.
    """

    def __init__(
        self,
        program: Program,
        graph: CallGraph,
        unit: Unit,
        loop: Loop | CallSite,
        training: Iterable[tuple[Unit, Loop]],
        repeating: Iterable[tuple[Unit, Loop]] = (),
    ) -> None:
        self.graph = graph
        self.unit = unit
        self.loop = loop
        self._reached = sorted(program.reached, key=lambda unit: unit.position)
        self._edges = [(caller, edge) for caller in self._reached for edge in graph.edges(caller)]
        #: Functions that run within the main loop, and hooks.
        self.during = self._within(unit, loop) | self._closure(self._hooks())
        for trainer, its_loop in training:
            self.during |= {trainer} | self._within(trainer, its_loop)
        #: Lines and nestings of the loop or of the calls that lead to it, in each function on the way to the loop.
        self.ways: dict[Unit, list[tuple[int, Nesting | None]]] = {unit: [(loop.node.lineno, loop.nesting)]}
        self._find_ways()
        for trainer, its_loop in repeating:
            if trainer not in self.ways:
                self.during |= {trainer} | self._within(trainer, its_loop)
        self.during |= self._closure([*self._callbacks(), *self._deferred()])
        self.after = self._closure(self._called_later())
        #: What runs within the main loop only because an object is made there.
        self.made_during = graph.inside(unit, loop.node) - self.during

    def _closure(self, roots: Iterable[Unit]) -> set[Unit]:
        """Follow calls, except into constructors: those set something up, whenever they run."""
        return self.graph.closure(list(roots), constructors=False)

    def _within(self, unit: Unit, loop: Loop | CallSite) -> set[Unit]:
        return self._closure(edge.target for edge in self.graph.edges(unit) if is_within(edge.nesting, loop.node))

    def _hooks(self) -> list[Unit]:
        """List methods that nothing of the project calls by a name the analysis can follow: a library may.

        So does what runs in a process or thread of its own, which goes on beside the training: ``Worker.run``.
        """
        called = {edge.target for _, edge in self._edges if edge.called}
        return [
            unit
            for unit in self._reached
            if ((unit.owner is not None or _is_registered(unit)) and unit not in called) or self._runs_beside(unit)
        ]

    def _runs_beside(self, unit: Unit) -> bool:
        """Whether a method is what a process or thread of the project's runs."""
        if unit.owner is None or unit.name != "run":
            return False
        bases = self.graph.program.external_bases(self.graph.flow, unit.owner)
        return any(base.rpartition(".")[2] in {"Process", "Thread"} for base in bases)

    def _find_ways(self) -> None:
        """Follow the calls that lead to the loop outwards."""
        callers: dict[Unit, list[tuple[Unit, Edge]]] = {}
        for caller, edge in self._edges:
            callers.setdefault(edge.target, []).append((caller, edge))
        waiting = [self.unit]
        while waiting:
            unit = waiting.pop()
            known = callers.get(unit, [])
            is_asked = any(caller.name != unit.name for caller, _ in known)  # not by those below it alone
            for caller, edge in known if is_asked else (*known, *self._called_by_name(unit)):
                if caller not in self.ways:
                    self.ways[caller] = []
                    waiting.append(caller)
                if caller is not self.unit:
                    self.ways[caller].append((edge.line, edge.nesting))

    def _called_by_name(self, unit: Unit) -> list[tuple[Unit, Edge]]:
        """List the calls by the name of a method that no call is known to reach: of an object that is not known."""
        if unit.owner is None or unit.name in COMMON_METHODS:
            return []
        sites = [
            site for site in self.graph.program.calls.get(unit.name, ()) if isinstance(site.node.func, ast.Attribute)
        ]
        return [(site.scope.unit, Edge(site.nesting, unit, site.node.lineno)) for site in sites]

    def _callbacks(self) -> Iterable[Unit]:
        """Functions that are named and not called on the way to the loop: callbacks."""
        for unit in self.ways:
            called = {edge.target for edge in self.graph.edges(unit) if edge.called}
            yield from (edge.target for edge in self.graph.edges(unit) if edge.target not in called | self.ways.keys())

    def _deferred(self) -> set[Unit]:
        """Return what lambdas alone call and does not lead to the loop: ``callbacks.append(lambda ep: show(ep))``."""
        direct = {edge.target for _, edge in self._edges if edge.called and not edge.deferred}
        return {edge.target for _, edge in self._edges if edge.deferred} - direct - self.ways.keys()

    def _called_later(self) -> Iterable[Unit]:
        for unit in self.ways:
            for edge in self.graph.edges(unit):
                if edge.target not in self.ways and self._is_later(unit, edge.line, edge.nesting):
                    yield edge.target

    def _is_later(self, unit: Unit, line: int, nesting: Nesting | None) -> bool:
        """Whether code of a function on the way to the loop runs after it, or in a loop around it."""
        around = enclosing_loops(nesting)
        return any(
            (line > at and not _excludes(way, nesting)) or any(loop in around for loop in enclosing_loops(way))
            for at, way in self.ways.get(unit, [])
        )

    def leads_to_loop(self, unit: Unit) -> bool:
        """Whether a function holds the main loop or calls what leads to it."""
        return unit in self.ways

    def is_aside(self, unit: Unit, line: int, nesting: Nesting | None) -> bool:
        """Whether code neither runs within the main loop nor after it."""
        if unit in self.during or unit in self.after:
            return False
        return unit not in self.ways or self.is_before(unit, line, nesting)

    def is_before(self, unit: Unit, line: int, nesting: Nesting | None) -> bool:
        """Whether code of a function on the way to the loop runs before it alone."""
        return unit in self.ways and not (is_within(nesting, self.loop.node) or self._is_later(unit, line, nesting))

    def is_after(self, unit: Unit, line: int, nesting: Nesting | None) -> bool:
        """Whether code runs after the main loop and not within it."""
        if unit in self.ways:
            later = any(line > at for at, _ in self.ways[unit])
            return later and not is_within(nesting, self.loop.node)
        return unit in self.after and unit not in self.during


def _excludes(one: Nesting | None, other: Nesting | None) -> bool:
    """Whether code runs only where other code does not: in the other branch of an ``if``."""
    branches = dict(enclosing_branches(one))
    return any(branches.get(node, branch) != branch for node, branch in enclosing_branches(other))


def _is_registered(unit: Unit) -> bool:
    """Whether a decorator registers the function for later: ``@engine.on(EPOCH_COMPLETED)``."""
    called = [decorator.func for decorator in unit.decorators if isinstance(decorator, ast.Call)]
    return any(_REGISTERING.search(dotted_text(func)) for func in called)


def loop_at(units: Iterable[Unit], file: str, line: int) -> tuple[Unit, Loop] | None:
    """Find the loop whose header stands at a line."""
    return next(
        ((unit, loop) for unit in units if unit.module.file == file for loop in unit.loops if loop.node.lineno == line),
        None,
    )
