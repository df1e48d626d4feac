"""Which factor a draw is of: by what becomes of it, what the code around it is for, and when that runs."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deviate.analyse.callgraph import CallGraph
from deviate.analyse.draws.find import Drawn
from deviate.analyse.draws.moments import Moment, Moments
from deviate.analyse.draws.roles import Role, Roles
from deviate.analyse.draws.surroundings import iter_names
from deviate.analyse.draws.tables import NUMPY_METHODS, PYTHON_METHODS
from deviate.analyse.draws.uses import UseFinder, Uses
from deviate.analyse.index import Scope, Unit, lookup
from deviate.analyse.shown import dotted_text

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Callers are followed so far for one that tells what they call is for.
MAX_LEVELS = 5

_WEIGHTS = re.compile(
    r"^(self\.)?_?(w|b|u|v)_?\d*$|^W\w{0,3}$|^b[hyxo]?\d?$|weights?\d*$|^(weight|bias)|(^|_)(bias|biases|theta|params?|"
    r"parameters|kernel|embeddings?|gamma|emb)\d*$",
)
_TRUE_WEIGHTS = re.compile(r"(^|_)(true|target|real|star|gt|actual|teacher|ground_truth|optimal)(_|$)", re.IGNORECASE)
_FILLED = re.compile(r"weight|bias|(^|_)(param|kernel|embed|gamma|beta|theta)|^[wpb]$|^W", re.IGNORECASE)
_LATENT = re.compile(
    r"(^|_)(ac|acs|act|actions?)(_|$)|noise|latent|^z\d*$|(^|_)z(_|$)|dummy|(example|sample)_input|eps(ilon)?\d*$|"
    r"perturb|delta",
    re.IGNORECASE,
)
_TRIES = re.compile(
    r"^(model|net|network)(_\w+)?$|^(summary|profile|trace|export|add_graph|onnx_export|get_model_complexity_info|flops|"
    r"torchinfo|thop|generator|decoder|netG|netD|G|D|g|d|discriminator|forward|apply)$"
)
_DATA_NAMES = re.compile(
    r"data|train|sample|example|image|img|file|line|pair|corpus|text|token|sentence|user|item|record|label|target|batch|"
    r"(^|_)(x|y|xs|ys|X|Y|idx|ids|indices|index|inds|order|perm|nodes|edges|obs|queue|list|urls|words)\d*(_|$)",
)
_SIZES = re.compile(r"(^|_)(n|N|num|len|size|total|count)(_|$)|samples?$|shape|^n[a-z]+$|train|data")
#: Inputs and targets of a step; not what is only like an input, as noise and attacked examples are.
_INPUTS = re.compile(
    r"^(x|xs|y|inputs?|targets?|x_?batch|batch_?x|[xy]_(train|data|f|r|col\w*|i)|points|coords|collocation\w*)\d*$",
    re.IGNORECASE,
)
_RESULTS = re.compile(r"^pred|predict|generated|output|result|hypothes|translat", re.IGNORECASE)
_DROPPING = re.compile(r"drop_?(out|rate|prob|path|connect|mask)|^p?_?drop$|keep_?(prob|rate|mask)", re.IGNORECASE)
_MIXING = re.compile(r"mix_?up|cut_?mix|(^|_)lam(bda|da)?\d*(_|$)|lmbda|rand_bbox", re.IGNORECASE)
_AUGMENTING = re.compile(r"flip|crop|mix|cutout|jitter|augment|rotat|affine|erase|blur|(^|_)aug(_|$)|distort",
                         re.IGNORECASE)  # fmt: skip
#: Libraries whose functions are given a shape first.
_WITH_SHAPES = ("torch.", "Tensor.", "jax.", "tensorflow.", "keras.")
_BEFORE_SIZE = {"uniform": 2, "normal": 2, "randint": 2, "integers": 2, "beta": 2}


class Classifier:
    """Tells factors of draws."""

    def __init__(self, flow: Flow, graph: CallGraph, moments: Moments) -> None:
        self.flow = flow
        self.graph = graph
        self.moments = moments
        self.roles = Roles(flow)
        self.use_finder = UseFinder(flow)
        self._callers: dict[Unit, list[Unit]] | None = None

    def factor(self, drawn: Drawn) -> tuple[str, str]:
        """Return the factor and why."""
        if drawn.gives in {"data", "init", "layers", "augment"}:
            return drawn.gives, f"{drawn.call} is for nothing else"
        if drawn.gives == "action":
            return "other", "an action is drawn"
        if drawn.gives == "batch":
            return "shuffle", "it chooses what is learned from"
        uses = self.use_finder.uses(drawn)
        if uses.seeds:
            return "seed", uses.seeds
        own = self.roles.by_class(drawn.unit, drawn.gives) or self.roles.by_hand(drawn.unit)
        if own is not None and own.factor != "init":
            return own.factor, own.why
        if self._drops(drawn):
            return "layers", "it drops units"
        site = drawn.site
        moment = self.moments.moment(drawn.unit, site.node.lineno, site.place)
        if _fills_weights(drawn):
            return "init", f"{_shown(drawn.into)} holds weights"
        if (
            uses.learned
            and (moment == "before" or own is not None)
            and self._by_name(drawn)
            not in {
                "other",
                "augment",
            }
        ):
            return "init", f"a parameter: {uses.learned}"
        if own is not None:
            return own.factor, own.why
        role = self._nearest(drawn)
        if role is not None:
            return self._in_time(role, drawn)
        return self._by_moment(drawn, uses, moment)

    def _drops(self, drawn: Drawn) -> bool:
        """Whether a mask for dropout is drawn."""
        if drawn.gives != "values" or self._by_name(drawn) in {"augment", "data"}:
            return False
        statement = drawn.site.statement
        if not isinstance(statement, (ast.Assign, ast.Return, ast.AugAssign)):
            return False
        return any(_DROPPING.search(one) for one in iter_names(statement))

    def _by_name(self, drawn: Drawn) -> str:
        role = self.roles.role(drawn.unit, drawn.gives)
        return role.factor if role is not None else ""

    # What the code around it is for

    def _in_time(self, role: Role, drawn: Drawn) -> tuple[str, str]:
        """Take into account when the code runs: what is new in each step of a training is no fixed data set."""
        site = drawn.site
        moment = self.moments.moment(drawn.unit, site.node.lineno, site.place)
        if role.factor == "data" and moment == "during" and self.moments.is_ongoing(drawn.unit):
            return "shuffle", f"{role.why}, anew while it trains"
        if role.factor == "shuffle" and self.moments.only_before(drawn.unit):
            return "data", f"{role.why}, once before the training"
        return role.factor, role.why

    def _nearest(self, drawn: Drawn) -> Role | None:
        """Find the nearest function, from the draw's own outwards, that tells what it is for."""
        level, seen = [drawn.unit], {drawn.unit}
        aside: list[Role] = []
        for _ in range(MAX_LEVELS):
            roles = {unit: self.roles.role(unit, drawn.gives) for unit in level}
            found = [role for role in roles.values() if role is not None]
            if any(role.factor != "other" for role in found):
                return _agreed(found)
            aside.extend(found)
            level = [
                caller
                for unit in level
                if roles[unit] is None and not self._leads_to_loop(unit)
                for caller in self.callers(unit)
                if caller not in seen
            ]
            seen.update(level)
            if any(self._leads_to_loop(unit) for unit in level):
                return None
        return aside[0] if aside else None

    def _leads_to_loop(self, unit: Unit) -> bool:
        phases = self.moments.phases
        return unit.shown_name == "<module>" or (phases is not None and phases.leads_to_loop(unit))

    def callers(self, unit: Unit) -> list[Unit]:
        """Return the functions that run or name a function."""
        if self._callers is None:
            self._callers = {}
            for caller in sorted(self.flow.program.reached, key=_order):
                for edge in self.graph.edges(caller):
                    self._callers.setdefault(edge.target, []).append(caller)
        return [one for one in dict.fromkeys(self._callers.get(unit, [])) if one is not unit]

    # When it runs

    def _by_moment(self, drawn: Drawn, uses: Uses, moment: Moment) -> tuple[str, str]:
        if moment == "after":
            return "other", "drawn after the training"
        if moment == "before":
            return self._before(drawn, uses)
        if drawn.gives == "values":
            return self._value_during(drawn, uses)
        return self._order_during(drawn, uses)

    def _before(self, drawn: Drawn, uses: Uses) -> tuple[str, str]:
        names = uses.names[0] if uses.names else "it"
        latent = any(_LATENT.search(one) for one in uses.names[:1])
        if drawn.gives == "order" or (not latent and drawn.gives == "integers" and (uses.indexed or _is_array(drawn))):
            return "data", f"{names} orders or splits the data before the training"
        if drawn.gives == "integers":
            return "other", "a number drawn before the training"
        if uses.names and all(_WEIGHTS.search(one) and not _TRUE_WEIGHTS.search(one) for one in uses.names):
            return "init", f"{names} is named like a parameter"
        tried = any(_TRIES.search(one) for one in uses.handed)
        if latent and tried:
            return "other", f"{names} is noise that a model is given"
        if tried and not uses.in_loop:
            return "other", "an input to try the model with"
        if not _is_array(drawn):
            return "other", "a number drawn before the training"
        return "data", f"{names} is drawn before the training and not changed by it"

    def _order_during(self, drawn: Drawn, uses: Uses) -> tuple[str, str]:
        if drawn.into is not None:
            return "shuffle", f"{_shown(drawn.into)} is shuffled while it trains"
        given = {name for one in drawn.site.node.args for name in iter_names(one)}
        weights = {name for key in drawn.site.node.keywords if key.arg == "p" for name in iter_names(key.value)}
        containers = [
            (name, inner) for one, inner in uses.indexed if (name := dotted_text(one)).rpartition(".")[2] not in weights
        ]
        batches = [name for name, inner in containers if name and _is_batch(name, inner)]
        if batches and len(batches) == len(containers):
            if _MIXING.search(" ".join((*self._neighbours(drawn), *uses.names))):
                return "augment", f"{batches[0]} is mixed within a batch"
            return "other", f"{batches[0]} is permuted within a batch"
        if weights & given:
            return "other", "it is drawn with weights of its own"
        if any(_RESULTS.search(one) for one in (*given, *(name for name, _ in containers))):
            return "other", "it chooses from results"
        sized = any(_SIZES.search(one) for one in given) or "len" in given
        named = next((name for name, _ in containers if _DATA_NAMES.search(name)), "")
        shared = next((name for name, _ in containers if name.rpartition(".")[2] in given), "")
        if containers and (shared or named or (drawn.gives == "order" and sized)):
            return "shuffle", f"it indexes {shared or named or containers[0][0]} while it trains"
        if drawn.gives == "order" and uses.iterated:
            return "shuffle", "it orders what a loop runs over"
        if drawn.gives == "order" and any(_DATA_NAMES.search(one) for one in given - uses.handed):
            return "shuffle", f"it chooses from {next(iter(sorted(filter(_DATA_NAMES.search, given))))}"
        return "other", "not known to order data"

    def _value_during(self, drawn: Drawn, uses: Uses) -> tuple[str, str]:
        said = " ".join(uses.names)
        if _MIXING.search(said) or (drawn.call.endswith(".beta") and _MIXING.search(" ".join(self._neighbours(drawn)))):
            return "augment", "it mixes training examples"
        if uses.compared and any(_AUGMENTING.search(one) for one in self._neighbours(drawn)):
            return "augment", "it decides whether data are changed"
        if uses.names and _INPUTS.search(uses.names[0]) and _is_array(drawn):
            return "shuffle", f"{uses.names[0]} is new in each step"
        return "other", "a value drawn while it trains"

    def _neighbours(self, drawn: Drawn) -> list[str]:
        """Names in the statement that a draw stands in, and in the branch it decides."""
        statement = drawn.site.statement
        return list(iter_names(statement)) if isinstance(statement, (ast.If, ast.Assign, ast.Expr)) else []

    def is_hot(self, drawn: Drawn) -> bool:
        """Whether a draw stands where it may run for each number of an array."""
        if drawn.site.scope.kind in {"comprehension", "lambda"}:
            return True
        loops, place = 0, drawn.site.place
        while place is not None:
            loops += isinstance(place.node, (ast.For, ast.AsyncFor, ast.While)) and place.branch == "body"
            place = place.outer
        return loops >= 3


