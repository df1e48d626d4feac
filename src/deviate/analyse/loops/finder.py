"""Find the main training loop: the outermost loop that trains, or the call into a library that does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from deviate.analyse.flow.callgraph import CallGraph
from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.frameworks.fitting import is_fitting_call
from deviate.analyse.loops.training import WEIGHT_UPDATE, training_signs
from deviate.analyse.naming.words import word_lists, words_of
from deviate.analyse.source.index import CallSite, Loop, Nesting, Unit, is_within, only_binding
from deviate.analyse.source.syntax import called_name, span_of, text_of
from deviate.experiment import MainLoop

_LISTS = word_lists(__file__)
_EPOCHS = _LISTS["epochs"]
_STEPS = _LISTS["steps"]
_REPEATS = _LISTS["repeats"]
_ASIDE = re.compile(r"pretrain|warm_?up|init|burn|finetune_head|teacher|calib|attack|pgd|fgsm|"
                    r"perturb|search_lr|find_lr|baseline", re.IGNORECASE)  # fmt: skip
#: Beside the training, unless the name says that it trains as well: ``train_and_evaluate``.
_EVALUATES = re.compile(r"test|eval|valid", re.IGNORECASE)
_TRAINS = re.compile(r"(^|_)train", re.IGNORECASE)
#: Signs that say that gradients are computed, not that weights change.
_GRADIENTS = {"backward", "grad", "GradientTape"}
_COUNTS = _LISTS["counting functions"]
_OPTIMISER = re.compile(r"^(SGD|Adam\w*|RMSprop|Adagrad|LBFGS|Lamb|Lion|\w*[oO]ptim(i[sz]ers?\w*)?)$")


@dataclass(eq=False)
class Candidate:
    """A loop, or a call into a library's loop, that trains."""

    node: ast.For | ast.AsyncFor | ast.While | ast.Call
    unit: Unit
    loop: Loop | None
    #: Functions that run within it.
    inside: set[Unit]
    sign: str
    #: Trains only by a library's own loop inside it.
    indirect: bool = False
    #: Taken because it reports, not because it trains.
    reports: bool = False

    @cached_property
    def variable(self) -> str:
        """What the loop counts by or runs over, or the call of a library's loop."""
        if isinstance(self.node, ast.Call):
            return text_of(self.node.func)
        if isinstance(self.node, ast.While):
            return _advanced(self.node) or text_of(self.node.test)[:60]
        return text_of(self.node.target)

    @cached_property
    def words(self) -> set[str]:
        """Words of the variable's names; of ``_``, those of what the loop runs over: ``for _ in range(epochs)``."""
        names = re.findall(r"[A-Za-z]+", self.variable)
        if not names and isinstance(self.node, (ast.For, ast.AsyncFor)):
            over = self.node.iter
            known = only_binding(over.id, self.unit) if isinstance(over, ast.Name) else None
            counted = known.value if known is not None and isinstance(known.value, ast.Call) else over
            is_count = isinstance(counted, ast.Call) and called_name(counted) in _COUNTS
            names = re.findall(r"[A-Za-z]+", text_of(counted)) if is_count else []
        return {word for name in names for word in (name.lower(), *words_of(name))}

    @property
    def counts_epochs(self) -> bool:
        """Whether the variable is named like an epoch."""
        return bool(self.words & _EPOCHS)

    @property
    def counts(self) -> bool:
        """Whether the variable is named like an epoch or a step."""
        return bool(self.words & (_EPOCHS | _STEPS))

    @property
    def repeats(self) -> bool:
        """Whether it repeats whole trainings, or does something else to each of a few things."""
        if not isinstance(self.node, (ast.For, ast.AsyncFor)) or self.counts_epochs:
            return False
        if _counts_machines(self.node.iter):
            return True
        if not self.words & _REPEATS:
            return False
        return isinstance(self.node.target, ast.Tuple) or not self.counts

    @property
    def reason(self) -> str:
        """Why it is taken for the main loop."""
        if isinstance(self.node, ast.Call):
            return f"{self.variable} runs the training in a loop of its own"
        if self.reports:
            return "the outermost loop that reports metrics; nothing in it is known to train"
        return f"the outermost loop that trains ({self.sign})"


