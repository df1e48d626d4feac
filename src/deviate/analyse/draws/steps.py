"""What a step of the training learns from, told by the flow of values: it is given nothing else anew.

A step is given what it changes, such as parameters and the state of an optimizer, and what it learns from. The one is
carried from step to step or made once; so an argument that alone is made anew is an example, whatever it is called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from deviate.analyse.draws import handling
from deviate.analyse.draws.assigned import targets
from deviate.analyse.draws.destinations import DestinationFinder
from deviate.analyse.draws.find import Drawn
from deviate.analyse.draws.receipts import is_given_examples
from deviate.analyse.draws.shapes import builds_model
from deviate.analyse.source.index import CallSite, Scope, Unit, lookup
from deviate.analyse.source.syntax import called_name, last_part

#: Functions within the function of a step that may take the gradient.
MAX_LEVELS = 2
#: Names of what is chosen to act, or for a point in time.
_ACTED = re.compile(r"(^|_)(a|act(ion)?s?|moves?|arms?|t|time_?steps?)\d*$")


class StepFinder:
    """Finds examples that the steps of the main loop are given."""

    def __init__(self, finder: DestinationFinder) -> None:
        self.finder = finder
        self.flow = finder.flow
        self.moments = finder.moments

    def made(self, drawn: Drawn) -> str:
        """Return the name of the example that the function of a draw makes out of nothing for each step.

        Before the training such a function may be called for a model to be built with what it makes, and for nothing
        else: what it makes for another purpose may be data.
        """
        unit = drawn.unit
        if self.moments.leads_to_loop(unit) or unit.yields or not (_builds(unit) and _is_pure(unit)):
            return ""
        sites = self.flow.program.callers(self.flow, unit)
        if any(self.moments.moment(site) == "before" and not self._builds_model(site) for site in sites):
            return ""
        sites = [site for site in sites if not self._is_given_more(site)]
        return next((name for site in sites if (name := self._taught(site, site.statement))), "")

    def picked(self, drawn: Drawn) -> str:
        """Return the name of the example that a drawn position, or a choice, picks for each step from what is there."""
        parents, module = self.finder.parents, drawn.site.scope.module
        for pick in self._picks(drawn):
            statement = parents.of(pick, module)
            if isinstance(statement, ast.Assign) and (name := self._taught(drawn.site, statement)):
                return name
        return ""

    def _picks(self, drawn: Drawn) -> Iterator[ast.expr]:
        """Yield the expressions that are an element of something that the training does not make anew."""
        site, node = drawn.site, drawn.site.node
        if drawn.gives == "order":
            if called_name(node) == "choice" and node.args and self._is_kept(node.args[0], site.scope):
                yield node
        elif drawn.gives == "integers":
            names = set(targets(site.statement))
            loads = [load for load, _, _ in site.scope.unit.loads if last_part(load) in names]
            for position in (node, *loads):
                pick = self.finder.parents.of(position, site.scope.module)
                if isinstance(pick, ast.Subscript) and pick.slice is position and self._is_kept(pick.value, site.scope):
                    yield pick

    def _is_kept(self, array: ast.expr, scope: Scope) -> bool:
        return bool(last_part(array)) and not self._is_anew(array, scope)

    def _taught(self, site: CallSite, statement: ast.stmt | None) -> str:
        """Return the name that a statement beside a call assigns to and that a step alone is given anew."""
        names = list(targets(statement))
        if len(names) != 1 or self.moments.moment(site) != "during":
            return ""
        if handling.NO_DATA.search(names[0]) or _ACTED.search(names[0]):
            return ""
        calls = [call for call in site.scope.unit.calls if names[0] in map(last_part, _arguments(call.node))]
        return names[0] if any(self._learns(call) and self._is_alone(names[0], call) for call in calls) else ""

    # Steps

    def _learns(self, site: CallSite) -> bool:
        """Whether a call takes a step of learning in the main loop, in the function that it runs."""
        units = self.flow.program.targets(self.flow, site)
        return self.moments.moment(site) == "during" and any(self._takes_gradient(unit, MAX_LEVELS) for unit in units)

    def _takes_gradient(self, unit: Unit, levels: int) -> bool:
        if any(called_name(site.node) in handling.TAKING_GRADIENT for site in unit.calls):
            return True
        inner = (each for site in unit.calls for each in self.flow.program.targets(self.flow, site))
        return levels > 1 and any(self._takes_gradient(each, levels - 1) for each in inner)

    def _is_alone(self, name: str, site: CallSite) -> bool:
        """Whether no other argument of a call is made anew, unless out of what the call before returned."""
        carried = {name, *targets(site.statement)}
        others = (each for each in _arguments(site.node) if last_part(each) not in carried)
        return not any(self._is_anew(each, site.scope) for each in others)

    def _is_anew(self, argument: ast.expr, scope: Scope) -> bool:
        definition = lookup(argument.id, scope) if isinstance(argument, ast.Name) else None
        if definition is not None:
            return any(map(self.moments.is_made_anew, definition[1]))
        return not isinstance(argument, (ast.Constant, ast.Attribute, ast.Name))

    # Functions that make examples

    def _is_given_more(self, site: CallSite) -> bool:
        """Whether a call is given more than settings: examples, a model, or what the training makes anew."""
        given = [each.value if isinstance(each, ast.Starred) else each for each in _arguments(site.node)]
        return is_given_examples(site.node) or any(
            handling.NO_DATA.search(last_part(each)) or self._is_anew(each, site.scope) for each in given
        )

    def _builds_model(self, site: CallSite) -> bool:
        """Whether a model is built with what a call before the training makes, and nothing else is done with it."""
        names = list(targets(site.statement))
        return bool(names) and all(
            builds_model(self._whole(node, site), site.scope.module, self.finder.parents)
            for name in names
            for node in self._early_reads(name, site)
        )

    def _early_reads(self, name: str, site: CallSite) -> Iterator[ast.AST]:
        """Yield where a name is read that has the value of a call: not where the training has given it another one."""
        definition = lookup(name, site.scope)
        home, bindings = definition or (site.scope, [])
        is_replaced = any(map(self.moments.is_made_anew, bindings))
        for load in self.finder.reads.of_name(site.scope.module, name):
            trains = self.moments.trains(load.scope.unit, load.nesting, load.node.lineno)
            if (lookup(name, load.scope) or (None,))[0] is home and not (is_replaced and trains):
                yield load.node

    def _whole(self, node: ast.AST, site: CallSite) -> ast.AST:
        """Return an attribute of an attribute of a value as it is handed on."""
        while isinstance(parent := self.finder.parents.of(node, site.scope.module), ast.Attribute):
            node = parent
        return node


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _builds(unit: Unit) -> bool:
    """Whether a function returns several things together: a tuple, a dictionary or an object of a class."""
    return bool(unit.returns) and all(any(map(_is_several, _values(*each))) for each in unit.returns)


def _values(value: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    definition = lookup(value.id, scope) if isinstance(value, ast.Name) else None
    bindings = definition[1] if definition is not None else []
    yield from (value, *(each.value for each in bindings if each.value is not None))


def _is_several(value: ast.expr) -> bool:
    return isinstance(value, (ast.Tuple, ast.Dict)) or (
        isinstance(value, ast.Call) and called_name(value)[:1].isupper()
    )


def _is_pure(unit: Unit) -> bool:
    """Whether a function neither acts nor asks a model: what it makes follows from its numbers and draws."""
    acts = any(called_name(site.node) in handling.STEPPING for site in unit.calls)
    return not acts and not any(
        handling.NO_DATA.search(last_part(node)) for node, scope, _ in unit.loads if not _is_own(node, scope, unit)
    )


def _is_own(node: ast.Name | ast.Attribute, scope: Scope, unit: Unit) -> bool:
    """Whether a name is a function's own."""
    definition = lookup(node.id, scope) if isinstance(node, ast.Name) else None
    return definition is not None and definition[0].unit is unit