def _agreed(found: list[Role]) -> Role:
    """Return the role that all agree on, those aside that only look at the model."""
    telling = [one for one in found if one.factor != "other"] or found
    if len({one.factor for one in telling}) == 1:
        return telling[0]
    return Role("other", "called from places of several kinds: " + "; ".join(dict.fromkeys(one.why for one in telling)))


def _fills_weights(drawn: Drawn) -> bool:
    """Whether a tensor that is filled in place holds weights."""
    if drawn.into is None or not drawn.call.startswith("Tensor."):
        return False
    names = list(iter_names(drawn.into))
    made = any(isinstance(one, ast.Call) for one in ast.walk(drawn.into))
    return (
        not made
        and not any(_LATENT.search(one) for one in names)
        and any(_FILLED.search(one) or one == "data" for one in names)
    )


def _is_array(drawn: Drawn) -> bool:
    """Whether more than one number is drawn."""
    call, name = drawn.site.node, drawn.call.rpartition(".")[2]
    if drawn.site.scope.kind == "comprehension" or any(key.arg in {"size", "shape"} for key in call.keywords):
        return True
    if drawn.call.startswith("random.") or (name in PYTHON_METHODS and name not in NUMPY_METHODS):
        return False
    # Of NumPy's functions, the arguments before the size.
    before_size = 0 if drawn.call.startswith(_WITH_SHAPES) else _BEFORE_SIZE.get(name, 0)
    return len(call.args) > before_size or drawn.into is not None


def _is_batch(name: str, scope: Scope) -> bool:
    """Whether a loop runs over what holds this."""
    found = lookup(name.partition(".")[0], scope)
    if found is None:
        return False
    return any(one.kind == "for" for one in found[1]) and found[0].kind != "comprehension"


def _shown(node: ast.expr | None) -> str:
    return dotted_text(node) or "it" if node is not None else "it"


def _order(unit: Unit) -> tuple[str, int]:
    return unit.module.file, getattr(unit.node, "lineno", 0)
