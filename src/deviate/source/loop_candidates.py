"""A loop that may be the main one: what it counts, what stands in it, and what of it trains."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from deviate.core.experiment import MainLoop, Metric
from deviate.lexicon.words import BEGINS, TRAIN, word_lists, words_like, words_of
from deviate.source.flow.expressions import is_scaled_step
from deviate.source.flow.program import Program
from deviate.source.index import CallSite, Loop, ModuleIndex, Nesting, Scope, Unit, bindings_of, is_within, only_binding
from deviate.source.syntax import called_name, dotted_text, imported_names, span_of, text_of

_LISTS = word_lists("candidate")
_EPOCHS = _LISTS["epochs"]
STEPS = _LISTS["steps"]
_REPEATS = _LISTS["repeats"]
#: What a count of whole trainings is called, and one of the passes of a training.
_TIMES = _LISTS["times"]
#: What one of them is called.
ONE_TIME = {word for word in _REPEATS if f"{word}s" in _TIMES}
ROUNDS = _LISTS["rounds"]
#: What the parties of a federated training are called.
CLIENTS = _LISTS["clients"]
PASSES = (_EPOCHS | STEPS) - _LISTS["any counter"]
_COUNTED = {word for word in PASSES if word.endswith("s")}
#: What gives the batches of one pass.
_LOADERS = {"dataloader", "loader"}
#: Variables that say nothing of what is counted.
_ANY = re.compile(r"_+|[a-z]|ii|idx")
_NUMBER_OF = re.compile(r"^(num|n|max|total)(?=[a-z]{4})")
#: Calls that loops count by.
COUNTS = _LISTS["counting functions"]


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
        """Words of the variable's names, and, where these say nothing, of the count: ``for i in range(epochs)``."""
        return self.own | self.counted if _ANY.fullmatch(self.variable) else self.own

    @cached_property
    def own(self) -> set[str]:
        """Words of the variable's names alone."""
        return {word for name in re.findall(r"[A-Za-z]+", self.variable) for word in (name.lower(), *words_of(name))}

    @cached_property
    def counted(self) -> set[str]:
        """Words of what a loop counts up to: ``range(args.num_epochs)``."""
        if not isinstance(self.node, (ast.For, ast.AsyncFor)):
            return set()
        over = self.node.iter
        known = only_binding(over.id, self.unit) if isinstance(over, ast.Name) else None
        count = known.value if known is not None and isinstance(known.value, ast.Call) else over
        is_count = isinstance(count, ast.Call) and (called_name(count) in COUNTS or any(map(_is_range, count.args)))
        names = list(names_counted(count)) if is_count else []
        words = {word for name in names for word in (name.lower(), *words_of(name))}
        return words | {_NUMBER_OF.sub("", word) for word in words}

    @property
    def indexed(self) -> set[str]:
        """Words of what a loop counts the things of: ``range(len(models))``."""
        sizes = [end for end in end_counted(self.node) if isinstance(end, ast.Call) and called_name(end) == "len"]
        return {
            word for size in sizes for arg in size.args[:1] for word in words_of(dotted_text(arg).rpartition(".")[2])
        }

    @property
    def goes_over(self) -> set[str]:
        """Words of what a ``for`` loop runs over."""
        over = text_of(self.node.iter) if isinstance(self.node, (ast.For, ast.AsyncFor)) else ""
        return {word for name in re.findall(r"[A-Za-z_]+", over) for word in words_of(name)}

    @property
    def counts_epochs(self) -> bool:
        """Whether the variable is named like an epoch."""
        return bool(self.words & _EPOCHS)

    @property
    def counts(self) -> bool:
        """Whether the variable is named like an epoch or a step."""
        return bool(self.words & (_EPOCHS | STEPS))

    @property
    def numbers(self) -> bool:
        """Whether it numbers what it runs over by a counter of any name: ``for i, label in enumerate(labels)``."""
        is_pair = isinstance(self.node, (ast.For, ast.AsyncFor)) and isinstance(self.node.target, ast.Tuple)
        return is_pair and not self.own & PASSES

    @property
    def repeats(self) -> bool:
        """Whether it repeats whole trainings, or does something else to each of a few things."""
        if isinstance(self.node, ast.While) and _advanced(self.node):
            return bool(self.own & ONE_TIME) and not self.counts  # ``while trial < 4: ... trial += 1``
        if not isinstance(self.node, (ast.For, ast.AsyncFor)):
            return False
        if _tries_counts(self.node):
            return True
        if self.counts_epochs:
            return False
        if _counts_machines(self.node.iter) or _starts_workers(self.node):
            return True
        if self.counted & _TIMES and not self.counted & PASSES:
            return True
        if self.indexed & _REPEATS and not self.own & PASSES:
            return True
        if not self.words & _REPEATS or _is_resolutions(self.own) or self.goes_over & _LOADERS:
            return False
        if isinstance(self.node.target, ast.Tuple):
            return not set(words_of(text_of(self.node.target.elts[0]))) & PASSES
        return not self.counts

    @property
    def reason(self) -> str:
        """Why it is taken for the main loop."""
        if isinstance(self.node, ast.Call):
            return f"{self.variable} runs the training in a loop of its own"
        if self.reports:
            return "the outermost loop that reports metrics; nothing in it is known to train"
        return f"the outermost loop that trains ({self.sign})"


