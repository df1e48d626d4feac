"""What becomes of a drawn value: within the function or class that draws it, and where it ends up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from deviate.source.draws import handling
from deviate.source.draws.calls import SEED_NAME, SEEDING, Drawn, learns
from deviate.source.draws.handling import Destination, Read, Reads, State
from deviate.source.draws.moments import Moments
from deviate.source.flow.evaluation import Flow
from deviate.source.flow.expressions import is_scaled_step
from deviate.source.flow.values import External, Instance, Ref
from deviate.source.index import (
    Binding,
    CallSite,
    ClassScope,
    ModuleIndex,
    Scope,
    Unit,
    enclosing_loops,
    is_within,
    lookup,
    surely_bound,
)
from deviate.source.syntax import Parents, called_name, last_part, passed_for

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
            case ast.Attribute(attr=attr) if attr in handling.ABOUT:
                pass
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
        for store in handling.stores(target):
            match store:
                case ast.Name() if (definition := lookup(store.id, scope)) is not None:
                    home, bindings = definition
                    self._follow_name(store.id, home, bindings, [home.unit], store)
                case ast.Attribute():
                    owner = scope.unit.enclosing_class
                    bindings = owner.attributes.get(store.attr, []) if owner is not None else []
                    units = owner.methods.values() if owner is not None else [scope.unit]
                    self._follow_name(store.attr, scope.module, bindings, units)

    def _follow_name(
        self, name: str, home: object, bindings: list[Binding], units: Iterable[Unit], store: ast.Name | None = None
    ) -> None:
        """Note a use that the name or an update of it shows, and follow the expressions that read it."""
        key = home, name, store.lineno if store is not None else 0
        if key in self.seen:
            return
        self.seen.add(key)
        if SEED_NAME.search(name):
            self.uses.seeds = self.uses.seeds or f"it becomes {name}"
        elsewhere = (each for module in self.flow.program.modules for each in module.attribute_stores.get(name, ()))
        if any(is_descent(each) and self.moments.updates(each) for each in (*bindings, *elsewhere)):
            self.uses.learned = self.uses.learned or f"{name} is updated"
        is_attribute = isinstance(home, ModuleIndex)
        for unit in units:
            for node, scope in unit.loads_by_name.get((name, is_attribute), ()):
                if store is None or may_hold(node, store, bindings):
                    self.waiting.append((node, scope))


def may_hold(node: ast.AST, store: ast.Name, bindings: list[Binding]) -> bool:
    """Tell whether a name may still hold, where it is read, what a statement gave it."""
    is_bound = any(each.kind == "assign" and each.line == store.lineno for each in bindings)
    sure = surely_bound(node, bindings) if is_bound and isinstance(node, ast.Name) else None
    return sure is None or sure.line == store.lineno


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


# Where a drawn value ends up: in parameters, or in arrays that the training is given.
#
# The value is followed through expressions, names, attributes, parameters and results, also from file to file. What is
# handed on to code that is not known is lost sight of, and then nothing is said.

#: Expressions visited for one draw.
MAX_FOLLOWED = 600


class DestinationFinder:
    """Follows values, each draw by itself."""

    def __init__(self, flow: Flow, moments: Moments, parents: Parents) -> None:
        self.flow = flow
        self.moments = moments
        self.parents = parents
        self.reads = Reads(flow)
        self._known: dict[Drawn, Destination] = {}

    def of(self, drawn: Drawn) -> Destination:
        """Return what becomes of what a draw gives."""
        if drawn not in self._known:
            walk = Walk(self)
            walk.run(drawn)
            self._known[drawn] = walk.destination
        return self._known[drawn]

    def calls_of_object(self, unit: Unit) -> list[CallSite]:
        """Return the calls of objects that run a method `__call__`."""
        if unit.owner is None or unit.name != "__call__":
            return []
        program = self.flow.program
        sites = [site for caller in sorted(program.reached, key=lambda each: each.position) for site in caller.calls]
        return [site for site in sites if unit in program.targets(self.flow, site)]


class Walk:
    """Follows one value."""

    def __init__(self, finder: DestinationFinder) -> None:
        self.flow = finder.flow
        self.program = finder.flow.program
        self.moments = finder.moments
        self.finder = finder
        self.destination = Destination()
        self.waiting: list[tuple[ast.AST, Scope, State]] = []
        self.seen: set[object] = set()
        #: Of the expression that is looked at.
        self.state = State()

    def run(self, drawn: Drawn) -> None:
        """Follow the value until it is lost sight of."""
        if drawn.into is not None:
            self._assigned(drawn.into, drawn.site.scope)
        self._follow(drawn.site.node, drawn.site.scope)
        while self.waiting and len(self.seen) < MAX_FOLLOWED and not self.destination.learned:
            node, scope, self.state = self.waiting.pop()
            if (node, self.state) not in self.seen:
                self.seen.add((node, self.state))
                self._step(node, scope)

    def _follow(self, node: ast.AST, scope: Scope, in_form: bool = True) -> None:
        """Go on with an expression; without `in_form` it is made of the value, and is not the value."""
        self.waiting.append((node, scope, self.state._replace(is_itself=self.state.is_itself and in_form)))

    def _step(self, node: ast.AST, scope: Scope) -> None:
        """Look at what is done with the value of one expression."""
        parent = self.finder.parents.of(node, scope.module)
        match parent:
            case ast.Attribute():
                self._read_attribute(parent, scope)
            case ast.Call() if parent.func is not node:
                self._given(parent, node, scope)
            case ast.Call() if self.state.is_function:
                self._called(parent, scope)
            case ast.keyword() | ast.Starred():
                around = self.finder.parents.of(parent, scope.module)
                if isinstance(around, ast.Call):
                    self._given(around, node, scope)
                elif isinstance(around, ast.expr):
                    self._follow(around, scope)
            case ast.Tuple() if isinstance(assign := self.finder.parents.of(parent, scope.module), ast.Assign):
                for target in handling.targets_of(assign, parent, node):
                    self._assigned(target, scope)
            case ast.Assign():
                for target in parent.targets:
                    self._assigned(target, scope)
            case ast.AugAssign() if parent.target is not node:
                # What something is added to is not what is added.
                self.state = self.state._replace(is_itself=False)
                self._assigned(parent.target, scope)
            case ast.AnnAssign() | ast.For() | ast.AsyncFor() if parent.target is not node:
                self._assigned(parent.target, scope)
            case ast.NamedExpr():
                self._assigned(parent.target, scope)
                self._follow(parent, scope)
            case ast.comprehension() if parent.iter is node:
                self._comprehended(parent, scope)
            case ast.Return() | ast.Yield() | ast.YieldFrom():
                self._returned(scope.unit)
            case ast.Lambda():
                self.waiting.append((parent, scope, self.state._replace(is_function=True)))
            case ast.expr():
                is_product = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.MatMult)
                self._follow(parent, scope, not is_product and handling.keeps(parent, node))

    def _called(self, call: ast.Call, scope: Scope) -> None:
        self.waiting.append((call, scope, self.state._replace(is_function=False)))

    def _read_attribute(self, attribute: ast.Attribute, scope: Scope) -> None:
        if attribute.attr in handling.ABOUT or not isinstance(attribute.ctx, ast.Load):
            return
        call = self.finder.parents.of(attribute, scope.module)
        if not (isinstance(call, ast.Call) and call.func is attribute):
            self._follow(attribute, scope)
        else:
            self._follow(call, scope, bool(handling.FORMS.search(attribute.attr)))

    def _comprehended(self, part: ast.comprehension, scope: Scope) -> None:
        around = self.finder.parents.of(part, scope.module)
        inner = scope.module.inner.get(around) if around is not None else None
        if around is not None and inner is not None:
            self._assigned(part.target, inner)
            self._follow(around, scope, in_form=False)

    def _returned(self, unit: Unit) -> None:
        if (unit, self.state) not in self.seen:
            self.seen.add((unit, self.state))
            around = self.state
            for site in [*self.program.callers(self.flow, unit), *self.finder.calls_of_object(unit)]:
                moment = self.moments.moment(site) if around.is_early else ""
                if moment != "during":
                    self.state = around._replace(is_early=around.is_early and not moment)
                    self._follow(site.node, site.scope)
            self.state = around

    # Calls that are given the value

    def _given(self, call: ast.Call, node: ast.AST, scope: Scope) -> None:
        """Look at a function that the value is handed to."""
        name = called_name(call)
        refs = self.flow.value(call.func, scope).refs
        if not (own := [ref for ref in refs if isinstance(ref, (Unit, ClassScope))]) and self.state.is_function:
            if name in {"map", "starmap"}:
                self._called(call, scope)
            return
        is_setting = any(each.value is node and each.arg not in handling.LEARNED for each in call.keywords)
        if (learns(call, name) and not is_setting) or name in handling.FILLING or handling.is_gradient(call, node):
            self._learn(f"given to {name or 'a gradient'}")
        elif self.moments.is_training_call(call) or (
            not own and name in handling.FITTING and isinstance(node, ast.expr)
        ):
            self._hand(node, f"it is given to {name}")
        elif own:
            is_early = self._is_early(call, scope)
            for ref in own:
                self._passed(ref, call, node, is_early=is_early)
        elif refs and not any(isinstance(ref, External) for ref in refs):
            return
        else:
            self._given_outside(call, name, refs, scope)

    def _given_outside(self, call: ast.Call, name: str, refs: tuple[Ref, ...], scope: Scope) -> None:
        dotted = [ref.dotted for ref in refs if isinstance(ref, External)]
        if handling.drops(name, dotted):
            return
        if name in handling.PUTTING and isinstance(call.func, ast.Attribute):
            self._assigned(call.func.value, scope)
        elif refs or name in handling.PRODUCTS:
            self._follow(call, scope, bool(handling.FORMS.search(name)))

    def _is_early(self, call: ast.Call, scope: Scope) -> bool:
        """Whether a call is made before the training, by itself or by the function that makes it."""
        if self.state.is_early:
            return True
        return any(self.moments.moment(site) == "before" for site in scope.unit.calls if site.node is call)

    def _passed(self, ref: Unit | ClassScope, call: ast.Call, node: ast.AST, *, is_early: bool) -> None:
        """Follow the value into a function of the project."""
        for unit in (self.program.method(self.flow, ref, "__init__") if isinstance(ref, ClassScope) else [ref])[:1]:
            for name in handling.given_as(unit, call, node):
                is_trained = self.moments.leads_to_loop(unit) and unit.display_name != "<module>"
                is_trained = is_trained or bool(handling.TRAINED_ON.search(name))
                if is_trained and not handling.NO_DATA.search(name):
                    self._hand(node, f"{unit.name} is given it")
                around = self.state
                self.state = around._replace(is_early=is_early and not self.moments.may_run_later(unit))
                self._stored(name, unit, unit.bindings.get(name, []))
                self.state = around

    # Names that hold the value

    def _assigned(self, target: ast.expr, scope: Scope) -> None:
        for store in handling.stores(target):
            match store:
                case ast.Name() if (definition := lookup(store.id, scope)) is not None:
                    self._stored(store.id, *definition, store)
                case ast.Attribute():
                    for owner in self._owners(store, scope):
                        self._stored_on_object(store.attr, owner)
                case ast.Call() if isinstance(store.func, ast.Attribute) and not self._is_library(store.func, scope):
                    self._assigned(store.func.value, scope)

    def _is_library(self, func: ast.expr, scope: Scope) -> bool:
        """Whether a function of a library is called, not a method of what holds the value."""
        return any(isinstance(ref, External) and not ref.made for ref in self.flow.value(func, scope).refs)

    def _stored(self, name: str, home: Scope, bindings: list[Binding], store: ast.Name | None = None) -> None:
        key = home, name, self.state, store.lineno if store is not None else 0
        if key in self.seen:
            return
        self.seen.add(key)
        self._updated(name, bindings)
        for load in self.finder.reads.of_name(home.module, name):
            definition = lookup(name, load.scope)
            if store is not None and load.scope.unit is home.unit and not may_hold(load.node, store, bindings):
                continue
            if definition is not None and definition[0] is home:
                # A function within the one that was called, or a lambda, may be called later.
                is_own = load.scope.unit is home and load.scope.lambda_around is None
                self._read(name, load, self.state._replace(is_early=self.state.is_early and is_own))
        if home is home.module.unit:
            self._imported(name, home.module)

    def _updated(self, name: str, bindings: list[Binding]) -> None:
        """Note what the training makes new values of out of the old ones."""
        if any(is_descent(each) and self.moments.updates(each) for each in bindings):
            self._learn(f"{name} is updated")
        elif carried := self.moments.carried(name, bindings):
            self._learn(carried)
        if self.state.is_itself and self.moments.changes(bindings):
            self.destination.changed = True

    def _learn(self, how: str) -> None:
        if self.state.is_itself:
            self.destination.learned = self.destination.learned or how

    def _imported(self, name: str, module: ModuleIndex) -> None:
        """Follow a name of a file into those that import it."""
        for other in self.program.modules:
            for bound, bindings in other.unit.bindings.items() if other is not module else ():
                for binding in bindings:
                    if binding.kind == "import" and binding.key.rpartition(".")[2] == name:
                        ref = self.program.resolve_dotted(binding.key, other)
                        if isinstance(ref, tuple) and ref == (module, name):
                            self._stored(bound, other.unit, bindings)

    def _owners(self, target: ast.Attribute, scope: Scope) -> list[ClassScope]:
        """Return the classes of the object that an attribute is set of."""
        own = scope.unit.enclosing_class
        if own is not None and isinstance(target.value, ast.Name) and target.value.id == "self":
            return [own]
        return [ref.cls for ref in self.flow.value(target.value, scope).refs if isinstance(ref, Instance)]

    def _stored_on_object(self, name: str, owner: ClassScope) -> None:
        if (owner, name, self.state) in self.seen:
            return
        self.seen.add((owner, name, self.state))
        self.state = self.state._replace(is_early=False)
        self._updated(name, owner.attributes.get(name, []))
        if any(handling.MODEL_METHODS.match(method) for method in owner.methods):
            return
        family = self.program.family(self.flow, owner)
        alone = len(self.program.attributes.get(name, [])) <= 1
        for load in self.finder.reads.of_attribute(name):
            if alone or load.scope.unit.enclosing_class in family:
                self._read(name, load, self.state)

    def _read(self, name: str, load: Read, state: State) -> None:
        is_trained = self.moments.trains(load.scope.unit, load.nesting, load.node.lineno)
        if is_trained and not state.is_function and not state.is_early:
            if not handling.NO_DATA.search(name) and not state.is_noise:
                self.destination.handed = self.destination.handed or f"the training reads {name}"
            # What the training computes of it is seen as a use of it; only whether it is updated is of interest now.
            if not state.is_itself:
                return
            is_noise = state.is_noise or bool(handling.NOISE.search(name))
            state = state._replace(is_trained=True, is_noise=is_noise)
        self.waiting.append((load.node, load.scope, state))

    def _hand(self, node: ast.AST, how: str) -> None:
        name = last_part(node)
        if not (self.state.is_function or self.state.is_noise) and not handling.NO_DATA.search(name):
            self.destination.handed = self.destination.handed or how
