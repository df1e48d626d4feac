"""Find the main training loop, or the call into a library that trains, and what runs before, in and after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from deviate.core.experiment import MainLoop, Pace
from deviate.lexicon.words import BEGINS, words_of
from deviate.source.flow.program import COMMON_METHODS, Evaluator, Program
from deviate.source.flow.reach import CallGraph, Edge
from deviate.source.flow.starts import taken_from
from deviate.source.index import CallSite, Loop, Nesting, Unit, enclosing_branches, enclosing_loops, is_within
from deviate.source.loop_candidates import (
    CLIENTS,
    COUNTS,
    ONE_TIME,
    PASSES,
    ROUNDS,
    STEPS,
    WEIGHT_UPDATE,
    Candidate,
    described,
    encloses,
    end_counted,
    names_counted,
    training_signs,
)
from deviate.source.settings.options import Known
from deviate.source.syntax import called_name, dotted_text, text_of
from deviate.source.trainers import is_compiled_loop, is_fitting_call

_ASIDE = re.compile(rf"{BEGINS}(?i:pretrain|warm_?up|init|burn|finetune_head|teacher|calib|attack|pgd|fgsm|"
                    r"l_?bfgs|perturb|search_lr|find_lr|baseline)")  # fmt: skip
#: Beside the training, unless the name says that it trains as well: ``train_and_evaluate``.
_EVALUATES = re.compile(rf"{BEGINS}(?i:test|eval|valid)")
_RUNS = re.compile(rf"{BEGINS}(?:(?i:pre)?(?i:train)|(?i:fit|run|main|module))")
_SCORES = re.compile(rf"{BEGINS}(?i:metric|score)")
_TRAINS = re.compile(r"(^|_)train", re.IGNORECASE)
#: Signs that say that gradients are computed, not that weights change.
_GRADIENTS = {"backward", "grad", "GradientTape"}
_OPTIMISER = re.compile(r"^(SGD|Adam\w*|RMSprop|Adagrad|LBFGS|Lamb|Lion|\w*[oO]ptim(i[sz]ers?\w*)?)$")

#: Classes of libraries whose methods run within their training.
_HOOKED = re.compile(r"(Callback|LightningModule)$")
#: Methods of a library's objects that train for a while.
_RUNNING = {"fit", "run", "step", "train"}

#: File, line and name of reported counters, with the words that name them in the text.
Counters = Mapping[tuple[str, int, str], str]


class LoopFinder:
    """Looks for the main loop in the running code."""

    def __init__(self, flow: Evaluator, graph: CallGraph) -> None:
        self.flow = flow
        self.program = flow.program
        self.graph = graph
        self._training = {unit: signs for unit in self.program.reached if (signs := training_signs(unit))}
        self.fitting = self._calls(lambda site: is_fitting_call(flow, site) or self._runs_closure(site))
        #: Calls that make a compiled loop of a function that trains: ``jax.lax.scan(step, state)``.
        self.compiled = self._calls(lambda site: is_compiled_loop(flow, site) and self._loops_over_training(site))
        #: Loops that train and do not repeat whole trainings, once the main loop was looked for.
        self.usable: list[Candidate] = []
        #: Loops that repeat whole trainings.
        self.repeating: list[tuple[Unit, Loop]] = []

    def _calls(self, test: Callable[[CallSite], bool]) -> list[CallSite]:
        return [
            site
            for unit in self.program.running_units()
            for site in unit.calls
            if self.program.may_run(unit, site.nesting) and test(site)
        ]

    def _repeated(self, site: CallSite) -> set[Unit]:
        """Return what a compiled loop runs."""
        given = (*site.node.args, *(key.value for key in site.node.keywords))
        refs = [ref for arg in given for ref in self.flow.value(arg, site.scope).refs]
        return self.graph.closure([ref for ref in refs if isinstance(ref, Unit)])

    def _loops_over_training(self, site: CallSite) -> bool:
        return not self._repeated(site).isdisjoint(self._training)

    def _compiled_candidate(self, site: CallSite) -> Candidate:
        return Candidate(site.node, site.scope.unit, None, self._repeated(site), text_of(site.node.func))

    def _runs_closure(self, site: CallSite) -> bool:
        """Whether an optimiser goes on by itself, as L-BFGS does: ``optimizer.step(closure)`` in no loop."""
        call = site.node
        if called_name(call) != "step" or len(call.args) != 1 or enclosing_loops(site.nesting):
            return False
        refs = self.flow.value(call.args[0], site.scope).refs
        return any(isinstance(ref, Unit) and ref in self._training for ref in refs)

    def _loops(self) -> Iterator[tuple[Unit, Loop]]:
        for unit in self.program.running_units():
            for loop in unit.loops:
                if self.program.may_run(unit, loop.nesting) and not self._is_left_out(unit, loop):
                    yield unit, loop

    def _is_left_out(self, unit: Unit, loop: Loop) -> bool:
        """Whether settings say that a loop does not go round: ``range(args.pretrain_epochs)`` of 0."""
        ends = end_counted(loop.node) if self.program.is_decided else []
        known = [self.program.choices.value(end, unit) for end in ends]
        return any(each is not None and each == Known(0) and each.value is not False for each in known)

    def find(self) -> MainLoop | None:
        """Return the main loop."""
        loops = [candidate for unit, loop in self._loops() if (candidate := self._candidate(unit, loop))]
        calls = [Candidate(site.node, site.scope.unit, None, set(), text_of(site.node.func)) for site in self.fitting]
        calls.extend(map(self._compiled_candidate, self.compiled))
        usable = [
            candidate
            for candidate in [*loops, *calls]
            if not candidate.indirect or (candidate.counts and not candidate.numbers)
        ]
        self.usable = [
            candidate for candidate in usable if not candidate.repeats and not self._starts_anew(candidate, usable)
        ]
        self.repeating = [(one.unit, one.loop) for one in usable if one.loop is not None and one not in self.usable]
        return self._main([one for one in self.usable if not _gives_data(one)] or self.usable)

    def find_reporting(self, reporting: list[tuple[Unit, Nesting | None]], counted: Counters) -> MainLoop | None:
        """Return the outermost loop that reports metrics and counts, where nothing is known to train.

        Where none does, it is one that counts epochs and hands them to a library: ``train_epoch.run(loader)``.
        """
        loops = list(self._loops())
        candidates = [self._reporting_candidate(unit, loop, reporting, counted) for unit, loop in loops]
        found = [candidate for candidate in candidates if candidate is not None and not candidate.repeats]
        handed = (self._handing_candidate(unit, loop) for unit, loop in loops if not found)
        return self._main(found or [candidate for candidate in handed if candidate is not None])

    def _handing_candidate(self, unit: Unit, loop: Loop) -> Candidate | None:
        ends = {word for end in end_counted(loop.node) for name in names_counted(end) for word in words_of(name)}
        calls = (site.node.func for site in unit.calls if is_within(site.nesting, loop.node))
        runs = (func for func in calls if isinstance(func, ast.Attribute) and func.attr in _RUNNING)
        names = [text_of(func) for func in runs if "train" in words_of(dotted_text(func.value))]
        if not names or not (ends & {"epoch", "epochs"} or Candidate(loop.node, unit, loop, set(), "").counts_epochs):
            return None
        return Candidate(loop.node, unit, loop, self.graph.inside(unit, loop.node), names[0])

    def _reporting_candidate(
        self,
        unit: Unit,
        loop: Loop,
        reporting: list[tuple[Unit, Nesting | None]],
        counted: Counters,
    ) -> Candidate | None:
        inside = self.graph.inside(unit, loop.node)
        if not any(
            reporter in inside or (reporter is unit and is_within(nesting, loop.node))
            for reporter, nesting in reporting
        ):
            return None
        candidate = Candidate(loop.node, unit, loop, inside, "", reports=True)
        is_counter = _is_counted(loop) and (candidate.counts or _reports_counter(candidate, counted))
        return candidate if candidate.counts_epochs or is_counter else None

    def training_loops(self, by_arithmetic: bool = True) -> list[tuple[Unit, Loop]]:
        """List the loops in which weights change, without those that repeat whole trainings.

        Without `by_arithmetic`, not those where only a subtraction looks like an update of weights.
        """
        return [
            (candidate.unit, candidate.loop)
            for candidate in self.usable
            if candidate.loop is not None and self._changes_weights(candidate, by_arithmetic)
        ]

    def _changes_weights(self, candidate: Candidate, by_arithmetic: bool) -> bool:
        no_change = _GRADIENTS if by_arithmetic else _GRADIENTS | {WEIGHT_UPDATE}
        return not no_change.issuperset(self._signs(candidate))

    def _signs(self, candidate: Candidate) -> list[str]:
        """List the signs that a candidate trains by, in its own code and in what it calls."""
        own = [sign for nesting, sign in self._training.get(candidate.unit, []) if is_within(nesting, candidate.node)]
        return own + [sign for unit in candidate.inside for _, sign in self._training.get(unit, [])]

    def _replays(self, candidate: Candidate) -> bool:
        """Whether optimisers step and nothing computes gradients: a schedule is made up to where a training resumes."""
        return not candidate.indirect and all(sign.endswith(".step") for sign in self._signs(candidate))

    def _candidate(self, unit: Unit, loop: Loop) -> Candidate | None:
        inside = self.graph.inside(unit, loop.node)
        signs = [sign for nesting, sign in self._training.get(unit, []) if is_within(nesting, loop.node)]
        training = sorted(inside & self._training.keys(), key=lambda unit: unit.position)
        signs.extend(self._training[trainer][0][1] for trainer in training)
        if signs:
            return Candidate(loop.node, unit, loop, inside, signs[0])
        for site in self.fitting:
            if site.scope.unit in inside or (site.scope.unit is unit and is_within(site.nesting, loop.node)):
                return Candidate(loop.node, unit, loop, inside, text_of(site.node.func), indirect=True)
        return None

    def _starts_anew(self, candidate: Candidate, others: list[Candidate]) -> bool:
        """Whether a loop that does not count epochs makes a new optimiser for each run of a loop that does.

        One that counts rounds or iterations by name is a training of several trainings: federated, or by self-play.
        """
        is_plain = candidate.loop is None or candidate.counts_epochs or candidate.words & ROUNDS
        if is_plain or self._trains_itself(candidate) or _goes_round_clients(candidate, others):
            return False
        if candidate.indirect and self._makes_model(candidate):
            return True
        inside = [
            other
            for other in others
            if other.loop is not None and other.unit in candidate.inside
            and other.unit is not candidate.unit and candidate.unit not in other.inside
        ]  # fmt: skip
        if any(other.counts_epochs and _makes_optimiser(other.unit, other.node) for other in inside):
            return True
        if any(self._is_stage(candidate, other) for other in others):
            return True
        return (
            isinstance(candidate.node, ast.For)
            and not candidate.own & PASSES
            and any(
                (other.words & PASSES or isinstance(other.node, ast.While))
                and (_makes_optimiser(other.unit, other.node) or self._is_equipped(candidate, other))
                for other in inside
            )
        )

    def _makes_model(self, candidate: Candidate) -> bool:
        """Whether a loop makes anew what a library trains in it: a compiled Keras model, or a trainer."""
        own = [site for site in candidate.unit.calls if is_within(site.nesting, candidate.node)]
        sites = [*own, *(site for unit in candidate.inside for site in unit.calls)]
        return any(map(_is_made_to_fit, sites))

    def _is_stage(self, outer: Candidate, inner: Candidate) -> bool:
        """Whether an outer loop makes the optimiser for a loop over epochs that stands in it: a stage, not a pass."""
        if outer.loop is None or inner.loop is None or inner.unit is not outer.unit or not inner.counts_epochs:
            return False
        is_inside = inner.loop is not outer.loop and is_within(inner.loop.nesting, outer.node)
        return (
            is_inside
            and not outer.own & PASSES
            and any(
                _is_optimiser(site.node)
                and is_within(site.nesting, outer.node)
                and not is_within(site.nesting, inner.node)
                for site in outer.unit.calls
            )
        )

    def _trains_itself(self, candidate: Candidate) -> bool:
        """Whether weights change in the very body of a loop."""
        return any(is_within(nesting, candidate.node) for nesting, _ in self._training.get(candidate.unit, ()))

    def _is_equipped(self, outer: Candidate, inner: Candidate) -> bool:
        """Whether an outer loop makes the optimiser that an inner one uses: ``for i in range(8): Runner().run()``."""
        around = outer.inside - inner.inside - {inner.unit}
        return any(_makes_optimiser(unit, inner.node) for unit in around)

    def _main(self, usable: list[Candidate]) -> MainLoop | None:
        """Describe the best of the outermost candidates."""
        outermost = [
            candidate
            for candidate in usable
            if not any(
                encloses(other, candidate) or (other.loop is None and self._is_hook(candidate))
                for other in usable if other is not candidate
            )
        ]  # fmt: skip
        if len(outermost) == 1:
            return described(outermost[0])
        return described(min(outermost or usable, key=self._rank)) if usable else None

    def _is_hook(self, candidate: Candidate) -> bool:
        """Whether a loop stands in a class whose methods the training of a library calls: a callback's own probe."""
        owner = candidate.unit.enclosing_class if candidate.loop is not None else None
        return owner is not None and any(map(_HOOKED.search, self.program.external_bases(self.flow, owner)))

    @cached_property
    def _called(self) -> set[Unit]:
        """Functions that calls lead to from the entry."""
        return self.graph.closure([self.program.entry.unit]) if self.program.entry is not None else set()

    @cached_property
    def _prepares(self) -> set[Unit]:
        """Functions that run only while objects are made: ``Model()`` that fits its first weights."""
        entry = self.program.entry
        later = self.graph.closure([entry.unit], constructors=False) if entry is not None else set()
        return self._called - later

    @cached_property
    def _purpose(self) -> set[str]:
        """What the entry does by its name, were it beside a training elsewhere: ``pretrain.py``."""
        return _aside_words(self.program.entry.file) if self.program.entry is not None else set()

    def _is_aside(self, name: str) -> bool:
        """Whether a function or file of this name does something beside the training."""
        return self._is_beside(name) or bool(_EVALUATES.search(name) and not _TRAINS.search(name))

    def _is_beside(self, name: str) -> bool:
        """Whether a name is of what stands beside a training, unless the entry is there for it: ``teacher.fit``."""
        return not self._purpose.issuperset(_aside_words(name))

    def _counts_aside(self, candidate: Candidate) -> bool:
        """Whether what a loop counts up to is called like something beside the training: ``range(warmup_epochs)``."""
        names = [name for end in end_counted(candidate.node) for name in names_counted(end)]
        if isinstance(candidate.node, ast.While) and isinstance(candidate.node.test, ast.Compare):
            names = list(map(text_of, candidate.node.test.comparators))
        return bool(names) and all(map(self._is_aside, names))

    def _counts_given(self, candidate: Candidate) -> bool:
        """Whether a loop counts up to a parameter that the entry gives by its name: ``model.train(iterations=900)``."""
        ends = {end.id for end in end_counted(candidate.node) if isinstance(end, ast.Name)}
        return not ends.isdisjoint(self._given) and not ends.isdisjoint(candidate.unit.parameters)

    @cached_property
    def _given(self) -> set[str]:
        """Names by which calls in the entry pass something."""
        units = self.program.entry.units if self.program.entry is not None else []
        return {key.arg or "" for unit in units for site in unit.calls for key in site.node.keywords}

    def _trains_aside(self, candidate: Candidate) -> bool:
        """Whether all that changes weights in a loop is called like an evaluation: ``predictive_score()``."""
        if candidate.loop is None or self._trains_itself(candidate):
            return False
        trainers = [unit for unit in candidate.inside if unit in self._training]
        names = [(unit.display_name, unit.module.file.rpartition("/")[2]) for unit in trainers]
        return bool(names) and all(any(self._is_aside(name) or _SCORES.search(name) for name in two) for two in names)

    def _is_named(self, unit: Unit) -> bool:
        """Whether settings, or the project by its own name, name the class or the file that a function stands in."""
        settings = self.program.choices.settings if self.program.is_decided else None
        owner = unit.enclosing_class
        names = {unit.module.dotted.rpartition(".")[2], *([owner.name] if owner is not None else [])}
        if settings is None:
            return False
        texts = {text.lower() for text in settings.texts}
        return any(name.lower() in texts or settings.is_project(name) for name in names)

    def _count_heirs(self, unit: Unit) -> int:
        """Count the classes that inherit a method: of alternatives, the one that most would run is the likeliest."""
        if unit.owner is None:
            return 0
        above = self.program.ancestors(self.flow, unit.owner)
        below = self.program.family(self.flow, unit.owner)[len(above) :]
        return sum(unit.name not in cls.methods for cls in below)

    def _rank(self, candidate: Candidate) -> tuple[float, int, str, int]:
        unit, node = candidate.unit, candidate.node
        file = unit.module.file
        score = 3.0 * candidate.counts_epochs + 1.5 * bool(candidate.words & STEPS)
        score += 1.0 * (unit.module is self.program.entry) + 0.5 * isinstance(node, ast.While)
        score += min(len(candidate.inside), 10) * 0.15 + min(self._count_heirs(unit), 10) * 0.05
        score -= 2.5 * any(map(self._is_aside, (unit.display_name, file.rpartition("/")[2])))
        score += 1.0 * (unit in self._called) + 1.0 * self._is_named(unit)
        score += 1.0 * self._counts_given(candidate) - 1.0 * self._counts_aside(candidate)
        score -= 5.0 * self._trains_aside(candidate) + 6.0 * (unit in self._prepares)
        score += 0.8 * bool(_RUNS.search(unit.display_name))
        if isinstance(node, ast.Call):
            score -= 1.5 + 2.5 * self._is_beside(text_of(node.func))
        is_sure = candidate.reports or isinstance(node, ast.Call)
        score += 2.0 * (is_sure or self._changes_weights(candidate, by_arithmetic=True))
        score -= 3.0 * (not is_sure and self._replays(candidate))
        return -score, self.program.modules.index(unit.module), file, node.lineno


