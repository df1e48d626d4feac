"""Whether a piece of code surely runs before the training, or within its main loop.

Only the training loop counts as the loop: the main loop, what runs within it, and loops in which gradients change
weights (a pre-training). A function that makes data has loops of its own, and arithmetic in them that looks like an
update of weights.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from deviate.core.experiment import MainLoop
from deviate.lexicon.words import words_like
from deviate.source.draws.calls import Drawn
from deviate.source.draws.handling import targets
from deviate.source.draws.roles import Role
from deviate.source.flow.evaluation import Flow
from deviate.source.flow.reach import CallGraph
from deviate.source.index import Binding, CallSite, ModuleIndex, Nesting, Scope, Unit, enclosing_loops, is_within
from deviate.source.main_loop import Phases
from deviate.source.syntax import Parents, called_name, last_part, text_of, unpacked

Moment = Literal["before", "during", ""]

#: Functions that give their argument in another order or form: what is assigned back to the same name stays what it is.
_SAME_THING = re.compile(
    words_like("(re_?)?shuffled?", "(rand_?)?perm(?!i)|augment|((de|un)_?)?normali[sz]e")
    + r"|^(?i:to|cuda|cpu|float|double|array|asarray|tensor|Variable|next|iter|reset|"
    r"from_numpy|roll|flip|clip|crop|resample|choice|reshape|transpose)$"
)
#: What is carried from iteration to iteration without being learned, and what is named like examples.
_NOT_LEARNED = re.compile(
    r"(^|_)(hidden|h\d*|states?|obs\w*|observations?|z|noises?|latents?|keys?|rngs?|total|best|loss\w*|"
    r"[xXyY]s?|data|inputs?|targets?|labels?|batch\w*|images?|points|actions?|rewards?)\d*(_|$)"
)

#: What is learned, by its name and by the loop that adds to it.
_PARAMETER = re.compile(r"^[WU]\w{0,2}$|^V\d*$|^[wb]\d*$|^(weights?|bias|theta|params)\d*$")


class Moments:
    """Tells moments; of code that may run at several it says nothing.

    `phases` is None where there is no main loop. Where it is a library's, the call of that stands for it.
    """

    def __init__(self, graph: CallGraph, phases: Phases | None, main_loop: MainLoop | None) -> None:
        self.graph = graph
        self.phases = phases
        self.parents = Parents()
        self.calls_library = main_loop is not None and main_loop.kind == "call"
        self.before = self._called_before(phases) if phases is not None else set[Unit]()
        #: Functions that objects were made with before the training, and what they run: a step may call them.
        self.held_by_objects = self._held_by_objects(phases) if phases is not None else set[Unit]()

    def _called_before(self, phases: Phases) -> set[Unit]:
        roots = [
            edge.target
            for unit, ways in phases.ways.items()
            for kept in [self._kept_for_later(unit, phases)]
            for edge in self.graph.edges(unit)
            if edge.target not in phases.ways
            and edge.target not in kept
            and not is_within(edge.nesting, phases.loop.node)
            and any(edge.line < line or (edge.line == line and not edge.target.yields) for line, _ in ways)
        ]
        return self.graph.closure(roots)

    def _kept_for_later(self, unit: Unit, phases: Phases) -> set[Unit]:
        """Return the functions that code only names, for the training to call: it hands them to that.

        With arguments or without, under another name or not. What is handed to anything else may run there.
        """
        last = max((line for line, _ in phases.ways[unit]), default=0)
        called = {edge.target for edge in self.graph.edges(unit) if edge.called}
        kept, used = set[Unit](), set[Unit]()
        for node, scope, _ in unit.loads:
            if node.lineno > last:
                continue
            named = {ref for ref in self.graph.flow.value(node, scope).refs if isinstance(ref, Unit)}
            if named:
                (kept if self._is_handed_on(node, scope, phases) else used).update(named)
        return kept - used - called

    def _held_by_objects(self, phases: Phases) -> set[Unit]:
        """Return the functions that are given to what is named like a class, on the way to the loop."""
        held = set[Unit]()
        for unit, ways in phases.ways.items():
            last = max((line for line, _ in ways), default=0)
            for site in unit.calls:
                if site.node.lineno <= last and called_name(site.node)[:1].isupper():
                    given = [*site.node.args, *(key.value for key in site.node.keywords)]
                    refs = (ref for each in given for ref in self.graph.flow.value(each, site.scope).refs)
                    held.update(ref for ref in refs if isinstance(ref, Unit))
        return self.graph.closure(sorted(held, key=lambda unit: unit.position))

    def _is_handed_on(self, node: ast.AST, scope: Scope, phases: Phases) -> bool:
        """Whether a function is assigned to a name, or given to what leads to the training loop."""
        parent = self.parents.of(node, scope.module)
        if isinstance(parent, ast.keyword):
            parent = self.parents.of(parent, scope.module)
        if not isinstance(parent, ast.Call):
            return isinstance(parent, ast.Assign)
        if called_name(parent) == "partial":
            return self._is_handed_on(parent, scope, phases)
        refs = self.graph.flow.value(parent.func, scope).refs
        return any(isinstance(ref, Unit) and ref in phases.ways for ref in refs)

    def leads_to_loop(self, unit: Unit) -> bool:
        """Whether a function holds the main loop or calls what leads to it."""
        return unit.display_name == "<module>" or (self.phases is not None and self.phases.leads_to_loop(unit))

    def may_repeat(self, site: CallSite) -> bool:
        """Whether a call that may run before the training may run in it as well, if only to make an object."""
        is_made = self.phases is not None and site.scope.unit in self.phases.made_during
        return is_made or not self.moment(site)

    def may_run_later(self, unit: Unit) -> bool:
        """Whether the training may run code of a function that is called before it: its loop, or a generator's body."""
        return bool(unit.yields) or self.leads_to_loop(unit)

    def once_an_iteration(self, site: CallSite) -> bool:
        """Whether a call is made in no loop but the main loop: in its body, or in a function that this calls."""
        if self.phases is None:
            return False
        around, loop = enclosing_loops(site.nesting), self.phases.loop.node
        if around:
            return around[0] is loop
        called = (edge for edge in self.graph.edges(self.phases.unit) if edge.target is site.scope.unit)
        return any(enclosing_loops(edge.nesting)[:1] == [loop] for edge in called)

    def is_main_loop(self, node: ast.AST) -> bool:
        """Whether a loop is the main loop."""
        return self.phases is not None and node is self.phases.loop.node

    def moment(self, site: CallSite) -> Moment:
        """Say when a call runs."""
        unit, line = site.scope.unit, site.node.lineno
        if self.phases is None:
            return ""
        ways = self.phases.ways.get(unit)
        is_kept = self._is_in_kept_lambda(site.scope)
        if ways is not None:
            if is_within(site.nesting, self.phases.loop.node):
                return "during"
            return "before" if not is_kept and ways and all(line <= at for at, _ in ways) else ""
        # A generator draws when its next value is requested; so does an endless loop that feeds another process.
        during = unit in self.phases.during or bool(unit.yields) or _is_endless(site)
        if unit in self.before or unit.display_name == "<module>":
            if self._feeds_loop(unit):
                return "during"
            return "" if during or is_kept or unit in self.held_by_objects else "before"
        # A library calls the methods of its own loop before the training as well.
        return "during" if during and not self.calls_library else ""

    def _is_in_kept_lambda(self, scope: Scope) -> bool:
        """Whether code stands in a lambda that is kept for the training, not handed to a call or called at once."""
        around = scope.lambda_around
        parent = self.parents.of(around.node, scope.module) if around is not None else None
        if around is None or isinstance(parent, (ast.Call, ast.keyword)):
            return False
        names = (
            {target.id for target in parent.targets if isinstance(target, ast.Name)}
            if isinstance(parent, ast.Assign)
            else set[str]()
        )
        return not names or any(
            not self._is_callee(node, scope.module) or self.trains(unit, nesting, node.lineno)
            for unit in scope.module.units
            for node, _, nesting in unit.loads
            if isinstance(node, ast.Name) and node.id in names
        )

    def _is_callee(self, node: ast.AST, module: ModuleIndex) -> bool:
        parent = self.parents.of(node, module)
        return isinstance(parent, ast.Call) and parent.func is node

    def _feeds_loop(self, unit: Unit) -> bool:
        """Whether the main loop is one over what a generator yields, made before it."""
        if not unit.yields or self.phases is None or not isinstance(self.phases.loop.node, (ast.For, ast.AsyncFor)):
            return False
        read = {part.id for part in ast.walk(self.phases.loop.node.iter) if isinstance(part, ast.Name)}
        sites = self.graph.program.callers(self.graph.flow, unit)
        return any(
            isinstance(target, ast.Name) and target.id in read
            for site in sites
            if isinstance(site.statement, ast.Assign) and site.statement.value is site.node
            for target in site.statement.targets
        )

    def repeats_the_training(self, nesting: Nesting | None, unit: Unit) -> bool:
        """Whether code stands in a loop that the whole training stands in."""
        ways = self.phases.ways.get(unit, []) if self.phases is not None else []
        around = enclosing_loops(nesting)
        return any(loop in around for _, way in ways for loop in enclosing_loops(way))

    # What the training does with a value

    def trains(self, unit: Unit, nesting: Nesting | None, line: int) -> bool:
        """Whether code runs within the training, or after it."""
        if self.phases is None:
            return False
        if unit in self.phases.ways:
            return self._stands_in_loop(unit, nesting, line) or self.phases.is_after(unit, line, nesting)
        return unit in self.phases.during or unit in self.phases.after

    def updates(self, binding: Binding) -> bool:
        """Whether an assignment may be a step of the training: not one in a function that only prepares it."""
        if self.phases is None:
            return True
        unit = binding.scope.unit
        if unit in self.phases.ways:
            return self._stands_in_loop(unit, binding.nesting, binding.line)
        return unit in self.phases.during or unit not in self.before

    def is_made_anew(self, binding: Binding) -> bool:
        """Whether the training may give a name another value in each iteration."""
        if self.phases is None:
            return True
        unit = binding.scope.unit
        if unit in self.phases.ways:
            return self._stands_in_loop(unit, binding.nesting, binding.line)
        return unit in self.phases.during

    def is_training_call(self, call: ast.Call) -> bool:
        """Whether a call runs a library's training loop."""
        return self.calls_library and self.phases is not None and call is self.phases.loop.node

    def carried(self, name: str, bindings: Iterable[Binding]) -> str:
        """Say how the training loop makes new values of a name out of its old ones; empty where it does not."""
        if self.phases is None or self.calls_library or _NOT_LEARNED.search(name):
            return ""
        return next((f"the training loop updates {name}" for each in bindings if self._carries(name, each)), "")

    def changes(self, bindings: Iterable[Binding]) -> bool:
        """Whether the training loop adds to a name in place, or takes from it."""
        loop = self.phases.loop.node if self.phases is not None and not self.calls_library else None
        return loop is not None and any(each.kind == "aug" and is_within(each.nesting, loop) for each in bindings)

    def _carries(self, name: str, binding: Binding) -> bool:
        assert self.phases is not None
        is_attribute = binding.kind in {"assign", "aug"} and _assigns_attribute(binding.statement)
        if not (
            is_within(binding.nesting, self.phases.loop.node)
            or (is_attribute and binding.scope.unit in self.phases.during)
        ):
            return False
        if isinstance(binding.statement, ast.AugAssign):
            product = isinstance(binding.statement.value, ast.BinOp) and isinstance(
                binding.statement.value.op, (ast.Mult, ast.MatMult, ast.Div)
            )
            return (isinstance(binding.statement.op, ast.Sub) and product) or (
                isinstance(binding.statement.op, (ast.Add, ast.Sub)) and _PARAMETER.search(name) is not None
            )
        value = unpacked(binding) or binding.value
        return binding.kind == "assign" and value is not None and name in _made_of(value)

    def _stands_in_loop(self, unit: Unit, nesting: Nesting | None, line: int) -> bool:
        assert self.phases is not None
        loop = self.phases.loop.node
        header = loop.lineno <= line <= (getattr(loop, "end_lineno", None) or loop.lineno)
        return is_within(nesting, loop) or (unit is self.phases.unit and header)


