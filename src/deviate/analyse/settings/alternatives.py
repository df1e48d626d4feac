"""Alternatives from which a setting that is not known chooses: which of them is read."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from deviate.analyse.naming.words import BEGINS
from deviate.analyse.settings.derived import is_member
from deviate.analyse.settings.keys import flag_held, setting_keys, word_position
from deviate.analyse.source.index import CallSite, ClassScope, Scope, Unit, lookup
from deviate.analyse.source.parents import Parents
from deviate.analyse.source.syntax import called_name, passed_for, text_of

#: Names that stand for names are followed this far.
MAX_DEPTH = 12
#: Methods of texts that settings are read through.
TEXT_METHODS = {"lower", "upper", "title", "capitalize", "strip", "startswith", "endswith", "replace"}
#: Alternatives that train nothing.
BESIDE = re.compile(rf"{BEGINS}(?i:test|eval|infer|predict|export|demo|sample|valid|debug)")

_EXITS = {"exit", "quit", "_exit"}
#: Calls by which a program says that it was given nothing it knows.
_COMPLAINTS = {"print", "format", "exit", "quit", "error", "warn", "warning", "info", "print_help", "str", "repr"}


class Alternatives:
    """Chains of ``if`` that compare one setting with constant texts.

    `calls_of` finds the calls by a name, `is_nothing` says whether a setting, given by its keys, is None by default.
    """

    def __init__(
        self, calls_of: Callable[[str], list[CallSite]], is_nothing: Callable[[tuple[str, ...]], bool]
    ) -> None:
        self._calls_of = calls_of
        self._is_nothing = is_nothing
        self._parents = Parents()
        self._imports: dict[ast.stmt, set[str]] = {}
        #: How many alternatives of each choice are left out, and whether there was one to choose.
        self.passed_over = 0
        self.has_chosen = False

    def is_alternative(self, node: ast.If | ast.While, scope: Scope) -> bool:
        """Whether a test chooses one of several things, and does not merely add one.

        An ``if`` without an ``else`` adds something, unless it ends the function (``if args.find_rate: search();
        return``) or the next ``if`` asks for another value of the same. A switch with an ``else`` chooses, too.
        """
        if isinstance(node, ast.If) and not self._imported(node.body).isdisjoint(self._imported(node.orelse)):
            return True
        is_exclusive = isinstance(node, ast.If) and (bool(node.orelse) or ends(node))
        if is_exclusive and self._is_set(_without_not(node.test), scope.unit):
            return True
        if not is_choice(node.test):
            return False
        return bool(node.orelse) or leaves(node) or (isinstance(node, ast.If) and self._is_one_of_a_row(node, scope))

    def _imported(self, block: list[ast.stmt]) -> set[str]:
        """Return the names that the import statements of a block bind; each is looked into once, however it nests."""
        names: set[str] = set()
        for statement in block:
            if statement not in self._imports:
                self._imports[statement] = _own_imports(statement).union(
                    *(self._imported(inner) for inner in _blocks(statement))
                )
            names |= self._imports[statement]
        return names

    def _is_one_of_a_row(self, node: ast.If, scope: Scope) -> bool:
        name, words = _chosen_by(node)
        for other in (each for each in self._neighbours(node, scope) if not each.orelse) if name is not None else ():
            other_name, other_words = _chosen_by(other)
            is_same = other_name is not None and name is not None and text_of(other_name) == text_of(name)
            if is_same and set(words).isdisjoint(other_words):
                return True
        return False

    def is_not_chosen(self, node: ast.If | ast.While, branch: str, scope: Scope) -> bool:
        """Whether a branch is left out: a setting that is not known chooses between it and another, which is read."""
        if branch == "body" and isinstance(node, ast.If) and self._is_later_choice(node, scope):
            return True
        if _is_switched_off(node.test) and not self.passed_over:
            self.has_chosen = True
            return (branch == "body") is not isinstance(node.test, ast.UnaryOp)
        is_left_to_else = self._is_left_to_else(node)
        if is_left_to_else and not self.passed_over:
            self.has_chosen = True
            return branch == "body"
        is_before = self._place(node, scope) < self.passed_over - is_left_to_else
        is_left_out = (branch == "body") is is_before and self._is_first_choice(node, scope)
        self.has_chosen = self.has_chosen or is_left_out
        return is_left_out

    def _is_left_to_else(self, node: ast.If | ast.While) -> bool:
        """Whether a chain asks for a setting that is None by default, and ends with what is done without it."""
        name, _ = _chosen_by(node)
        keys = setting_keys(name) if name is not None else ()
        return bool(keys) and any(map(_calls, _final_else(node))) and self._is_nothing(keys)

    def _place(self, node: ast.If | ast.While, scope: Scope) -> int:
        """Return how many ``if`` stand before one in its chain."""
        parent = self._parents.of(node, scope.module)
        is_inner = isinstance(parent, ast.If) and parent.orelse == [node]
        return 1 + self._place(parent, scope) if is_inner and isinstance(parent, ast.If) else 0

    def pass_over(self, count: int) -> None:
        """Read a later alternative than the first: leave `count` of each choice out."""
        self.passed_over, self.has_chosen = count, False

    def _is_first_choice(self, node: ast.If | ast.While, scope: Scope) -> bool:
        """Whether an ``if`` begins a chain of alternatives that a setting which is not known chooses from."""
        name, words = _chosen_by(node)
        others = [other for other in node.orelse if isinstance(other, ast.If)]
        if name is None or len(node.orelse) != 1 or not others or any(map(BESIDE.search, words)):
            return False
        other_name, _ = _chosen_by(others[0])
        is_chain = other_name is not None and text_of(other_name) == text_of(name)
        return is_chain and self._is_set(name, scope.unit)

    def _is_later_choice(self, node: ast.If, scope: Scope) -> bool:
        """Whether an ``if`` follows one that returns for another value of a setting which is not known."""
        name, _ = _chosen_by(node)
        before = self._before(node, scope) if name is not None else None
        if name is None or before is None or not leaves(before) or not leaves(node):
            return False
        other_name, words = _chosen_by(before)
        if other_name is None or text_of(other_name) != text_of(name) or not self._is_set(name, scope.unit):
            return False
        return not any(map(BESIDE.search, words)) or self._is_later_choice(before, scope)

    def _before(self, node: ast.If, scope: Scope) -> ast.If | None:
        """Return the ``if`` that stands before another one in the same block."""
        block = self._block(node, scope)
        before = block[block.index(node) - 1] if node in block[1:] else None
        return before if isinstance(before, ast.If) else None

    def _neighbours(self, node: ast.If, scope: Scope) -> list[ast.If]:
        """Return each ``if`` that stands right before or after another one in the same block."""
        block = self._block(node, scope)
        at = block.index(node) if node in block else 0
        return [each for each in (*block[max(at - 1, 0) : at], *block[at + 1 : at + 2]) if isinstance(each, ast.If)]

    def _block(self, node: ast.If, scope: Scope) -> list[ast.stmt]:
        parent = self._parents.of(node, scope.module)
        blocks = [getattr(parent, field, []) for field in ("body", "orelse", "finalbody")]
        return next((block for block in blocks if isinstance(block, list) and node in block), [])

    def _is_set(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether an expression is a setting, by way of names, parameters and methods of texts."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TEXT_METHODS:
            node = node.func.value
        if setting_keys(node) or word_position(node) or flag_held(node, scope):
            return True
        definition = lookup(node.id, scope) if isinstance(node, ast.Name) and depth < MAX_DEPTH else None
        bindings = definition[1] if definition is not None else []
        if len(bindings) != 1:
            return False
        binding = bindings[0]
        if binding.kind == "assign" and binding.value is not None and not binding.path:
            return self._is_set(binding.value, binding.scope, depth + 1)
        if binding.kind != "param" or not isinstance(binding.scope, Unit):
            return False
        unit = binding.scope
        calls = self._calls_of(name_called(unit)) if name_called(unit) else []
        given = [(value, site.scope) for site in calls for value in passed_for(site.node, unit, binding.key)]
        return bool(given) and all(self._is_set(value, home, depth + 1) for value, home in given)


def _chosen_by(node: ast.stmt) -> tuple[ast.expr | None, list[str]]:
    """Return what an ``if`` compares with constant texts, and these."""
    match node:
        case ast.If(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=str(word))])):
            return left, [word]
        case ast.If(test=ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple() | ast.List() | ast.Set()])):
            words = [part.value for part in node.test.comparators[0].elts if isinstance(part, ast.Constant)]  # type: ignore[attr-defined]
            return left, [str(word) for word in words]
    return None, []


def _final_else(node: ast.stmt) -> list[ast.stmt]:
    """Return what a chain that asks for one setting does where it has none of the values."""
    name, _ = _chosen_by(node)
    rest: list[ast.stmt] = [node]
    while name is not None and len(rest) == 1 and isinstance(rest[0], ast.If):
        other, _ = _chosen_by(rest[0])
        if other is None or text_of(other) != text_of(name):
            break
        rest = rest[0].orelse
    return rest


def _calls(statement: ast.stmt) -> bool:
    """Whether a statement does more than to say that something is wrong."""
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
    return not isinstance(statement, ast.Raise) and any(called_name(call) not in _COMPLAINTS for call in calls)


def _is_switched_off(test: ast.expr) -> bool:
    """Whether a test asks for a switch that takes something away, which is off unless somebody sets it."""
    keys = setting_keys(_without_not(test))
    return bool(keys) and re.match(r"(disable|without|no)_", keys[-1]) is not None


def _without_not(test: ast.expr) -> ast.expr:
    """Return what is negated, anything else as it is."""
    return test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test


def _own_imports(statement: ast.stmt) -> set[str]:
    aliases = statement.names if isinstance(statement, (ast.Import, ast.ImportFrom)) else ()
    return {alias.asname or alias.name for alias in aliases}


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement."""
    for part in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield from (block for name in ("body", "orelse", "finalbody") if (block := getattr(part, name, None)))


