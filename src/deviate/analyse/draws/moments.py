"""Whether a piece of code surely runs before the training, or within its main loop."""

from __future__ import annotations

import ast
from typing import Literal

from deviate.analyse.flow.callgraph import CallGraph
from deviate.analyse.loops.phases import Phases
from deviate.analyse.source.index import CallSite, Unit, enclosing_loops, is_within
from deviate.experiment import MainLoop

Moment = Literal["before", "during", ""]


class Moments:
    """Tells moments; of code that may run at several it says nothing.

    `phases` is None where the main loop is a library's, or there is none.
    """

    def __init__(self, graph: CallGraph, phases: Phases | None, main_loop: MainLoop | None) -> None:
        self.graph = graph
        self.phases = phases
        self.main_loop = main_loop
        self.before = self._called_before(phases) if phases is not None else set[Unit]()

    def _called_before(self, phases: Phases) -> set[Unit]:
        roots = [
            edge.target
            for unit, ways in phases.ways.items()
            for edge in self.graph.edges(unit)
            if edge.target not in phases.ways
            and not is_within(edge.nesting, phases.loop.node)
            and any(edge.line < line for line, _ in ways)
        ]
        return self.graph.closure(roots)

    def leads_to_loop(self, unit: Unit) -> bool:
        """Whether a function holds the main loop or calls what leads to it."""
        return unit.display_name == "<module>" or (self.phases is not None and self.phases.leads_to_loop(unit))

    def once_an_iteration(self, site: CallSite) -> bool:
        """Whether a call is made in no loop but the main loop: in its body, or in a function that this calls."""
        if self.phases is None:
            return False
        around, loop = enclosing_loops(site.nesting), self.phases.loop.node
        if around:
            return around[0] is loop
        called = (edge for edge in self.graph.edges(self.phases.unit) if edge.target is site.scope.unit)
        return any(enclosing_loops(edge.nesting)[:1] == [loop] for edge in called)

    def moment(self, site: CallSite) -> Moment:
        """Say when a call runs."""
        unit, line = site.scope.unit, site.node.lineno
        if self.phases is None:
            return "before" if self._leads_to_call(unit, line) else ""
        ways = self.phases.ways.get(unit)
        if ways is not None:
            if is_within(site.nesting, self.phases.loop.node):
                return "during"
            return "before" if ways and all(line <= at for at, _ in ways) else ""
        # A generator draws when its next value is requested; so does an endless loop that feeds another process.
        during = unit in self.phases.during or bool(unit.yields) or _is_endless(site)
        if unit in self.before or unit.display_name == "<module>":
            return "" if during else "before"
        return "during" if during else ""

    def _leads_to_call(self, unit: Unit, line: int) -> bool:
        """Whether code stands before the call, in the same function, with which a library runs the training."""
        loop = self.main_loop
        if loop is None or loop.file != unit.module.file or line >= loop.line:
            return False
        last = getattr(unit.node, "end_lineno", None)
        return last is None or last >= loop.line


def _is_endless(site: CallSite) -> bool:
    tests = (loop.test for loop in enclosing_loops(site.nesting) if isinstance(loop, ast.While))
    return any(isinstance(test, ast.Constant) and bool(test.value) for test in tests)
