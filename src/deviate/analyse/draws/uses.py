"""Uses of a drawn value within the function or class that draws it: as a seed, as a parameter, or as positions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from deviate.analyse.draws import handling
from deviate.analyse.draws.find import Drawn
from deviate.analyse.draws.moments import Moments
from deviate.analyse.draws.tables import SEED_NAME, SEEDING, learns
from deviate.analyse.flow.evaluation import Flow
from deviate.analyse.flow.expressions import is_scaled_step
from deviate.analyse.flow.values import External
from deviate.analyse.source.index import (
    Binding,
    CallSite,
    ModuleIndex,
    Scope,
    Unit,
    enclosing_loops,
    is_within,
    lookup,
)
from deviate.analyse.source.parents import Parents
from deviate.analyse.source.syntax import called_name, last_part, passed_for

#: Expressions visited for one draw.
MAX_VISITS = 150
#: Callers of callers that are asked what they pass.
MAX_LEVELS = 3

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

#: Names of gradients and of what is made of them.
_STEP = re.compile(
    r"^(d[WwbB]\w{0,3}|dtheta|grads?|gradients?|grad_\w+|delta_?[WwbB]?|velocity|updates?|[vm]_?[WwbB]\d*)\d*$"
)


#: Names of what is learned from.
_EXAMPLES = re.compile(
    r"(^|_)([xXyY]s?|data|data_?sets?|inputs?|targets?|labels?|images?|train|samples|examples|corpus|observations?)\d*"
    r"(_|$)"
)


@dataclass
class Uses:
    """How a value is used, as text for people; empty where no such use was seen."""

    seeds: str = ""
    learned: str = ""
    #: Examples that the training does not make anew, of which it picks some.
    picks: str = ""
    #: All that it picks from, by name.
    indexed: list[str] = field(default_factory=list)
    #: Calls of functions of the project that are given it.
    given_to: list[ast.Call] = field(default_factory=list)


class UseFinder:
    """Follows values through expressions and names."""

    def __init__(self, flow: Flow, moments: Moments, parents: Parents) -> None:
        self.flow = flow
        self.moments = moments
        self.parents = parents

    def uses(self, drawn: Drawn) -> Uses:
        """Return what becomes of what a draw gives."""
        walk = _Walk(self, drawn)
        walk.run()
        return walk.uses

    def orders(self, drawn: Drawn) -> str:
        """Return the name of the examples that a permutation is of, in a loop that learns: ``permutation(len(x))``."""
        if not drawn.site.node.args or not learns_around(drawn.site):
            return ""
        array = measured(drawn.site.node.args[0])
        return last_part(array) if self.are_examples(array, drawn) else ""

    def comprehension(self, site: CallSite) -> ast.expr | None:
        """Return the outermost comprehension that a call stands in within its statement; None where it is in none."""
        found, at = None, self.parents.of(site.node, site.scope.module)
        while isinstance(at, (ast.expr, ast.comprehension, ast.keyword)):
            found = at if isinstance(at, _COMPREHENSIONS) else found
            at = self.parents.of(at, site.scope.module)
        return found

    def are_examples(self, array: ast.expr, drawn: Drawn, scope: Scope | None = None) -> bool:
        """Tell whether something is named like examples and the training does not make it anew.

        What a function was given is looked up in its callers only where a loop around the draw learns: a function that
        shows or measures is given the same examples.
        """
        depth = 0 if learns_around(drawn.site) else MAX_LEVELS
        return bool(_EXAMPLES.search(last_part(array))) and self._is_kept(array, scope or drawn.site.scope, depth)

    def _is_kept(self, array: ast.expr, scope: Scope, depth: int) -> bool:
        definition = lookup(array.id, scope) if isinstance(array, ast.Name) else None
        if definition is None:
            return isinstance(array, (ast.Name, ast.Attribute))
        return all(self._is_kept_binding(binding, depth) for binding in definition[1])

    def _is_kept_binding(self, binding: Binding, depth: int) -> bool:
        """Whether a name stays what it is while the training goes on; of a parameter, whether what is passed does."""
        passed = list(self._passed(binding)) if binding.kind == "param" and depth < MAX_LEVELS else []
        if not passed:
            return not self.moments.is_made_anew(binding)
        return all(self._is_kept(value, scope, depth + 1) for value, scope in passed)

    def _passed(self, parameter: Binding) -> Iterator[tuple[ast.expr, Scope]]:
        """Yield what the running code passes for a parameter."""
        unit, program = parameter.scope.unit, self.flow.program
        for site in program.callers(self.flow, unit):
            if site.scope.unit in program.reached:
                yield from ((value, site.scope) for value in passed_for(site.node, unit, parameter.key))


class _Walk:
    def __init__(self, finder: UseFinder, drawn: Drawn) -> None:
        self.finder = finder
        self.drawn = drawn
        self.flow = finder.flow
        self.moments = finder.moments
        self.parents = finder.parents
        self.uses = Uses()
        self.waiting: list[tuple[ast.AST, Scope]] = []
        self.seen: set[object] = set()

    def run(self) -> None:
        """Follow the value until it is lost sight of."""
        drawn = self.drawn
        if drawn.into is not None:
            self._assigned(drawn.into, drawn.site.scope)
        self.waiting.append((drawn.site.node, drawn.site.scope))
        while self.waiting and len(self.seen) < MAX_VISITS:
            node, scope = self.waiting.pop()
            if node not in self.seen:
                self.seen.add(node)
                self._step(node, scope)

    def _step(self, node: ast.AST, scope: Scope) -> None:
        """Look at what is done with the value of one expression."""
        parent = self.parents.of(node, scope.module)
        match parent:
            case ast.Attribute():
                call = self.parents.of(parent, scope.module)
                self.waiting.append((call if isinstance(call, ast.Call) and call.func is parent else parent, scope))
            case ast.Call() if parent.func is not node:
                self._given(parent, "", scope)
            case ast.keyword():
                self._given(self.parents.of(parent, scope.module), parent.arg or "", scope)
            case ast.Tuple() if isinstance(assign := self.parents.of(parent, scope.module), ast.Assign):
                for target in handling.targets_of(assign, parent, node):
                    self._assigned(target, scope)
            case ast.Assign():
                for target in parent.targets:
                    self._assigned(target, scope)
            case ast.AnnAssign():
                self._assigned(parent.target, scope)
            case ast.For() | ast.AsyncFor() if parent.iter is node:
                self._assigned(parent.target, scope)
            case ast.comprehension() if parent.iter is node:
                around = self.parents.of(parent, scope.module)
                self._assigned(parent.target, scope.module.inner.get(around, scope) if around else scope)
            case ast.Lambda() | ast.Compare() | ast.BinOp(op=ast.MatMult()):
                pass
            case ast.Subscript() if parent.slice is node:
                self._picked(parent.value, scope)
            case ast.expr():
                self.waiting.append((parent, scope))

    def _picked(self, array: ast.expr, scope: Scope) -> None:
        """Note an array of examples that the value picks from, unless the training makes the array anew."""
        self.uses.indexed.append(last_part(array))
        if self.finder.are_examples(array, self.drawn, scope):
            self.uses.picks = self.uses.picks or last_part(array)

    def _given(self, call: ast.AST | None, keyword: str, scope: Scope) -> None:
        """Look at a function that the value is handed to; what a library's function returns stands for the value."""
        if not isinstance(call, ast.Call):
            return
        name = called_name(call)
        refs = self.flow.value(call.func, scope).refs
        if _seeds(name, [ref.dotted for ref in refs if isinstance(ref, External)]) or SEED_NAME.search(keyword):
            self.uses.seeds = self.uses.seeds or f"it seeds {name or 'a generator'}"
        elif learns(call, name):
            self.uses.learned = name
        elif refs and all(isinstance(ref, External) for ref in refs):
            self.waiting.append((call, scope))
        else:
            self.uses.given_to.append(call)

    def _assigned(self, target: ast.expr, scope: Scope) -> None:
        """Follow the target of an assignment."""
        for store in handling.stores(target):
            match store:
                case ast.Name() if (definition := lookup(store.id, scope)) is not None:
                    home, bindings = definition
                    self._follow_name(store.id, home, bindings, [home.unit])
                case ast.Attribute():
                    owner = scope.unit.enclosing_class
                    bindings = owner.attributes.get(store.attr, []) if owner is not None else []
                    units = owner.methods.values() if owner is not None else [scope.unit]
                    self._follow_name(store.attr, scope.module, bindings, units)

    def _follow_name(self, name: str, home: object, bindings: list[Binding], units: Iterable[Unit]) -> None:
        """Note a use that the name or an update of it shows, and follow the expressions that read it."""
        if (home, name) in self.seen:
            return
        self.seen.add((home, name))
        if SEED_NAME.search(name):
            self.uses.seeds = self.uses.seeds or f"it becomes {name}"
        elsewhere = (each for module in self.flow.program.modules for each in module.attribute_stores.get(name, ()))
        if any(is_descent(each) and self.moments.updates(each) for each in (*bindings, *elsewhere)):
            self.uses.learned = self.uses.learned or f"{name} is updated"
        is_attribute = isinstance(home, ModuleIndex)
        for unit in units:
            for node, scope in unit.loads_by_name.get((name, is_attribute), ()):
                self.waiting.append((node, scope))


