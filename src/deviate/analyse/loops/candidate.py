"""A loop that may be the main one: what it counts, and what stands in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from deviate.analyse.naming.words import word_lists, words_of
from deviate.analyse.source.index import Loop, Unit, is_within, only_binding
from deviate.analyse.source.syntax import called_name, dotted_text, span_of, text_of
from deviate.experiment import MainLoop

_LISTS = word_lists(__file__)
_EPOCHS = _LISTS["epochs"]
STEPS = _LISTS["steps"]
_REPEATS = _LISTS["repeats"]
#: What a count of whole trainings is called, and one of the passes of a training.
_TIMES = _LISTS["times"]
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
