"""Find the main training loop: the outermost loop that trains, or the call into a library that does."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deviate.analyse.callgraph import CallGraph, stands_in
from deviate.analyse.frameworks.fitting import is_fitting_call
from deviate.analyse.index import CallSite, Loop, Place, Unit, under_main_guard
from deviate.analyse.program import Program, called_name
from deviate.analyse.spans import span_of, text_of
from deviate.analyse.training import training_places
from deviate.analyse.words import words_of
from deviate.experiment import MainLoop

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

_EPOCHS = {"epoch", "epochs", "ep", "e"}
_STEPS = {
    "it", "iter", "iters", "iteration", "iterations", "step", "steps", "episode", "episodes", "update", "updates",
    "round", "rounds", "batch", "t", "i", "ii", "generation", "cycle", "timestep", "timesteps", "idx",
}  # fmt: skip
_REPEATS = {
    "seed", "seeds", "fold", "folds", "trial", "trials", "run", "runs", "repeat", "repeats", "rep", "reps", "exp",
    "experiment", "experiments", "split", "splits", "arch", "method", "methods", "config", "cfg", "dataset",
    "datasets", "model", "models", "task", "tasks", "lr", "lrs", "param", "params", "setting", "combo", "cv", "kf",
    "layer", "layers", "restart", "hp", "budget", "size", "ratio", "alpha", "noise", "train", "test",
}  # fmt: skip
_ASIDE = re.compile(r"pretrain|warm_?up|init|burn|finetune_head|teacher|test|eval|valid|calib|attack|pgd|fgsm|"
                    r"perturb|search_lr|"
                    r"find_lr|baseline", re.IGNORECASE)  # fmt: skip


#: Signs that say that gradients are computed, not that weights change.
_GRADIENTS = {"backward", "grad", "GradientTape"}
_COUNTS = {"range", "xrange", "count", "trange", "enumerate", "arange", "tqdm", "track", "progress_bar", "Progbar"}
_OPTIMISER = re.compile(r"^(SGD|Adam\w*|RMSprop|Adagrad|LBFGS|Lamb|Lion|\w*[oO]ptimi[sz]ers?\w*)$")


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


class LoopFinder:
    """Looks for the main loop in the running code."""

    def __init__(self, flow: Flow, program: Program, graph: CallGraph) -> None:
        self.flow = flow
        self.program = program
        self.graph = graph
        self._training = {unit: places for unit in program.reached if (places := training_places(unit))}
        self.fitting = self._fitting_calls()
        #: Loops that train and do not repeat whole trainings, once the main loop was looked for.
        self.usable: list[Candidate] = []

    def _fitting_calls(self) -> list[CallSite]:
        return [
            site
            for unit in self._units()
            for site in unit.calls
            if self._runs(site.place, unit) and is_fitting_call(self.flow, self.program, site)
        ]

    def _units(self) -> list[Unit]:
        return [unit for module in self.program.modules for unit in module.units if unit in self.program.reached]

    def _runs(self, place: object, unit: Unit) -> bool:
        return unit.module is self.program.entry or not under_main_guard(place)  # type: ignore[arg-type]

    def find(self) -> MainLoop | None:
        """Return the main loop."""
        loops = [one for unit in self._units() for loop in unit.loops if (one := self._candidate(unit, loop))]
        calls = [self._call_candidate(site) for site in self.fitting]
        usable = [one for one in [*loops, *calls] if not (one.indirect and not self._counts(one))]
        usable = [one for one in usable if not self._repeats(one) and not self._starts_anew(one, usable)]
        self.usable = usable
        ranked = self._ranked(usable)
        return self._describe(ranked[0]) if ranked else None

    def find_reporting(
        self, places: list[tuple[Unit, Place | None]], counted: set[tuple[str, int, str]]
    ) -> MainLoop | None:
        """Return the outermost loop that reports metrics and counts, where nothing is known to train."""
        usable = [
            one
            for unit in self._units()
            for loop in unit.loops
            if (one := self._reporting(unit, loop, places, counted)) and not self._repeats(one)
        ]
        ranked = self._ranked(usable)
        return self._describe(ranked[0]) if ranked else None

    def _reporting(
        self, unit: Unit, loop: Loop, places: list[tuple[Unit, Place | None]], counted: set[tuple[str, int, str]]
    ) -> Candidate | None:
        if not self._runs(loop.place, unit):
            return None
        inside = self.graph.inside(unit, loop.node)
        if not any(one in inside or (one is unit and stands_in(place, loop.node)) for one, place in places):
            return None
        found = Candidate(loop.node, unit, loop, inside, "", reports=True)
        if not (_words(self._variable(found)) & _EPOCHS or (_is_counted(loop) and self._is_told(found, counted))):
            return None
        return found

    def _is_told(self, one: Candidate, counted: set[tuple[str, int, str]]) -> bool:
        """Whether what the loop counts is named like a step, or is reported within it."""
        if self._counts(one):
            return True
        first, last = one.node.lineno, one.node.end_lineno or one.node.lineno
        variable, file = self._variable(one), one.unit.module.file
        return any(at == file and first < line <= last and name in variable for at, line, name in counted)

    def training_loops(self) -> list[tuple[Unit, Loop]]:
        """List the loops in which weights change, without those that repeat whole trainings."""
        return [(one.unit, one.loop) for one in self.usable if one.loop is not None and self._changes_weights(one)]

    def _changes_weights(self, one: Candidate) -> bool:
        own = [sign for place, sign in self._training.get(one.unit, []) if stands_in(place, one.node)]
        called = [sign for unit in one.inside for _, sign in self._training.get(unit, [])]
        return not _GRADIENTS.issuperset((*own, *called))

    def _ranked(self, usable: list[Candidate]) -> list[Candidate]:
        outermost = [
            one for one in usable if not any(self._encloses(other, one) for other in usable if other is not one)
        ]
        return sorted(outermost or usable, key=self._rank)

    def _starts_anew(self, one: Candidate, others: list[Candidate]) -> bool:
        """Whether a loop that does not count epochs makes a new optimiser for each run of a loop that does."""
        if one.loop is None or _words(self._variable(one)) & _EPOCHS:
            return False
        return any(
            other.unit is not one.unit and other.unit in one.inside and one.unit not in other.inside
            and bool(_words(self._variable(other)) & _EPOCHS) and _makes_optimiser(other.unit, other.node)
            for other in others if other.loop is not None
        )  # fmt: skip

    def _candidate(self, unit: Unit, loop: Loop) -> Candidate | None:
        if not self._runs(loop.place, unit):
            return None
        inside = self.graph.inside(unit, loop.node)
        signs = [sign for place, sign in self._training.get(unit, []) if stands_in(place, loop.node)]
        signs.extend(self._training[one][0][1] for one in sorted(inside & self._training.keys(), key=_order))
        if signs:
            return Candidate(loop.node, unit, loop, inside, signs[0])
        fits = [site for site in self.fitting if site.scope.unit in inside or self._within(site, unit, loop)]
        return Candidate(loop.node, unit, loop, inside, text_of(fits[0].node.func), indirect=True) if fits else None

    def _within(self, site: CallSite, unit: Unit, loop: Loop) -> bool:
        return site.scope.unit is unit and stands_in(site.place, loop.node)

    def _call_candidate(self, site: CallSite) -> Candidate:
        return Candidate(site.node, site.scope.unit, None, set(), text_of(site.node.func))

    def _encloses(self, outer: Candidate, inner: Candidate) -> bool:
        if outer.loop is None:
            return False
        if inner.unit is outer.unit and inner.loop is not None and stands_in(inner.loop.place, outer.node):
            return True
        if inner.loop is None and inner.unit is outer.unit:
            return any(one is inner.node for one in ast.walk(outer.node))
        return inner.unit in outer.inside and outer.unit not in inner.inside

    def _variable(self, one: Candidate) -> str:
        if isinstance(one.node, ast.Call):
            return text_of(one.node.func)
        if isinstance(one.node, ast.While):
            return _advanced(one.node) or text_of(one.node.test)[:60]
        return text_of(one.node.target)

    def _counts(self, one: Candidate) -> bool:
        return bool(_words(self._variable(one)) & (_EPOCHS | _STEPS))

    def _repeats(self, one: Candidate) -> bool:
        """Whether a loop repeats whole trainings, or does something else to each of a few things."""
        if not isinstance(one.node, (ast.For, ast.AsyncFor)):
            return False
        words = _words(self._variable(one))
        if not words & _REPEATS or words & _EPOCHS:
            return False
        return isinstance(one.node.target, ast.Tuple) or not self._counts(one)

    def _rank(self, one: Candidate) -> tuple[float, int, str, int]:
        words = _words(self._variable(one))
        score = 3.0 * bool(words & _EPOCHS) + 1.5 * bool(words & _STEPS)
        score += 1.0 * (one.unit.module is self.program.entry) + 0.5 * isinstance(one.node, ast.While)
        score += min(len(one.inside), 10) * 0.15
        score -= 2.5 * bool(
            _ASIDE.search(one.unit.shown_name) or _ASIDE.search(one.unit.module.file.rpartition("/")[2])
        )
        score += 0.8 * bool(re.search(r"train|fit|run|main|module", one.unit.shown_name))
        score -= 1.5 * (isinstance(one.node, ast.Call))
        return -score, self.program.modules.index(one.unit.module), one.unit.module.file, one.node.lineno

    def _describe(self, one: Candidate) -> MainLoop:
        module = one.unit.module
        if isinstance(one.node, ast.Call):
            why = f"{text_of(one.node.func)} runs the training in a loop of its own"
            line = one.node.lineno
            return MainLoop(file=module.file, line=line, variable=text_of(one.node.func), kind="call", why=why)
        kind: str = "while" if isinstance(one.node, ast.While) else "for"
        header = one.node.test if isinstance(one.node, ast.While) else one.node.iter
        return MainLoop(
            file=module.file, line=one.node.lineno, variable=self._variable(one), kind=kind,  # type: ignore[arg-type]
            why=_reason(one), span=span_of(header, module),
        )  # fmt: skip


def _reason(one: Candidate) -> str:
    if one.reports:
        return "the outermost loop that reports metrics; nothing in it is known to train"
    return f"the outermost loop that trains ({one.sign})"


def _is_counted(loop: Loop) -> bool:
    """Whether a loop counts: over numbers, or ``while``."""
    if isinstance(loop.node, ast.While):
        return True
    return isinstance(loop.node.iter, ast.Call) and called_name(loop.node.iter) in _COUNTS


def _makes_optimiser(unit: Unit, loop: ast.AST) -> bool:
    """Whether a function makes an optimiser outside its loop."""
    return any(_OPTIMISER.search(called_name(site.node)) and not stands_in(site.place, loop) for site in unit.calls)


def _words(name: str) -> set[str]:
    return {word for part in re.findall(r"[A-Za-z]+", name) for word in (part.lower(), *words_of(part))}


def _order(unit: Unit) -> tuple[str, int]:
    return unit.module.file, getattr(unit.node, "lineno", 0)


def _advanced(loop: ast.While) -> str:
    """Name that a ``while`` loop counts by hand: one that its condition reads, where there is one."""
    found = _counted_by_hand(loop)
    tested = [text for text in found if text in {text_of(node) for node in ast.walk(loop.test)
                                                 if isinstance(node, (ast.Name, ast.Attribute))}]  # fmt: skip
    return next(iter([*tested, *found]), "")


def _counted_by_hand(loop: ast.While) -> list[str]:
    found = []
    for node in ast.walk(loop):
        if (
            isinstance(node, ast.AugAssign)
            and isinstance(node.op, ast.Add)
            and isinstance(node.target, (ast.Name, ast.Attribute))
        ) and isinstance(node.value, ast.Constant):
            found.append(text_of(node.target))
    return found