def _aside_words(name: str) -> set[str]:
    return set(map(str.lower, _ASIDE.findall(name)))


def _reports_counter(candidate: Candidate, counted: Counters) -> bool:
    """Whether what the loop counts is reported within it, and not as the number of a training: ``fold {k}``."""
    first, last = candidate.node.lineno, candidate.node.end_lineno or candidate.node.lineno
    module = candidate.unit.module
    return any(
        file == module.file
        and first < line <= last
        and name in candidate.variable
        and not set(words_of(label)) & ONE_TIME
        for (file, line, name), label in counted.items()
    )


def _is_counted(loop: Loop) -> bool:
    """Whether a loop counts: over numbers, or ``while``."""
    if isinstance(loop.node, ast.While):
        return True
    return isinstance(loop.node.iter, ast.Call) and called_name(loop.node.iter) in COUNTS


def _goes_round_clients(candidate: Candidate, others: list[Candidate]) -> bool:
    """Whether a loop that counts is the nearest around one that trains each client: a round of federated learning."""
    counting = [other for other in others if other is not candidate and end_counted(other.node)]
    return bool(end_counted(candidate.node)) and any(
        other.goes_over & CLIENTS
        and encloses(candidate, other)
        and not any(encloses(candidate, round_) and encloses(round_, other) for round_ in counting)
        for other in others
    )


