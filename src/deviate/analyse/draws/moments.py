"""When a piece of code runs: before the training, during it or after it."""

from __future__ import annotations

from typing import Literal

from deviate.analyse.callgraph import CallGraph, stands_in
from deviate.analyse.index import Place, Unit, enclosing_loops
from deviate.analyse.phases import Phases

Moment = Literal["before", "during", "after"]


class Moments:
    """Tells moments; where a library runs the training, all but the project's methods runs before it.

    Parameters
    ----------
    phases : Phases or None
        None where the main loop is a library's, or there is none.
    has_loop : bool
        Whether a main loop was found at all: without one, the loops that draw may be the training.
    """

    def __init__(self, graph: CallGraph, phases: Phases | None, has_loop: bool) -> None:
        self.graph = graph
        self.phases = phases
        self.has_loop = has_loop
        self.before = self._called_before() if phases is not None else set[Unit]()

    def _called_before(self) -> set[Unit]:
        assert self.phases is not None
        roots = [
            edge.target
            for unit, ways in self.phases.ways.items()
            for edge in self.graph.edges(unit)
            if edge.target not in self.phases.ways
            and not stands_in(edge.place, self.phases.loop.node)
            and any(edge.line < line for line, _ in ways)
        ]
        return self.graph.closure(roots)

    def only_before(self, unit: Unit) -> bool:
        """Whether a function runs before the training and not during it."""
        if self.phases is None or unit.yields:
            return False
        return unit in self.before and unit not in self.phases.during

    def is_ongoing(self, unit: Unit) -> bool:
        """Whether a function runs again and again during the training, and not before it."""
        return unit not in self.before or bool(unit.yields)

    def moment(self, unit: Unit, line: int, place: Place | None) -> Moment:
        """Say when code of a function runs."""
        phases = self.phases
        if phases is None:
            if not self.has_loop and enclosing_loops(place):
                return "during"
            return "before" if unit.owner is None or unit.name == "__init__" else "during"
        if phases.leads_to_loop(unit):
            if stands_in(place, phases.loop.node):
                return "during"
            ways = phases.ways[unit]
            return "before" if not ways or any(line <= at for at, _ in ways) else "after"
        # What a generator yields is drawn when it is asked for.
        if unit in phases.during or unit.yields:
            return "during"
        return "after" if unit in phases.after and unit not in self.before else "before"
