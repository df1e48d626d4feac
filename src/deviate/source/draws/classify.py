"""All draws of a project, each with its factor: that of the first rule that applies."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from deviate.core.experiment import Draw, MainLoop
from deviate.source.draws.calls import PERMUTATIONS, SEEDING, Compiled, Drawn, find_drawn, gives_array
from deviate.source.draws.handling import SHOWN, is_action, is_latent, targets
from deviate.source.draws.moments import Moments, Serving, ServingFinder
from deviate.source.draws.roles import Role, Roles, builds_model, gives_shapes
from deviate.source.draws.steps import ActionFinder, MinibatchFinder, StepFinder, received_as
from deviate.source.draws.uses import DestinationFinder, UseFinder
from deviate.source.flow.evaluation import Flow
from deviate.source.flow.reach import CallGraph
from deviate.source.index import CallSite, Unit, enclosing_loops
from deviate.source.main_loop import Phases
from deviate.source.syntax import Parents, dotted_text, span_of

#: Why a draw in code that a compiler reads is not wrapped.
COMPILED = "a compiler reads the code, so it is left as it is"

#: Callers are followed so far for one whose role is known.
MAX_LEVELS = 2

#: Parameters of a layer, by the names that torch gives them.
_FILLED = re.compile(r"\.(weight|bias)(\.data)?$")
_DATA = re.compile(r"(^|_)([xXyY]s?|data|inputs?|targets?|labels?|true|points)\d*(_|$)")
_UNDECIDED = Role(
    "other", "its purpose is not known; it counts for what the program does at that moment", undecided=True
)


def find_draws(flow: Flow, graph: CallGraph, phases: Phases | None, main_loop: MainLoop | None) -> list[Draw]:
    """Find the calls of the running code that draw random numbers, and say which factor each is of."""
    draws = find_drawn(flow)
    if not draws:
        return []
    classifier = Classifier(flow, graph, Moments(graph, phases, main_loop))
    compiled = Compiled(flow, graph)
    roles = {drawn: classifier.role(drawn) for drawn in draws}
    undecided = [drawn for drawn, role in roles.items() if role.undecided]
    # Data sets that are made before the training and, perhaps, anew while it trains.
    data_sets = [drawn for drawn, role in roles.items() if classifier.may_make_data_anew(drawn, role)]
    finder = ServingFinder(flow, classifier.moments, classifier.makes_data)
    serving = [*finder.find(undecided), *finder.find(data_sets, known=True)]
    roles.update(classifier.given_to(undecided, serving))
    roles.update({drawn: _UNDECIDED for drawn in data_sets if drawn.unit in finder.served})
    roles.update({call.drawn: call.role for call in serving})
    roles.update(classifier.beside([drawn for drawn in undecided if roles[drawn].undecided], roles))
    # Whether a site of a model draws at all is for the library to decide, which draws itself then.
    known = {drawn: role for drawn, role in roles.items() if not (role.undecided and drawn.gives == "site")}
    found = [_draw(drawn, role, compiled) for drawn, role in known.items()]
    return sorted(found, key=lambda draw: (draw.file, draw.line))


def _draw(drawn: Drawn, role: Role, compiled: Compiled) -> Draw:
    node, module = drawn.site.node, drawn.unit.module
    span = span_of(node.func, module)
    why = role.why
    if drawn.unit in compiled.units:
        span, why = None, f"{why}; {COMPILED}"
    elif role.factor == "other" and _is_hot(drawn):
        span = None
    return Draw(
        file=module.file,
        line=node.lineno,
        function=drawn.unit.display_name,
        call=re.sub(r"\s+", " ", drawn.call)[:120],
        factor=role.factor,
        why=why,
        by_name=role.by_name,
        span=span,
    )


def _is_hot(drawn: Drawn) -> bool:
    """Whether a draw stands where it may run for each number of an array."""
    return drawn.site.scope.kind in {"comprehension", "lambda"} or len(list(enclosing_loops(drawn.site.nesting))) >= 3


class Classifier:
    """Tells factors of draws."""

    def __init__(self, flow: Flow, graph: CallGraph, moments: Moments) -> None:
        self.flow = flow
        self.graph = graph
        self.moments = moments
        self.roles = Roles(flow)
        parents = Parents()
        self.use_finder = UseFinder(flow, moments, parents)
        self.destinations = DestinationFinder(flow, moments, parents)
        self.steps = StepFinder(self.destinations)
        self.minibatches = MinibatchFinder(self.destinations, self.use_finder)
        self.actions = ActionFinder(graph, self.callers)
        self._callers: dict[Unit, list[Unit]] | None = None

    def role(self, drawn: Drawn) -> Role:
        """Return the factor and why."""
        return next((role for rule in RULES if (role := rule.apply(self, drawn)) is not None), _UNDECIDED)

    def by_call(self, drawn: Drawn) -> Role | None:
        """Tell by a function of a library that serves one factor only."""
        if drawn.gives in {"data", "init", "layers", "augment"}:
            role = Role(drawn.gives, f"{drawn.call} serves this factor only")
            return self._in_time(role, drawn) if ".make_" in drawn.call else role
        is_early = self.moments.moment(drawn.site) == "before"
        if drawn.gives == "action" or (is_action(drawn.site.statement) and not is_early):
            return Role("other", "an action is drawn")
        return Role("shuffle", "it chooses what is learned from") if drawn.gives == "batch" else None

    def by_seed(self, drawn: Drawn) -> Role | None:
        """Tell a draw whose value becomes a seed."""
        seeds = self.use_finder.uses(drawn).seeds
        return Role("seed", seeds) if seeds else None

    def by_learning(self, drawn: Drawn) -> Role | None:
        """Tell a parameter: a value that is made one, is passed to an optimiser or is updated by a gradient."""
        if drawn.gives != "values" or self.moments.moment(drawn.site) == "during":
            return None
        if drawn.into is not None and _FILLED.search(dotted_text(drawn.into)):
            return Role("init", f"it fills a parameter: {dotted_text(drawn.into)}")
        learned = self.use_finder.uses(drawn).learned
        return Role("init", f"a parameter: {learned}") if learned else None

    def by_acting(self, drawn: Drawn) -> Role | None:
        """Tell an action by the environment that is given it."""
        acts = drawn.gives in {"order", "integers", "values"} and self.actions.acts(drawn)
        return Role("other", "an environment is given it: an action") if acts else None

    def by_function(self, drawn: Drawn) -> Role | None:
        """Tell by class and name of the nearest function with a role, from the draw's own through its callers."""
        level, seen = [drawn.unit], {drawn.unit}
        for _ in range(MAX_LEVELS):
            roles = {unit: self.roles.by_class(unit, drawn.gives) or self.roles.by_name(unit) for unit in level}
            telling = [role for role in roles.values() if role is not None]
            if telling:
                return self._in_time(_agreed(telling), drawn)
            level = [
                caller
                for unit in level
                if not self.moments.leads_to_loop(unit)
                for caller in self.callers(unit)
                if caller not in seen
            ]
            seen.update(level)
            if any(self.moments.leads_to_loop(unit) for unit in level):
                return None
        return None

    def _in_time(self, role: Role, drawn: Drawn) -> Role:
        """Correct a role by the moment: what is drawn only before the training is data, data drawn in it an order."""
        moment = self.moments.moment(drawn.site)
        if role.factor in {"shuffle", "augment"} and moment == "before":
            return role._replace(factor="data", why=f"{role.why}, once before the training")
        if role.factor == "data" and moment == "during":
            return role._replace(factor="shuffle", why=f"{role.why}, anew while it trains")
        return role

    def by_moment(self, drawn: Drawn) -> Role | None:
        """Tell draws that make, order or split the data before the training, or that order them while it trains."""
        moment = self.moments.moment(drawn.site)
        if moment == "before":
            if self._gives_shapes(drawn):
                return Role("other", "a model is only built with it")
            if drawn.gives == "order":
                shown = next((name for name in targets(drawn.site.statement) if SHOWN.search(name)), "")
                if shown:
                    return Role("other", f"{shown} is chosen to be shown")
                return Role("data", "it orders or splits the data before the training")
            return _named_data(drawn)
        if drawn.gives != "order":
            return None
        if drawn.into is not None and (moment == "during" or enclosing_loops(drawn.site.nesting)):
            return Role("shuffle", f"{dotted_text(drawn.into) or 'it'} is shuffled repeatedly")
        if drawn.call.rpartition(".")[2] in PERMUTATIONS and self.moments.once_an_iteration(drawn.site):
            return Role("shuffle", "an order is drawn in each iteration of the main loop")
        return None

    def by_picking(self, drawn: Drawn) -> Role | None:
        """Tell positions, drawn while it trains, of the examples that a step learns from, and an order of them.

        A permutation of a batch mixes the batch; a single number is a place to cut or to look at.
        """
        if drawn.gives not in {"order", "integers"} or self.moments.moment(drawn.site) != "during":
            return None
        if drawn.call.rpartition(".")[2] in PERMUTATIONS:
            ordered = self.use_finder.orders(drawn)
            return Role("shuffle", f"it orders {ordered} while it trains") if ordered else None
        picks = self.use_finder.uses(drawn).picks if gives_array(drawn) else ""
        return Role("shuffle", f"it picks from {picks} while it trains") if picks else None

    def by_minibatch(self, drawn: Drawn) -> Role | None:
        """Tell what picks, while it trains, out of what the training collected itself, and an order cut into parts."""
        if self.moments.moment(drawn.site) != "during":
            return None
        callers = self.callers(drawn.unit)
        if collected := self.minibatches.collection(drawn, callers):
            return Role("shuffle", f"it picks from {collected}, which the training collects")
        if self.minibatches.parts(drawn, callers):
            return Role("shuffle", "an order is cut into minibatches while it trains")
        return None

    def beside(self, undecided: Iterable[Drawn], roles: Mapping[Drawn, Role]) -> dict[Drawn, Role]:
        """Tell draws in a comprehension, or where data are made before the training, by the others there."""
        decided = {drawn.site.node: role for drawn, role in roles.items() if not role.undecided}
        found = {}
        for drawn in undecided:
            is_early = drawn.unit.display_name != "<module>" and self.moments.moment(drawn.site) == "before"
            comprehension = self.use_finder.comprehension(drawn.site)
            around = comprehension or (drawn.unit.node if is_early else None)
            roles_beside = [decided[part] for part in ast.walk(around) if part in decided] if around else []
            factors = {role.factor for role in roles_beside}
            if factors == {"data"} or (comprehension and len(factors) == 1 and factors != {"seed"}):
                found[drawn] = roles_beside[0]._replace(why=f"as what is drawn beside it: {roles_beside[0].why}")
        return found

    def _gives_shapes(self, drawn: Drawn) -> bool:
        """Whether a model is only built with what is drawn."""
        finder, scope = self.destinations, drawn.site.scope
        names = list(targets(drawn.site.statement))
        if not names:
            return builds_model(drawn.site.node, scope.module, finder.parents)
        return all(gives_shapes(name, scope, finder.reads, finder.parents) for name in names)

    def by_destination(self, drawn: Drawn) -> Role | None:
        """Tell what is drawn before the training by what the training does with it."""
        # Where no loop trains, what is given to `fit` is given to the training.
        may_tell = self.moments.phases is None or self.moments.moment(drawn.site) == "before"
        if drawn.gives not in {"values", "integers"} or not may_tell:
            return None
        destination = self.destinations.of(drawn)
        if destination.learned:
            return Role("init", f"a parameter: {destination.learned}")
        if is_latent(drawn.site.statement):
            return None
        if destination.changed:
            return None
        if destination.handed and self._makes_arrays(drawn) and not self._is_in_graph(drawn):
            return Role("data", f"it makes arrays before the training, and {destination.handed}")
        return None

    def by_receipt(self, drawn: Drawn) -> Role | None:
        """Tell what a function makes anew while it trains by the name under which a step receives it."""
        if not gives_array(drawn) or self.moments.moment(drawn.site) == "before":
            return None
        name = received_as(self.destinations, drawn)
        why = f"the training receives it as {name}, anew while it trains"
        return Role("shuffle", why, by_name=True) if name else None

    def by_step(self, drawn: Drawn) -> Role | None:
        """Tell what an example is made or picked by that alone is given to a step anew."""
        name = self.steps.made(drawn) or self.steps.picked(drawn)
        return Role("shuffle", f"a step of the training learns from {name}, anew each time") if name else None

    def may_make_data_anew(self, drawn: Drawn, role: Role) -> bool:
        """Whether a draw makes examples by what its function is, and that may run before the training and in it.

        An order or a choice of examples that are there, and draws that are seeded where they are made, are the same
        however often the data set is made.
        """
        makes_examples = role.factor == "data" and drawn.gives in {"values", "integers"} and gives_array(drawn)
        is_seeded = any(SEEDING.search(dotted_text(site.node.func)) for site in drawn.unit.calls)
        return makes_examples and not is_seeded and self.moments.may_repeat(drawn.site)

    def makes_data(self, drawn: Drawn) -> str:
        """Say why what a call gives before the training are data; empty where its name does not tell."""
        named = next((name for name in targets(drawn.site.statement) if _DATA.search(name)), "")
        return f"{named} is drawn once before the training" if named else ""

    def given_to(self, undecided: Iterable[Drawn], serving: Iterable[Serving]) -> dict[Drawn, Role]:
        """Tell numbers that data are made with, such as how many, by the call that is given them."""
        served = {each.drawn.site.node: each for each in serving}
        return {
            drawn: served[call].role._replace(why=f"it is given to {served[call].drawn.call}")
            for drawn in undecided
            for call in self.use_finder.uses(drawn).given_to[:1]
            if call in served
        }

    def _is_in_graph(self, drawn: Drawn) -> bool:
        """Whether TensorFlow 1 draws when the graph is run, not where the call stands."""
        calls = self.flow.program.calls
        return drawn.call.startswith("tensorflow.") and any(name.endswith("Session") for name in calls)

    def _makes_arrays(self, drawn: Drawn) -> bool:
        """Whether it draws an array, or one number of many: in a loop, a lambda or a function that a loop calls."""
        sites = [drawn.site, *self.flow.program.callers(self.flow, drawn.unit)]
        return gives_array(drawn) or any(map(self._is_one_of_many, sites))

    def _is_one_of_many(self, site: CallSite) -> bool:
        is_looped = bool(enclosing_loops(site.nesting))
        is_looped = is_looped and not self.moments.repeats_the_training(site.nesting, site.scope.unit)
        return is_looped or site.scope.kind in {"comprehension", "lambda"}

    def callers(self, unit: Unit) -> list[Unit]:
        """Return the functions that run or name a function."""
        if self._callers is None:
            self._callers = {}
            for caller in sorted(self.flow.program.reached, key=lambda unit: unit.position):
                for edge in self.graph.edges(caller):
                    self._callers.setdefault(edge.target, []).append(caller)
        return [caller for caller in dict.fromkeys(self._callers.get(unit, [])) if caller is not unit]