def _makes_optimiser(unit: Unit, loop: ast.AST) -> bool:
    return any(_is_optimiser(site.node) and not is_within(site.nesting, loop) for site in unit.calls)


def _is_optimiser(call: ast.Call) -> bool:
    """Whether a call makes an optimiser, also of a class taken by its name: ``getattr(optim, kind)(weights)``."""
    holder, _ = taken_from(call.func) if isinstance(call.func, ast.Call) else (None, None)
    if holder is None:
        return _OPTIMISER.search(called_name(call)) is not None
    made = dotted_text(holder)
    return _OPTIMISER.search(made) is not None or made.rpartition(".")[2] in {"optim", "optimizers"}


def _is_made_to_fit(site: CallSite) -> bool:
    """Whether a call makes what a library trains: ``model.compile(loss="mse")``, ``Trainer(max_epochs=9)``."""
    name, keywords = called_name(site.node), {key.arg for key in site.node.keywords}
    return name == "Trainer" or (name == "compile" and bool(keywords & {"loss", "optimizer"}))


def _gives_data(candidate: Candidate) -> bool:
    """Whether a loop hands out what it makes, for another one to train on: ``while True: yield sess.run(batch)``."""
    loop = candidate.loop
    yields = (node for node in ast.walk(loop.node) if isinstance(node, (ast.Yield, ast.YieldFrom))) if loop else ()
    return loop is not None and isinstance(loop.node, ast.While) and any(True for _ in yields)


