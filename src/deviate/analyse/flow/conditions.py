"""The conditions around a report: whether a setting switches it on, whether it is an alarm, its part of the data."""

from __future__ import annotations

import ast
import re

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import METRIC_ORIGINS, From
from deviate.analyse.naming.words import split_of, words_like, words_of
from deviate.analyse.source.index import Nesting, Scope, enclosing_branches
from deviate.analyse.source.syntax import text_of

#: The process that reports for all; its condition holds in every run.
_MAIN_PROCESS = re.compile(
    words_like(
        "ranks?|main|primary|n?gpu|multigpu",
        "rank_?(zero|id)|(is_?)?master|(is_?)?main_?proc|is_?(chief|main|primary)|process_?index|"
        "multiprocessing|distributed",
    )
    + "|(?i:rank)(?![a-z])"
)
_PHASE = re.compile(r"(^|[._])(is_?)?(train|training|eval|val|test)(ing)?(_mode|_phase)?$")
_EXITS = {"sys.exit", "exit", "quit", "os._exit"}
_NOT_FINITE = re.compile(words_like("(is_?|has_?|any_?)?nans?", "(is_?)?inf|(is_?|not_?|non_?|all_?)?finite|overflow"))
#: What is not named in the other branch of a condition.
_OTHER = {"train": "val", "val": "train", "test": "train", "eval": "train"}


def switches(flow: Evaluator, nesting: Nesting | None, scope: Scope) -> int:
    """Count the settings that must be chosen for code to run: ``if args.tensorboard``."""
    return sum(_is_switch(flow, node.test, scope) for node, _ in enclosing_branches(nesting))


def _is_switch(flow: Evaluator, test: ast.expr, scope: Scope) -> bool:
    if _MAIN_PROCESS.search(text_of(test)):
        return False
    value = flow.resolved(test, scope)
    is_fixed = not any(isinstance(node, (ast.Name, ast.Attribute)) for node in ast.walk(test))
    if is_fixed or value.has(From.COUNT, *METRIC_ORIGINS):
        return False
    return value.has(From.SETTING) or (
        value.plain() <= {From.CONSTANT, From.OBJECT, From.TEXT} and value.has(From.CONSTANT)
    )


def is_alarm(nesting: Nesting | None) -> bool:
    """Whether code is in a branch that ends the program because something went wrong: ``if not isfinite(loss)``."""
    node, branch = next(enclosing_branches(nesting), (None, ""))
    return node is not None and _aborts(getattr(node, branch)[-1], text_of(node.test))


def _aborts(last: ast.stmt, test: str) -> bool:
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


def split_at(nesting: Nesting | None) -> str:
    """Find which part of the data the branches around code are for: ``if self.is_train: ... else: ...``."""
    splits = ((_tested_split(node.test), branch) for node, branch in enclosing_branches(nesting))
    return next((split if branch == "body" else _OTHER[split] for split, branch in splits if split), "")


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
