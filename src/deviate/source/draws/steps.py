"""What a step of the training learns from: examples, minibatches of what it collects, and what an agent does.

A step is given what it changes, such as parameters and the state of an optimizer, and what it learns from. The one is
carried from step to step or made once; so an argument that alone is made anew is an example, whatever it is called.

Examples may come from a function, a lambda or a generator of the project. Whether such a function makes examples or
noise, its own name need not tell. The name under which the training receives the value does, if the value is made out
of nothing: a function that is given examples changes them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from deviate.source.draws import handling
from deviate.source.draws.calls import PERMUTATIONS, Drawn, gives_array
from deviate.source.draws.handling import targets
from deviate.source.draws.roles import builds_model
from deviate.source.draws.uses import DestinationFinder, UseFinder, Walk, is_descent, measured
from deviate.source.flow.reach import CallGraph
from deviate.source.index import Binding, CallSite, Scope, Unit, enclosing_loops, lookup
from deviate.source.syntax import called_name, dotted_text, last_part

#: Names of what a step learns from.
_EXAMPLES = re.compile(
    r"(^|_)([xXyY]s?|data|inputs?|targets?|labels?|images?|examples|src|tgt|tokens|sequences?|batch|real\w*)\d*(_|$)"
)
#: Names of what only looks like examples: what a generator is given or makes, and what yields examples.
_UNLIKE = re.compile(
    r"(^|_)(g|gen\w*|noise\w*|noisy|fakes?|z|latents?|samples?|neg\w*|init|iter\w*|\w*loader|sampler|fn|func)\d*(_|$)"
)
#: Names of numbers about examples.
_ABOUT = re.compile(r"(size|dim|len|length|num|count|shape|range|rate|mean|std\w*)s?$", re.IGNORECASE)


def received_as(finder: DestinationFinder, drawn: Drawn) -> str:
    """Return the name under which the training, and nothing before it, receives what a function draws anew."""
    if drawn.call.endswith("_like") or (
        drawn.site.scope.lambda_around is None and not _serves_only_steps(finder, drawn)
    ):
        return ""
    walk = _Walk(finder, drawn)
    walk.run(drawn)
    return "" if walk.is_refuted else walk.name


def _serves_only_steps(finder: DestinationFinder, drawn: Drawn) -> bool:
    """Whether a function makes something out of nothing, and not before the training: a generator runs later."""
    sites = finder.flow.program.callers(finder.flow, drawn.unit)
    is_early = not drawn.unit.yields and any(finder.moments.moment(site) == "before" for site in sites)
    return not is_early and not any(is_given_examples(site.node) for site in sites)


class _Walk(Walk):
    """Follows a value out of the code that draws it."""

    def __init__(self, finder: DestinationFinder, drawn: Drawn) -> None:
        super().__init__(finder)
        self.drawn = drawn
        self.name = ""
        #: Whether code that does not train receives examples, too, or the function is given some.
        self.is_refuted = False

    def _called(self, call: ast.Call, scope: Scope) -> None:
        self.is_refuted |= is_given_examples(call)
        super()._called(call, scope)

    def _assigned(self, target: ast.expr, scope: Scope) -> None:
        has_left = self.drawn.site.scope.lambda_around is not None or scope.unit is not self.drawn.unit
        named = [store for store in handling.stores(target) if isinstance(store, ast.Name) and _is_example(store.id)]
        if self.state.is_function or not has_left or not named:
            super()._assigned(target, scope)
            return
        for name in named:
            _, bindings = lookup(name.id, scope) or (scope, [])
            if any(self._is_step(each) for each in bindings if each.line == name.lineno):
                self.name = self.name or name.id
            else:
                self.is_refuted = True

    def _is_step(self, binding: Binding) -> bool:
        """Whether code that learns receives a value anew in each iteration."""
        unit = binding.scope.unit
        steps = self.moments.leads_to_loop(unit) or any(
            called_name(site.node) in handling.STEPPING for site in unit.calls
        )
        return steps and self.moments.is_made_anew(binding)


def _is_example(name: str) -> bool:
    return bool(_EXAMPLES.search(name)) and not _UNLIKE.search(name)


def is_given_examples(call: ast.Call) -> bool:
    """Whether a call is given examples, by the names of its arguments."""
    names = [
        part.attr if isinstance(part, ast.Attribute) else part.id
        for argument in (*call.args, *(key.value for key in call.keywords))
        for part in ast.walk(argument)
        if isinstance(part, (ast.Name, ast.Attribute))
    ]
    return any(_EXAMPLES.search(name) for name in names if not _ABOUT.search(name))


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
    definition = lookup(node.id, scope) if isinstance(node, ast.Name) else None
    return definition is not None and definition[0].unit is unit


# Minibatches of what the training collects itself: of a replay memory, and of rollouts.
#
# A training of an agent learns from what it met. It appends that to a collection and picks some of it, or orders the
# last part of it and cuts that into parts. Which of it a step learns from is `shuffle`, as it is for a data set.

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


# What an agent does: draws that an environment is given.
#
# ``state, reward, done = env.step(int(a))`` is given an action, whatever its name and whoever draws it: the policy in
# its forward pass, a function of the agent's, or the loop itself.

#: What an environment is called where its step gives one thing; an optimiser's and a schedule's give none.
_ENVIRONMENT = re.compile(r"(^|_)(envs?|environments?|games?|simulator)\d*$")
#: Observation, reward and whether it ended, at least, are what a step gives.
_GIVEN_BACK = 3
#: Functions between a draw and the step.
MOST_CALLERS = 3


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
        for _ in range(MOST_CALLERS):
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