# What runs before, during and after the main loop.

_REGISTERING = re.compile(r"(^|[._])(on|register|hook|event|handler|handles|callback|listen|subscribe)([._]|er|$)")


class Phases:
    """Separates code that only prepares the training, or serves something else, from code that trains or evaluates.

    Code after the loop counts, because it may report what the training led to; so does code whose callers are not
    known, such as hooks that a library runs. The main loop, or the call of a library's,
    stands in `unit`; `training` are all loops that train: a pre-training, and the ones that other settings choose.
    `repeating` are loops of whole trainings: those that do not lead to the main loop run other methods beside it.
    """

    def __init__(
        self,
        program: Program,
        graph: CallGraph,
        unit: Unit,
        loop: Loop | CallSite,
        training: Iterable[tuple[Unit, Loop]],
        repeating: Iterable[tuple[Unit, Loop]] = (),
    ) -> None:
        self.graph = graph
        self.unit = unit
        self.loop = loop
        self._reached = sorted(program.reached, key=lambda unit: unit.position)
        self._edges = [(caller, edge) for caller in self._reached for edge in graph.edges(caller)]
        #: Functions that run within the main loop, and hooks.
        self.during = self._within(unit, loop) | self._closure(self._hooks())
        for trainer, its_loop in training:
            self.during |= {trainer} | self._within(trainer, its_loop)
        #: Lines and nestings of the loop or of the calls that lead to it, in each function on the way to the loop.
        self.ways: dict[Unit, list[tuple[int, Nesting | None]]] = {unit: [(loop.node.lineno, loop.nesting)]}
        self._find_ways()
        for trainer, its_loop in repeating:
            if trainer not in self.ways:
                self.during |= {trainer} | self._within(trainer, its_loop)
        self.during |= self._closure([*self._callbacks(), *self._deferred()])
        self.after = self._closure(self._called_later())
        #: What runs within the main loop only because an object is made there.
        self.made_during = graph.inside(unit, loop.node) - self.during

    def _closure(self, roots: Iterable[Unit]) -> set[Unit]:
        """Follow calls, except into constructors: those set something up, whenever they run."""
        return self.graph.closure(list(roots), constructors=False)

    def _within(self, unit: Unit, loop: Loop | CallSite) -> set[Unit]:
        return self._closure(edge.target for edge in self.graph.edges(unit) if is_within(edge.nesting, loop.node))

    def _hooks(self) -> list[Unit]:
        """List methods that nothing of the project calls by a name the analysis can follow: a library may.

        So does what runs in a process or thread of its own, which goes on beside the training: ``Worker.run``.
        """
        called = {edge.target for _, edge in self._edges if edge.called}
        return [
            unit
            for unit in self._reached
            if ((unit.owner is not None or _is_registered(unit)) and unit not in called) or self._runs_beside(unit)
        ]

    def _runs_beside(self, unit: Unit) -> bool:
        """Whether a method is what a process or thread of the project's runs."""
        if unit.owner is None or unit.name != "run":
            return False
        bases = self.graph.program.external_bases(self.graph.flow, unit.owner)
        return any(base.rpartition(".")[2] in {"Process", "Thread"} for base in bases)

    def _find_ways(self) -> None:
        """Follow the calls that lead to the loop outwards."""
        callers: dict[Unit, list[tuple[Unit, Edge]]] = {}
        for caller, edge in self._edges:
            callers.setdefault(edge.target, []).append((caller, edge))
        waiting = [self.unit]
        while waiting:
            unit = waiting.pop()
            known = callers.get(unit, [])
            is_asked = any(caller.name != unit.name for caller, _ in known)  # not by those below it alone
            for caller, edge in known if is_asked else (*known, *self._called_by_name(unit)):
                if caller not in self.ways:
                    self.ways[caller] = []
                    waiting.append(caller)
                if caller is not self.unit:
                    self.ways[caller].append((edge.line, edge.nesting))

    def _called_by_name(self, unit: Unit) -> list[tuple[Unit, Edge]]:
        """List the calls by the name of a method that no call is known to reach: of an object that is not known."""
        if unit.owner is None or unit.name in COMMON_METHODS:
            return []
        sites = [
            site for site in self.graph.program.calls.get(unit.name, ()) if isinstance(site.node.func, ast.Attribute)
        ]
        return [(site.scope.unit, Edge(site.nesting, unit, site.node.lineno)) for site in sites]

    def _callbacks(self) -> Iterable[Unit]:
        """Functions that are named and not called on the way to the loop: callbacks."""
        for unit in self.ways:
            called = {edge.target for edge in self.graph.edges(unit) if edge.called}
            yield from (edge.target for edge in self.graph.edges(unit) if edge.target not in called | self.ways.keys())

    def _deferred(self) -> set[Unit]:
        """Return what lambdas alone call and does not lead to the loop: ``callbacks.append(lambda ep: show(ep))``."""
        direct = {edge.target for _, edge in self._edges if edge.called and not edge.deferred}
        return {edge.target for _, edge in self._edges if edge.deferred} - direct - self.ways.keys()

    def _called_later(self) -> Iterable[Unit]:
        for unit in self.ways:
            for edge in self.graph.edges(unit):
                if edge.target not in self.ways and self._is_later(unit, edge.line, edge.nesting):
                    yield edge.target

    def _is_later(self, unit: Unit, line: int, nesting: Nesting | None) -> bool:
        """Whether code of a function on the way to the loop runs after it, or in a loop around it."""
        around = enclosing_loops(nesting)
        return any(
            (line > at and not _excludes(way, nesting)) or any(loop in around for loop in enclosing_loops(way))
            for at, way in self.ways.get(unit, [])
        )

    def leads_to_loop(self, unit: Unit) -> bool:
        """Whether a function holds the main loop or calls what leads to it."""
        return unit in self.ways

    def is_aside(self, unit: Unit, line: int, nesting: Nesting | None) -> bool:
        """Whether code neither runs within the main loop nor after it."""
        if unit in self.during or unit in self.after:
            return False
        return unit not in self.ways or self.is_before(unit, line, nesting)

    def is_before(self, unit: Unit, line: int, nesting: Nesting | None) -> bool:
        """Whether code of a function on the way to the loop runs before it alone."""
        return unit in self.ways and not (is_within(nesting, self.loop.node) or self._is_later(unit, line, nesting))

    def is_after(self, unit: Unit, line: int, nesting: Nesting | None) -> bool:
        """Whether code runs after the main loop and not within it."""
        if unit in self.ways:
            later = any(line > at for at, _ in self.ways[unit])
            return later and not is_within(nesting, self.loop.node)
        return unit in self.after and unit not in self.during

    def pace(self, unit: Unit, line: int, nesting: Nesting | None) -> Pace:
        """Tell whether code runs in a round of the main loop, in a loop within it, or after it."""
        if self.is_after(unit, line, nesting):
            return "end"
        return "" if self.is_aside(unit, line, nesting) else self._pace(unit, nesting, {})

    def _pace(self, unit: Unit, nesting: Nesting | None, known: dict[Unit, Pace]) -> Pace:
        around = enclosing_loops(nesting)
        if unit is self.unit:
            innermost = around[0] if around else None
            return "" if self.loop.node not in around else "round" if self.loop.node is innermost else "within"
        if around:
            return "within"
        if unit not in known:
            # Nothing is said of functions that call each other.
            known[unit] = ""
            calls = [(caller, edge) for caller, edge in self._edges if edge.target is unit and caller is not unit]
            paces = {self._pace(caller, edge.nesting, known) for caller, edge in calls}
            known[unit] = paces.pop() if len(paces) == 1 else ""
        return known[unit]


def _excludes(one: Nesting | None, other: Nesting | None) -> bool:
    """Whether code runs only where other code does not: in the other branch of an ``if``."""
    branches = dict(enclosing_branches(one))
    return any(branches.get(node, branch) != branch for node, branch in enclosing_branches(other))


def _is_registered(unit: Unit) -> bool:
    """Whether a decorator registers the function for later: ``@engine.on(EPOCH_COMPLETED)``."""
    called = [decorator.func for decorator in unit.decorators if isinstance(decorator, ast.Call)]
    return any(_REGISTERING.search(dotted_text(func)) for func in called)


def loop_at(units: Iterable[Unit], file: str, line: int) -> tuple[Unit, Loop] | None:
    """Find the loop whose header stands at a line."""
    return next(
        ((unit, loop) for unit in units if unit.module.file == file for loop in unit.loops if loop.node.lineno == line),
        None,
    )