def _is_resolutions(words: set[str]) -> bool:
    """Whether a pair is of images of low and high resolution, and its ``lr`` no learning rate."""
    return {"lr", "hr"} <= words


def _is_range(node: ast.expr) -> bool:
    """Whether an expression counts up, whatever shows how far: ``Progress(range(epochs))``."""
    return isinstance(node, ast.Call) and called_name(node) in {"range", "trange", "xrange"}


def names_counted(node: ast.expr) -> Iterator[str]:
    """Yield what numbers are called: the last part of ``args.epochs + 1``, ``int(epochs)``, ``config["epochs"]``."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            yield name
        case ast.BinOp(left=left, right=right):
            yield from (name for part in (left, right) for name in names_counted(part))
        case ast.Call() if called_name(node) != "len":
            yield from (name for arg in node.args for name in names_counted(arg))


def end_counted(node: ast.AST) -> list[ast.expr]:
    """Return what a loop counts up to by ones, in a list: ``n`` of ``range(1, n)``."""
    over = node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else None
    if isinstance(over, ast.Call) and called_name(over) in COUNTS:
        over = next(filter(_is_range, over.args), over)  # shown by a progress bar
    return over.args[-1:] if isinstance(over, ast.Call) and _is_range(over) and len(over.args) < 3 else []


def _tries_counts(loop: ast.For | ast.AsyncFor) -> bool:
    """Whether each pass is given a count of passes: ``for epochs in [10, 90]``, ``for steps, n in zip(many, ns)``."""
    over = loop.iter
    if isinstance(over, ast.Call) and (
        called_name(over) != "zip" or any(isinstance(arg, ast.Call) for arg in over.args)
    ):
        return False
    is_listed = isinstance(over, (ast.Call, ast.List, ast.Tuple))
    return is_listed and any(isinstance(node, ast.Name) and node.id in _COUNTED for node in ast.walk(loop.target))


def _counts_machines(node: ast.expr) -> bool:
    """``range(num_gpus)``: once for each device or process."""
    if not isinstance(node, ast.Call) or called_name(node) not in COUNTS or not node.args:
        return False
    words = {word for arg in node.args for name in re.findall(r"[A-Za-z]+", text_of(arg)) for word in words_of(name)}
    return not words.isdisjoint({"gpu", "gpus", "ngpu", "ngpus", "world", "devices", "processes", "workers", "towers"})


def _starts_workers(loop: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop starts threads or processes that each run a function: ``Thread(target=work).start()``."""
    calls = (node for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(
        called_name(call) in {"Thread", "Process"} and any(key.arg == "target" for key in call.keywords)
        for call in calls
    )


def encloses(outer: Candidate, inner: Candidate) -> bool:
    """Whether one of two candidates runs within the other."""
    if outer.loop is None and not outer.inside:
        return False
    if inner.unit is outer.unit and inner.loop is not None and is_within(inner.loop.nesting, outer.node):
        return True
    if inner.loop is None and inner.unit is outer.unit:
        return any(node is inner.node for node in ast.walk(outer.node))
    return inner.unit in outer.inside and outer.unit not in inner.inside


def described(candidate: Candidate) -> MainLoop:
    """Return a candidate as the main loop."""
    node, module = candidate.node, candidate.unit.module
    kind: Literal["for", "while", "call"] = "call"
    span = None
    if not isinstance(node, ast.Call):
        kind, header = ("while", node.test) if isinstance(node, ast.While) else ("for", node.iter)
        span = span_of(header, module)
    return MainLoop(
        file=module.file, line=node.lineno, variable=candidate.variable, kind=kind, why=candidate.reason, span=span
    )


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


# Signs that a piece of code trains: gradients, optimiser steps, updates of weights.

_CALLS = word_lists("training")["training calls"]
_OPTIMISERS = re.compile(
    words_like("opts?", "optim(?!al|ist|um)|scaler|solver") + rf"|(?i:optim(i[sz]er)?s?|gradscaler)(?![a-z])|{TRAIN}er$"
)
_TRAIN_OPS = re.compile(f"{TRAIN}|{words_like('opts?', 'optim(?!al|ist|um)|minimi[sz]|solver|update')}")

#: The sign that a loop trains which is arithmetic alone.
WEIGHT_UPDATE = "weight update"


def training_signs(unit: Unit) -> list[tuple[Nesting | None, str]]:
    """Return where a function's own code trains, and by what."""
    signs = [(site.nesting, sign) for site in unit.calls if (sign := sign_of_call(site))]
    if signs or not unit.loops:
        return signs
    return [*signs, *_manual_updates(unit)]


def sign_of_call(site: CallSite) -> str:
    """Name the sign of training a call is; empty for none."""
    name = called_name(site.node)
    receiver = site.node.func.value if isinstance(site.node.func, ast.Attribute) else None
    receiver_name = dotted_text(receiver) if receiver is not None else ""
    if name in {"minimize", "apply_gradients"} and site.node.args and site.is_used and _is_of_graphs(site):
        return ""
    if name in _CALLS:
        return name if not (name == "grad" and receiver is None) else ""
    if name in {"step", "update"} and receiver is not None and _OPTIMISERS.search(receiver_name):
        return f"{receiver_name}.{name}" if name == "step" or len(site.node.args) >= 2 else ""
    if re.search(r"scaler$", name) and len(site.node.args) >= 2:
        return name
    if name == "run" and site.node.args and _is_session(receiver, site.scope):
        asked = [site.node.args[0], *_assigned(site.node.args[0], site.scope)]
        return f"{receiver_name}.run" if any(map(_mentions_training, asked)) else ""
    return ""


def _is_of_graphs(site: CallSite) -> bool:
    """Whether a file uses TensorFlow, where ``train_op = optimizer.minimize(loss)`` makes an operation to be run."""
    imports = (node for node, _, _ in site.scope.module.imports)
    return any(name.partition(".")[0] == "tensorflow" for node in imports for name in imported_names(node))


def _is_session(node: ast.expr | None, scope: Scope) -> bool:
    """Whether something is called, made or bound as a session: ``with supervisor.managed_session() as s``."""
    called = dotted_text(node) if node is not None else ""
    called = called_name(node) if isinstance(node, ast.Call) else called
    if not {"sess", "session"}.isdisjoint(words_of(called)):
        return True
    bindings = bindings_of(node.id, scope) if isinstance(node, ast.Name) else []
    made = (binding.value for binding in bindings if isinstance(binding.value, ast.Call))
    return any("session" in words_of(called_name(call)) for call in made)


def _assigned(node: ast.expr, scope: Scope) -> list[ast.expr]:
    """Return the lists and mappings that a name is assigned: ``ops = [loss, train_op]``."""
    bindings = bindings_of(node.id, scope) if isinstance(node, ast.Name) else []
    values = [binding.value for binding in bindings if binding.kind == "assign" and not binding.path]
    return [value for value in values if isinstance(value, (ast.List, ast.Tuple, ast.Dict))]


def _mentions_training(node: ast.expr) -> bool:
    """Whether a name, attribute or key in an expression is called like an operation that trains."""
    nodes = list(ast.walk(node))
    names = [part.id for part in nodes if isinstance(part, ast.Name)]
    keys = [
        part.slice.value for part in nodes if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant)
    ]
    texts = [key for key in keys if isinstance(key, str)]
    attributes = [part.attr for part in nodes if isinstance(part, ast.Attribute)]
    return any(map(_TRAIN_OPS.search, names + attributes + texts))


