"""What an agent does: draws that an environment is given.

``state, reward, done = env.step(int(a))`` is given an action, whatever its name and whoever draws it: the policy in its
forward pass, a function of the agent's, or the loop itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from deviate.analyse.draws.assigned import targets
from deviate.analyse.draws.find import Drawn
from deviate.analyse.flow.callgraph import CallGraph
from deviate.analyse.source.index import CallSite, Unit
from deviate.analyse.source.syntax import called_name, dotted_text, last_part

#: What an environment is called where its step gives one thing; an optimiser's and a schedule's give none.
_ENVIRONMENT = re.compile(r"(^|_)(envs?|environments?|games?|simulator)\d*$")
#: Observation, reward and whether it ended, at least, are what a step gives.
_GIVEN_BACK = 3
#: Functions between a draw and the step.
MAX_LEVELS = 3


class ActionFinder:
    """Finds draws that become actions."""

    def __init__(self, graph: CallGraph, callers: Callable[[Unit], list[Unit]]) -> None:
        self.graph = graph
        self.callers = callers
        self._given: dict[Unit, list[ast.expr]] = {}

    def acts(self, drawn: Drawn) -> bool:
        """Tell whether an environment is given what is drawn, or what functions return that draw it."""
        if self._is_given(drawn.site):
            return True
        returning = [drawn.unit] if _is_returned(drawn.site) else []
        for _ in range(MAX_LEVELS):
            sites = [site for unit in returning for site in self._sites(unit)]
            if any(map(self._is_given, sites)):
                return True
            returning = [site.scope.unit for site in sites if _is_returned(site)]
        return False

    def _sites(self, unit: Unit) -> Iterator[CallSite]:
        """Yield the calls that run a function, by the lines that they stand on."""
        for caller in self.callers(unit):
            lines = {edge.line for edge in self.graph.edges(caller) if edge.target is unit and edge.called}
            yield from (site for site in caller.calls if site.node.lineno in lines)

    def _is_given(self, site: CallSite) -> bool:
        """Tell whether a call, or a name that it is assigned to, stands in what an environment's step is given."""
        names = set(targets(site.statement))
        parts = [part for argument in self._arguments(site.scope.unit) for part in ast.walk(argument)]
        return any(part is site.node or last_part(part) in names for part in parts)

    def _arguments(self, unit: Unit) -> list[ast.expr]:
        if unit not in self._given:
            self._given[unit] = [argument for site in unit.calls if _steps(site) for argument in site.node.args]
        return self._given[unit]


def _steps(site: CallSite) -> bool:
    """Tell whether a call is the step of an environment."""
    func = site.node.func
    if called_name(site.node) != "step" or not isinstance(func, ast.Attribute):
        return False
    assigned = site.statement.targets[0] if isinstance(site.statement, ast.Assign) else None
    several = isinstance(assigned, ast.Tuple) and len(assigned.elts) >= _GIVEN_BACK
    return several or bool(_ENVIRONMENT.search(dotted_text(func.value).rpartition(".")[2]))


def _is_returned(site: CallSite) -> bool:
    """Tell whether a function returns what a call in it gives, or what is made of that."""
    unit = site.scope.unit
    parts = [part for value, _ in unit.returns for part in ast.walk(value)]
    if any(part is site.node for part in parts):
        return True
    names = _made_of(set(targets(site.statement)), unit)
    return any(isinstance(part, ast.Name) and part.id in names for part in parts)


def _made_of(names: set[str], unit: Unit) -> set[str]:
    """Add the names of a function that are computed from others."""
    bound = unit.bindings.items() if names else ()
    values = {
        name: {last_part(part) for each in bindings if each.value is not None for part in ast.walk(each.value)}
        for name, bindings in bound
    }
    while more := {name for name, read in values.items() if name not in names and not names.isdisjoint(read)}:
        names = names | more
    return names