class Rule(NamedTuple):
    """One way to tell a factor."""

    name: str
    apply: Callable[[Classifier, Drawn], Role | None]


#: In the order in which they are tried.
RULES = (
    Rule("call", Classifier.by_call),
    Rule("seed", Classifier.by_seed),
    Rule("learning", Classifier.by_learning),
    Rule("acting", Classifier.by_acting),
    Rule("function", Classifier.by_function),
    Rule("moment", Classifier.by_moment),
    Rule("picking", Classifier.by_picking),
    Rule("minibatch", Classifier.by_minibatch),
    Rule("destination", Classifier.by_destination),
    Rule("receipt", Classifier.by_receipt),
    Rule("step", Classifier.by_step),
)


def _agreed(roles: list[Role]) -> Role:
    if len({role.factor for role in roles}) == 1:
        return min(roles, key=lambda role: role.by_name)
    reasons = "; ".join(dict.fromkeys(role.why for role in roles))
    return Role("other", f"called from places of several kinds: {reasons}", undecided=True)


def _named_data(drawn: Drawn) -> Role | None:
    """Tell data that are drawn before the training by the names that they are assigned to."""
    statement = drawn.site.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if names and all(map(_DATA.search, names)):
        return Role("data", f"{names[0]} is drawn once before the training", by_name=True)
    return None