class LoopFinder:
    """Looks for the main loop in the running code."""

    def __init__(self, flow: Evaluator, graph: CallGraph) -> None:
        self.flow = flow
        self.program = flow.program
        self.graph = graph
        self._training = {unit: signs for unit in self.program.reached if (signs := training_signs(unit))}
        self.fitting = self._fitting_calls()
        #: Loops that train and do not repeat whole trainings, once the main loop was looked for.
        self.usable: list[Candidate] = []

    def _fitting_calls(self) -> list[CallSite]:
        return [
            site
            for unit in self.program.running_units()
            for site in unit.calls
            if self.program.may_run(unit, site.nesting) and is_fitting_call(self.flow, site)
        ]

    def _loops(self) -> Iterator[tuple[Unit, Loop]]:
        for unit in self.program.running_units():
            yield from ((unit, loop) for loop in unit.loops if self.program.may_run(unit, loop.nesting))

    def find(self) -> MainLoop | None:
        """Return the main loop."""
        loops = [candidate for unit, loop in self._loops() if (candidate := self._candidate(unit, loop))]
        calls = [Candidate(site.node, site.scope.unit, None, set(), text_of(site.node.func)) for site in self.fitting]
        usable = [candidate for candidate in [*loops, *calls] if candidate.counts or not candidate.indirect]
        self.usable = [
            candidate for candidate in usable if not candidate.repeats and not _starts_anew(candidate, usable)
        ]
        return self._main(self.usable)

    def find_reporting(
        self, reporting: list[tuple[Unit, Nesting | None]], counted: set[tuple[str, int, str]]
    ) -> MainLoop | None:
        """Return the outermost loop that reports metrics and counts, where nothing is known to train."""
        candidates = [self._reporting_candidate(unit, loop, reporting, counted) for unit, loop in self._loops()]
        return self._main([candidate for candidate in candidates if candidate is not None and not candidate.repeats])

    def _reporting_candidate(
        self, unit: Unit, loop: Loop, reporting: list[tuple[Unit, Nesting | None]], counted: set[tuple[str, int, str]]
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
        own = [sign for nesting, sign in self._training.get(candidate.unit, []) if is_within(nesting, candidate.node)]
        called = [sign for unit in candidate.inside for _, sign in self._training.get(unit, [])]
        no_change = _GRADIENTS if by_arithmetic else _GRADIENTS | {WEIGHT_UPDATE}
        return not no_change.issuperset((*own, *called))

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

    def _main(self, usable: list[Candidate]) -> MainLoop | None:
        """Describe the best of the outermost candidates."""
        outermost = [
            candidate
            for candidate in usable
            if not any(_encloses(other, candidate) for other in usable if other is not candidate)
        ]
        return _described(min(outermost or usable, key=self._rank)) if usable else None

    def _rank(self, candidate: Candidate) -> tuple[float, int, str, int]:
        unit, node = candidate.unit, candidate.node
        file = unit.module.file
        score = 3.0 * candidate.counts_epochs + 1.5 * bool(candidate.words & _STEPS)
        score += 1.0 * (unit.module is self.program.entry) + 0.5 * isinstance(node, ast.While)
        score += min(len(candidate.inside), 10) * 0.15
        score -= 2.5 * any(map(_is_aside, (unit.display_name, file.rpartition("/")[2])))
        score += 0.8 * bool(re.search(r"train|fit|run|main|module", unit.display_name))
        score -= 1.5 * (isinstance(node, ast.Call))
        is_sure = candidate.reports or isinstance(node, ast.Call)
        score += 2.0 * (is_sure or self._changes_weights(candidate, by_arithmetic=True))
        return -score, self.program.modules.index(unit.module), file, node.lineno


def _is_aside(name: str) -> bool:
    """Whether a function or file of this name does something beside the training."""
    return bool(_ASIDE.search(name) or (_EVALUATES.search(name) and not _TRAINS.search(name)))


def _counts_machines(node: ast.expr) -> bool:
    """``range(num_gpus)``: once for each device or process."""
    if not isinstance(node, ast.Call) or called_name(node) not in _COUNTS or not node.args:
        return False
    words = {word for arg in node.args for name in re.findall(r"[A-Za-z]+", text_of(arg)) for word in words_of(name)}
    return not words.isdisjoint({"gpu", "gpus", "ngpu", "ngpus", "world", "devices", "processes", "workers", "towers"})


def _encloses(outer: Candidate, inner: Candidate) -> bool:
    if outer.loop is None:
        return False
    if inner.unit is outer.unit and inner.loop is not None and is_within(inner.loop.nesting, outer.node):
        return True
    if inner.loop is None and inner.unit is outer.unit:
        return any(node is inner.node for node in ast.walk(outer.node))
    return inner.unit in outer.inside and outer.unit not in inner.inside


def _starts_anew(candidate: Candidate, others: list[Candidate]) -> bool:
    """Whether a loop that does not count epochs makes a new optimiser for each run of a loop that does."""
    if candidate.loop is None or candidate.counts_epochs:
        return False
    inside = [other for other in others if other.loop is not None and other.unit in candidate.inside]
    return any(
        other.unit is not candidate.unit and candidate.unit not in other.inside
        and other.counts_epochs and _makes_optimiser(other.unit, other.node)
        for other in inside
    )  # fmt: skip


def _reports_counter(candidate: Candidate, counted: set[tuple[str, int, str]]) -> bool:
    """Whether what the loop counts is reported within it."""
    first, last = candidate.node.lineno, candidate.node.end_lineno or candidate.node.lineno
    module = candidate.unit.module
    return any(
        file == module.file and first < line <= last and name in candidate.variable for file, line, name in counted
    )


def _described(candidate: Candidate) -> MainLoop:
    node, module = candidate.node, candidate.unit.module
    kind: Literal["for", "while", "call"] = "call"
    span = None
    if not isinstance(node, ast.Call):
        kind, header = ("while", node.test) if isinstance(node, ast.While) else ("for", node.iter)
        span = span_of(header, module)
    return MainLoop(
        file=module.file, line=node.lineno, variable=candidate.variable, kind=kind, why=candidate.reason, span=span
    )


def _is_counted(loop: Loop) -> bool:
    """Whether a loop counts: over numbers, or ``while``."""
    if isinstance(loop.node, ast.While):
        return True
    return isinstance(loop.node.iter, ast.Call) and called_name(loop.node.iter) in _COUNTS


def _makes_optimiser(unit: Unit, loop: ast.AST) -> bool:
    """Whether a function makes an optimiser outside its loop."""
    return any(_OPTIMISER.search(called_name(site.node)) and not is_within(site.nesting, loop) for site in unit.calls)


def _advanced(loop: ast.While) -> str:
    """Name that a ``while`` loop counts by hand: one that its condition reads, where there is one."""
    names = [
        text_of(node.target)
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.target, (ast.Name, ast.Attribute))
        and isinstance(node.value, ast.Constant)
    ]
    tested = {text_of(node) for node in ast.walk(loop.test) if isinstance(node, (ast.Name, ast.Attribute))}
    return next((name for name in names if name in tested), next(iter(names), ""))
