"""Calls of functions that make data both before the training and in it.

What such a function draws is of no one factor: it makes the test set first, and then each batch. Each of its calls is
of one, and makes the draws within it be of that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from deviate.analyse.draws.assigned import targets
from deviate.analyse.draws.find import Drawn
from deviate.analyse.draws.moments import Moments
from deviate.analyse.draws.roles import Role
from deviate.analyse.flow.evaluation import Flow
from deviate.analyse.source.index import CallSite, Unit
from deviate.analyse.source.syntax import text_of

#: Names of examples that the training is measured on; they are data, whenever they are made.
_MEASURED_ON = re.compile(r"(^|_)(val|valid\w*|tests?|testing|eval\w*|dev|held_?out)(_|$)", re.IGNORECASE)
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
        #: Functions whose calls were returned.
        self.served: set[Unit] = set()

    def find(self, drawn: Iterable[Drawn], *, known: bool = False) -> list[Serving]:
        """Return the calls that tell what draws, which are of no factor by themselves, are for.

        Of `known` draws it is certain that they make data, whatever the value is called.
        """
        found: dict[CallSite, Serving] = {}
        for unit in dict.fromkeys(each.unit for each in drawn):
            calls = self._of_function(unit, known=known)
            self.served |= {unit} if calls else set()
            found.update({serving.drawn.site: serving for serving in calls})
        return list(found.values())

    def _of_function(self, unit: Unit, *, known: bool) -> list[Serving]:
        """Return the calls of one function, or none where it makes no data before the training, or only then.

        An object that holds the function, such as one that fits a probabilistic model, calls it where nobody sees it.
        """
        if unit.yields or self.moments.leads_to_loop(unit):
            return []
        data, anew = list[Serving](), list[Serving]()
        for site in self._calls(unit, MAX_LEVELS, set()):
            drawn = Drawn(site, text_of(site.node.func), "values")
            moment = self.moments.moment(site)
            if moment == "during" and not (known and _is_measured_on(site)):
                role = Role("shuffle", f"{_name(unit)} makes data before the training, and here anew while it trains")
                anew.append(Serving(drawn, role))
            elif known:
                data.append(Serving(drawn, Role("data", f"{_name(unit)} makes data here")))
            elif moment == "before" and (why := self.makes_data(drawn)):
                data.append(Serving(drawn, Role("data", why)))
        return [*data, *anew] if data and (anew or unit in self.moments.held_by_objects) else []

    def _calls(self, unit: Unit, levels: int, seen: set[Unit]) -> Iterator[CallSite]:
        """Yield the calls that a function runs by: its own, or those of what calls it, up to one of a known moment."""
        seen.add(unit)
        for site in self.flow.program.callers(self.flow, unit):
            caller = site.scope.unit
            if caller not in self.flow.program.reached or not _gives_its_value(site):
                continue
            may_follow = levels > 1 and caller not in seen and not self.moments.leads_to_loop(caller)
            around = self._calls(caller, levels - 1, seen) if may_follow and self.moments.may_repeat(site) else ()
            yield from list(around) or [site]


def _name(unit: Unit) -> str:
    return unit.owner.name if unit.owner is not None and unit.name == "__init__" else unit.name


def _is_measured_on(site: CallSite) -> bool:
    """Whether a name around a call says that the training is measured on what the call makes."""
    names = [site.scope.unit.display_name, *targets(site.statement)]
    return any(_MEASURED_ON.search(name) for name in names)


def _gives_its_value(site: CallSite) -> bool:
    """Whether the value of a call is used; a function that is called for what it does makes no data."""
    return not (isinstance(site.statement, ast.Expr) and site.statement.value is site.node)