def leaves(node: ast.If | ast.While) -> bool:
    """Whether the body of an ``if`` ends its function."""
    return isinstance(node.body[-1], (ast.Return, ast.Raise))


def ends(node: ast.If) -> bool:
    """Whether the body of an ``if`` does something and then ends its function, or the program."""
    last = node.body[-1]
    is_exit = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and called_name(last.value) in _EXITS
    return len(node.body) > 1 and not node.orelse and (isinstance(last, ast.Return) or is_exit)


def is_choice(test: ast.expr) -> bool:
    """Whether a test compares with a constant text or several: one of some alternatives."""
    if isinstance(test, ast.BoolOp):
        return all(map(is_choice, test.values))
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and is_choice(test.operand)
    if isinstance(test, ast.Call):
        return called_name(test) in {"startswith", "endswith"}
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
        return False
    sides = [part for side in (test.left, *test.comparators) for part in getattr(side, "elts", [side])]
    return any((isinstance(side, ast.Constant) and isinstance(side.value, str)) or is_member(side) for side in sides)


def name_called(unit: Unit) -> str:
    """Name by which calls reach a function; empty where others reach it as well."""
    if unit.name == "__init__" and isinstance(unit.owner, ClassScope):
        return unit.owner.name
    return "" if unit.name.startswith("__") else unit.name