def _manual_updates(unit: Unit) -> list[tuple[Nesting | None, str]]:
    """``w -= lr * gradient`` and ``w = w - lr * gradient``."""
    return [
        (Nesting(loop.node, "body", loop.nesting), WEIGHT_UPDATE)
        for loop in unit.loops
        for node in ast.walk(loop.node)
        if (step := _subtracted(node)) is not None and is_scaled_step(step)
    ]


def _subtracted(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub):
        return node.value
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Sub):
        return node.value.right
    return None


# Where a training may be that no call leads to: what to assume of the files that are read.

#: What is left of the confidence in a value that code reports which is assumed to run.
ASSUMED = 0.7
#: What a script is called that may train, and one that does something else.
_TRAINS = re.compile(rf"{TRAIN}|{BEGINS}(?i:fit|learn|main|run|exp|start|launch|cli(?![a-z]))")
_BESIDE = re.compile(
    rf"{BEGINS}(?i:test|eval|valid|infer|predict|demo|sampl|prep|data|plot|visual|export|convert|load|generat|setup)"
)


def may_train(entry: ModuleIndex) -> bool:
    """Whether a script that no training is seen in may train all the same, by its name."""
    name = PurePosixPath(entry.file).stem
    return bool(_TRAINS.search(name)) and not _BESIDE.search(name)


def training_modules(program: Program) -> list[ModuleIndex]:
    """Return the modules whose functions train."""
    return [module for module in program.modules if any(map(training_signs, module.units))]


def assumed_loop(loop: MainLoop) -> MainLoop:
    """Say of a main loop that it is assumed to run."""
    return msgspec.structs.replace(loop, why=f"{loop.why}; that the entry reaches it is assumed")


def assumed_metric(metric: Metric) -> Metric:
    """Say of a metric that the code which reports it is assumed to run."""
    why = f"{metric.why}; that the entry reaches it is assumed"
    return msgspec.structs.replace(metric, confidence=round(metric.confidence * ASSUMED, 2), why=why)