def _assigns_attribute(statement: ast.AST | None) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    parts = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return any(isinstance(part, ast.Attribute) for part in parts)


def _made_of(value: ast.expr) -> Iterator[str]:
    """Yield the names that a sum or product is made of, or that a function makes a new value of."""
    match value:
        case ast.Name():
            pass
        case ast.BinOp():
            for side in (value.left, value.right):
                yield from [last_part(side)] if last_part(side) else _made_of(side)
        case ast.Call() if not _SAME_THING.search(called_name(value)):
            yield from (last_part(argument) for argument in value.args)


def _is_endless(site: CallSite) -> bool:
    tests = (loop.test for loop in enclosing_loops(site.nesting) if isinstance(loop, ast.While))
    return any(isinstance(test, ast.Constant) and bool(test.value) for test in tests)


# Calls of functions that make data both before the training and in it.
#
# What such a function draws is of no one factor: it makes the test set first, and then each batch. Each of its calls is
# of one, and makes the draws within it be of that.

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
                data.append(Serving(drawn, Role("data", why, by_name=True)))
        return [*data, *anew] if data and (anew or unit in self.moments.held_by_objects) else []

    def _calls(self, unit: Unit, levels: int, seen: set[Unit]) -> Iterator[CallSite]:
        """Yield the calls that a function runs by: its own, or those of what calls it, up to one of a known moment."""
        seen.add(unit)
        for site in self.flow.program.callers(self.flow, unit):
            caller = site.scope.unit
            # A function that is called for what it does makes no data.
            if caller not in self.flow.program.reached or not site.is_used:
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
