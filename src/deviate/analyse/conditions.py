"""What the conditions around a report say: whether it is switched on, an alarm, and which part of the data it is of."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deviate.analyse.abstract import CONSTANT, COUNT, METRIC_ORIGINS, OBJECT, SETTING, TEXT
from deviate.analyse.index import Place, Scope
from deviate.analyse.spans import text_of
from deviate.analyse.words import split_of, words_of

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: The process that reports for all; its condition holds in every run.
_MAIN_PROCESS = re.compile(r"rank|master|main|primary|is_chief|process_index|gpu\b|multiprocessing|distributed",
                           re.IGNORECASE)  # fmt: skip
_PHASE = re.compile(r"(^|[._])(is_?)?(train|training|eval|val|test)(ing)?(_mode|_phase)?$")
_EXITS = {"sys.exit", "exit", "quit", "os._exit"}
_NOT_FINITE = re.compile(r"nan\b|isinf|finite|overflow", re.IGNORECASE)
#: What is not named in the other branch of a condition.
_OTHER = {"train": "val", "val": "train", "test": "train", "eval": "train"}


def switches(flow: Flow, place: Place | None, scope: Scope) -> int:
    """Count the settings that must be chosen for code to run: ``if args.tensorboard``."""
    count = 0
    while place is not None:
        if isinstance(place.node, ast.If) and place.branch in {"body", "orelse"}:
            count += _is_switch(flow, place.node.test, scope)
        place = place.outer
    return count


def _is_switch(flow: Flow, test: ast.expr, scope: Scope) -> bool:
    if _MAIN_PROCESS.search(text_of(test)):
        return False
    names = [node for node in ast.walk(test) if isinstance(node, (ast.Name, ast.Attribute))]
    value = flow.resolved(test, scope)
    if value.has(COUNT, *METRIC_ORIGINS) or not names:
        return False
    return value.has(SETTING) or (value.plain() <= {CONSTANT, OBJECT, TEXT} and value.has(CONSTANT))


def is_alarm(place: Place | None) -> bool:
    """Whether code is in a branch that ends the program because something went wrong: ``if not isfinite(loss)``."""
    while place is not None:
        suite = getattr(place.node, place.branch, None)
        if isinstance(place.node, ast.If) and place.branch in {"body", "orelse"} and suite:
            return _gives_up(suite[-1], text_of(place.node.test))
        place = place.outer
    return False


def _gives_up(last: ast.stmt, test: str) -> bool:
    if isinstance(last, (ast.Raise, ast.Assert)):
        return True
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
        return False
    if text_of(last.value.func) not in _EXITS:
        return False
    status = last.value.args[0] if last.value.args else None
    if status is None:
        return _NOT_FINITE.search(test) is not None
    return not (isinstance(status, ast.Constant) and status.value == 0)


def split_at(place: Place | None) -> str:
    """Find which part of the data the branches around code are for: ``if self.is_train: ... else: ...``."""
    while place is not None:
        if isinstance(place.node, ast.If) and place.branch in {"body", "orelse"}:
            split = _tested_split(place.node.test)
            if split:
                return split if place.branch == "body" else _OTHER[split]
        place = place.outer
    return ""


def _tested_split(test: ast.expr) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _OTHER.get(_tested_split(test.operand), "")
    if isinstance(test, ast.Compare):
        return _compared_split(test)
    if not isinstance(test, (ast.Name, ast.Attribute)):
        return ""
    name = text_of(test)
    # ``args.do_eval`` asks whether to evaluate at all, ``self.training`` in which phase the code is.
    return split_of(name) if _PHASE.search(name) else ""


def _compared_split(test: ast.Compare) -> str:
    """``phase == "val"``."""
    other = test.comparators[0]
    if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        return ""
    if not isinstance(other, ast.Constant) or not isinstance(other.value, str) or len(words_of(other.value)) != 1:
        return ""
    split = split_of(other.value)
    return split if isinstance(test.ops[0], ast.Eq) else _OTHER.get(split, "")
