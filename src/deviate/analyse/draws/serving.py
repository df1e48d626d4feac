"""Calls of functions that make data both before the training and in it.

What such a function draws is of no one factor: it makes the test set first, and then each batch. Each of its calls is
of one, and makes the draws within it be of that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from deviate.analyse.draws.find import Drawn
from deviate.analyse.draws.moments import Moments
from deviate.analyse.draws.roles import Role
from deviate.analyse.flow.evaluation import Flow
from deviate.analyse.source.index import CallSite, Unit
from deviate.analyse.source.syntax import text_of

#: Callers of callers that are looked at.
MAX_LEVELS = 3


class Serving(NamedTuple):
    """A call of a function of the project, and the factor that it makes data for."""

    drawn: Drawn
    role: Role


class ServingFinder:
    """Finds such calls; `makes_data` says why what a call gives before the training are data, or nothing."""

    def __init__(self, flow: Flow, moments: Moments, makes_data: Callable[[Drawn], str]) -> None:
        self.flow = flow
        self.moments = moments
        self.makes_data = makes_data

    def find(self, undecided: Iterable[Drawn]) -> list[Serving]:
        """Return the calls that tell what draws, which are of no factor by themselves, are for."""
        units = dict.fromkeys(drawn.unit for drawn in undecided)
        found = {serving.drawn.site: serving for unit in units for serving in self._of_function(unit)}
        return list(found.values())

    def _of_function(self, unit: Unit) -> list[Serving]:
        """Return the calls of one function, or none where it makes no data before the training, or only then."""
        if unit.yields or self.moments.leads_to_loop(unit):
            return []
        before, during = list[Serving](), list[Serving]()
        for site in self._calls(unit, MAX_LEVELS, set()):
            moment = self.moments.moment(site)
            drawn = Drawn(site, text_of(site.node.func), "values")
            if moment == "during":
                role = Role("shuffle", f"{unit.name} makes data before the training, and here anew while it trains")
                during.append(Serving(drawn, role))
            elif moment == "before" and (why := self.makes_data(drawn)):
                before.append(Serving(drawn, Role("data", why)))
        return [*before, *during] if before and during else []

    def _calls(self, unit: Unit, levels: int, seen: set[Unit]) -> Iterator[CallSite]:
        """Yield the calls that a function runs by whose moment is known: its own, or those of what calls it."""
        seen.add(unit)
        for site in self.flow.program.callers(self.flow, unit):
            caller = site.scope.unit
            if caller not in self.flow.program.reached or not _gives_its_value(site):
                continue
            if self.moments.moment(site):
                yield site
            elif levels > 1 and caller not in seen and not self.moments.leads_to_loop(caller):
                yield from self._calls(caller, levels - 1, seen)


def _gives_its_value(site: CallSite) -> bool:
    """Whether the value of a call is used; a function that is called for what it does makes no data."""
    return not (isinstance(site.statement, ast.Expr) and site.statement.value is site.node)
