"""Minibatches of what the training collects itself: of a replay memory, and of rollouts.

A training of an agent learns from what it met. It appends that to a collection and picks some of it, or orders the
last part of it and cuts that into parts. Which of it a step learns from is `shuffle`, as it is for a data set.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from deviate.analyse.draws import handling
from deviate.analyse.draws.assigned import targets
from deviate.analyse.draws.destinations import DestinationFinder
from deviate.analyse.draws.find import Drawn, gives_array
from deviate.analyse.draws.tables import PERMUTATIONS
from deviate.analyse.draws.uses import UseFinder, is_descent, measured
from deviate.analyse.source.index import Scope, Unit, enclosing_loops
from deviate.analyse.source.syntax import called_name, last_part

#: Methods that take something into a collection.
_COLLECTING = frozenset(("append", "appendleft", "extend", "add", "insert", "push", "put", "store", "remember"))
#: Calls that take a gradient, or fit a model.
_LEARNING = handling.TAKING_GRADIENT | set(handling.FITTING)
#: Calls that cut an order into parts.
_CUTTING = frozenset(("array_split", "split", "chunk", "BatchSampler", "batched"))
#: Functions that pick several elements of a sequence, in Python's own `random`.
_SEVERAL = frozenset(("sample", "choices"))


class MinibatchFinder:
    """Finds draws that choose what a step learns from out of what the training collected."""

    def __init__(self, finder: DestinationFinder, uses: UseFinder) -> None:
        self.uses = uses
        self.flow = finder.flow
        self.moments = finder.moments
        self.parents = finder.parents

    def collection(self, drawn: Drawn, callers: Iterable[Unit]) -> str:
        """Return the name of the collection that a draw picks several elements of, or their positions."""
        if not drawn.site.node.args or not self._learns([drawn.unit, *callers]) or not self._picks_several(drawn):
            return ""
        names = [last_part(measured(part)) for argument in drawn.site.node.args[:2] for part in _within_range(argument)]
        names += self.uses.uses(drawn).indexed
        return next((name for name in names if name and self._is_collected(name)), "")

    def parts(self, drawn: Drawn, callers: Iterable[Unit]) -> bool:
        """Tell whether a permutation is cut into parts: one that is taken whole mixes what it is applied to."""
        if drawn.call.rpartition(".")[2] not in PERMUTATIONS or not self._learns([drawn.unit, *callers]):
            return False
        names = set(targets(drawn.site.statement))
        loads = (node for node, _, _ in drawn.unit.loads if last_part(node) in names)
        return any(self._is_cut(node, drawn.site.scope) for node in (drawn.site.node, *loads))

    def _learns(self, units: Iterable[Unit]) -> bool:
        return any(
            any(called_name(site.node) in _LEARNING for site in unit.calls)
            or any(is_descent(each) and self.moments.updates(each) for own in unit.bindings.values() for each in own)
            for unit in units
        )

    def _picks_several(self, drawn: Drawn) -> bool:
        """Tell whether a draw gives several, or one for each round of a comprehension or of a loop in an iteration."""
        if called_name(drawn.site.node) in _SEVERAL and drawn.gives == "order":
            return True
        if drawn.gives not in {"order", "integers"} or drawn.into is not None:
            return False
        around = enclosing_loops(drawn.site.nesting)
        own = bool(around) and not self.moments.is_main_loop(around[0])
        return gives_array(drawn) or own or drawn.site.scope.kind == "comprehension"

    def _is_collected(self, name: str) -> bool:
        """Tell whether the training takes something into a collection of this name, or writes over its elements."""
        units = self.flow.program.reached
        return any(
            isinstance(store.target, ast.Subscript)
            and isinstance(store.statement, ast.Assign)
            and last_part(store.target.value) == name
            and self.moments.trains(unit, store.nesting, store.target.lineno)
            for unit in units
            for store in unit.stores
        ) or any(
            called_name(site.node) in _COLLECTING
            and isinstance(site.node.func, ast.Attribute)
            and last_part(site.node.func.value) == name
            and self.moments.moment(site) == "during"
            for unit in units
            for site in unit.calls
        )

    def _is_cut(self, node: ast.AST, scope: Scope) -> bool:
        parent = self.parents.of(node, scope.module)
        match parent:
            case ast.Subscript(value=value, slice=ast.Slice()) if value is node:
                return True
            case ast.Call() if parent.func is not node:
                return called_name(parent) in _CUTTING or self._is_cut(parent, scope)
            case ast.Attribute():
                call = self.parents.of(parent, scope.module)
                return parent.attr in _CUTTING or (isinstance(call, ast.Call) and self._is_cut(call, scope))
        return False


def _within_range(argument: ast.expr) -> Iterator[ast.expr]:
    """Yield an argument, and what stands in ``range(…)`` if it is that."""
    yield argument
    if isinstance(argument, ast.Call) and called_name(argument) in {"range", "arange", "len"}:
        yield from argument.args