def learns_around(site: CallSite) -> bool:
    """Tell whether a loop around a call also takes a step of learning, in the same function."""
    loops = enclosing_loops(site.nesting)
    return any(
        is_within(other.nesting, loop)
        for other in site.scope.unit.calls
        if called_name(other.node) in handling.STEPPING
        for loop in loops
    )


def measured(argument: ast.expr) -> ast.expr:
    """Return the array whose length an expression gives; any other expression as it is."""
    match argument:
        case ast.Call(func=ast.Name(id="len"), args=[array]):
            return array
        case ast.Subscript(value=ast.Attribute(value=array, attr="shape")):
            return array
        case ast.Call(func=ast.Attribute(value=array, attr="size")):
            return array
    return argument


def _seeds(name: str, dotted: list[str]) -> bool:
    """Whether a function, whose dotted names are known or not, seeds a generator."""
    if not SEEDING.search(name) and name != "key":
        return False
    return any(map(SEEDING.search, dotted)) or (not dotted and name not in {"key", "Random"})


def is_descent(binding: Binding) -> bool:
    """Tell whether an assignment takes a step down a gradient."""
    statement, value = binding.statement, binding.value
    if isinstance(statement, ast.AugAssign):
        step = any(map(_STEP.match, _names(statement.value))) or is_scaled_step(statement.value)
        return isinstance(statement.op, (ast.Sub, ast.Add)) and step
    descends = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub) and is_scaled_step(value.right)
    return descends and binding.kind in {"assign", "element", "key"}


def _names(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, (ast.Name, ast.Attribute)):
            yield part.id if isinstance(part, ast.Name) else part.attr
