"""Expressions whose value the settings decide, and the branches that are not taken because of it."""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

from deviate.lexicon.words import BEGINS
from deviate.source.index import (
    Binding,
    CallSite,
    ClassScope,
    ModuleIndex,
    Nesting,
    Scope,
    Unit,
    bindings_of,
    enclosing_branches,
    in_force,
    lookup,
    under_main_guard,
)
from deviate.source.settings.lookup import Settings, flag_held, setting_keys, word_position
from deviate.source.settings.options import Known, agreed, is_command, is_member
from deviate.source.syntax import Parents, called_name, dotted_text, passed_for, text_of

# Alternatives from which a setting that is not known chooses: which of them is read.

#: Names that stand for names are followed this far.
MAX_DEPTH = 12
#: Methods of texts that settings are read through.
TEXT_METHODS = {"lower", "upper", "title", "capitalize", "strip", "startswith", "endswith", "replace"}
#: Alternatives that train nothing.
BESIDE = re.compile(rf"{BEGINS}(?i:test|eval|infer|predict|export|demo|sample|valid|debug)")

#: What has as many items as its first argument, and what counts up to its arguments.
_SAME_LENGTH, _RANGES = {"tqdm", "track", "enumerate", "list", "reversed"}, {"range", "trange", "xrange", "tnrange"}

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


#: Calls of a function that are looked at for what they pass.
MAX_CALLS = 20
_COMPARISONS: dict[type[ast.cmpop], Callable[..., object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda item, group: item in group, ast.NotIn: lambda item, group: item not in group,
}  # fmt: skip


class Constants:
    """Evaluates what constants and, where they are known, settings decide.

    `resolve` finds what an imported dotted name is. Where `plain` is given, settings decide only between alternatives
    (``if args.model == "large"``), and all other branches are left to it.
    """

    def __init__(
        self,
        modules: list[ModuleIndex],
        settings: Settings | None,
        resolve: Callable[[str, ModuleIndex], object],
        plain: Constants | None = None,
    ) -> None:
        self.plain = plain
        self.modules = modules
        self.settings = settings
        self._resolve = resolve
        self._known: dict[object, Known | None] = {}
        #: Settings in the order in which they were read.
        self._read: list[str] = []
        self._dead: dict[Nesting, bool] = {}
        self._skipped: dict[Nesting, bool] = {}
        self._calls: dict[str, list[CallSite]] | None = None
        self._mentions: Counter[str] = Counter()
        self.alternatives = Alternatives(
            self._calls_of, settings.is_nothing if settings is not None else lambda _: False
        )

    @property
    def has_decided(self) -> bool:
        """Whether the value of anything but a constant was known."""
        return any(known is not None for known in self._known.values())

    def pass_over(self, count: int) -> None:
        """Leave the first alternatives out of each choice that a setting which is not known makes."""
        self.alternatives.pass_over(count)
        self._dead, self._skipped, self._known = {}, {}, {}

    def is_dead(self, nesting: Nesting | None, scope: Scope) -> bool:
        """Whether code stands in a branch that is not taken."""
        if nesting is None:
            return False
        if nesting not in self._dead:
            self._dead[nesting] = False  # while the test is being looked at
            self._dead[nesting] = self._skips(nesting, scope) or self.is_dead(nesting.outer, scope)
        return self._dead[nesting]

    def _skips(self, nesting: Nesting, scope: Scope) -> bool:
        if nesting not in self._skipped:
            self._skipped[nesting] = self._is_skipped(nesting, scope)
        return self._skipped[nesting]

    def _is_skipped(self, nesting: Nesting, scope: Scope) -> bool:
        node = nesting.node
        if not isinstance(node, (ast.If, ast.While)) or nesting.branch not in {"body", "orelse"}:
            return False
        if isinstance(node, ast.While) and nesting.branch == "orelse":
            return False
        is_left = self.plain is not None and not self.alternatives.is_alternative(node, scope)
        test = (self.plain if is_left and self.plain is not None else self).value(node.test, scope.unit)
        if test is None and self.plain is not None and not is_left:
            return self.alternatives.is_not_chosen(node, nesting.branch, scope)
        return test is not None and bool(test.value) != (nesting.branch == "body")

    def rounds(self, node: ast.expr, scope: Scope) -> int | None:
        """Return how many items a ``range`` in the head of a loop has; None where that is not known."""
        name, args = (called_name(node), node.args) if isinstance(node, ast.Call) else ("", [])
        if name in _SAME_LENGTH and args:
            return self.rounds(args[0], scope)
        limits = [self._whole(arg, scope) for arg in args] if name in _RANGES else []
        known = [limit for limit in limits if limit is not None]
        return len(range(*known)) if known and len(known) == len(limits) <= 3 and 0 not in known[2:] else None

    def _whole(self, node: ast.expr, scope: Scope) -> int | None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            left, right = self._whole(node.left, scope), self._whole(node.right, scope)
            sign = 1 if isinstance(node.op, ast.Add) else -1
            return None if left is None or right is None else left + sign * right
        if isinstance(node, ast.Call) and called_name(node) == "int" and len(node.args) == 1:
            return self._whole(node.args[0], scope)
        known = self.value(node, scope)
        return known.value if known is not None and type(known.value) is int else None

    def needed_option(self, nesting: Nesting | None, scope: Scope) -> str:
        """Return the option without which a branch around some code is not taken; empty where there is none."""
        if not self.is_dead(nesting, scope):
            return ""
        # What an outer branch leaves out stands in it; the innermost one that is left out decides.
        while nesting is not None and not self._skips(nesting, scope):
            nesting = nesting.outer
        if nesting is None or not isinstance(nesting.node, ast.If) or nesting.branch != "body" or self.settings is None:
            return ""
        known, self._known, self._read = self._known, {}, []
        self.value(nesting.node.test, scope.unit)
        self._known = known
        return next((flag for name in self._read for flag in self.settings.flags(name) if flag.startswith("--")), "")

    def taken(self, node: ast.expr | None, scope: Scope) -> ast.expr | None:
        """Return the part of ``a if test else b`` that is taken, anything else as it is."""
        test = self.value(node.test, scope) if isinstance(node, ast.IfExp) else None
        if test is None or not isinstance(node, ast.IfExp):
            return node
        return node.body if test.value else node.orelse

    def value(self, node: ast.expr, scope: Scope, depth: int = 0) -> Known | None:
        """Return what an expression is, None where that is not known."""
        if isinstance(node, ast.Constant):
            return Known(node.value)
        if depth > MAX_DEPTH:
            return None
        if node not in self._known:
            self._known[node] = None  # while it is being looked at
            try:
                self._known[node] = self._evaluate(node, scope, depth)
            except (TypeError, ValueError, AttributeError):  # the program would fail there
                self._known[node] = None
        return self._known[node]

    def _evaluate(self, node: ast.expr, scope: Scope, depth: int) -> Known | None:
        flag = flag_held(node, scope)
        keys = (flag,) if flag else setting_keys(node)
        if keys:
            return self._setting(keys, depth) if self.settings is not None else None
        position = word_position(node)
        if position:
            return self.settings.word(position) if self.settings is not None else None
        if isinstance(node, ast.Name):
            return self._name(node, scope, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope, depth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            operand = self.value(node.operand, scope, depth + 1)
            return Known(not operand.value) if operand is not None else None
        if isinstance(node, ast.BoolOp):
            return self._joined(node, scope, depth)
        if isinstance(node, ast.Compare):
            return self._compared(node, scope, depth)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            items = [self.value(item, scope, depth + 1) for item in node.elts]
            return Known([item.value for item in items if item is not None]) if None not in items else None
        if isinstance(node, ast.Dict):
            fixed = [key for key in node.keys if isinstance(key, ast.Constant)]
            return Known({key.value: None for key in fixed}) if len(fixed) == len(node.keys) else None
        if isinstance(node, ast.Call):
            return self._called(node, scope, depth)
        if isinstance(node, (ast.JoinedStr, ast.BinOp)):
            return self._text(node, scope, depth)
        return None

    def _setting(self, keys: tuple[str, ...], depth: int) -> Known | None:
        """Return a setting, also one that the program computes of others: ``cfg.multitask = cfg.task in TASKS``."""
        assert self.settings is not None
        self._read.append(keys[0])
        store = self.settings.computed(keys)
        if store is not None:
            unit = store.scope.unit
            calls = (site for site in self._calls_of(name_called(unit)) if unit.owner or not _is_of_an_object(site))
            is_run = unit is unit.module.unit or is_command(unit) or any(map(_is_always_made, calls))
            return self.value(store.value, store.scope, depth + 1) if is_run else None
        return self.settings.value(keys, is_choice=self.plain is None)

    def _text(self, node: ast.JoinedStr | ast.BinOp, scope: Scope, depth: int) -> Known | None:
        """Return a text that is put together: ``f"{name}_trainer"``, ``"models." + name``."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return self._filled(node, scope, depth)
        if isinstance(node, ast.BinOp):
            nodes = [node.left, node.right] if isinstance(node.op, ast.Add) else []
        elif any(isinstance(part, ast.FormattedValue) and part.format_spec is not None for part in node.values):
            return None
        else:
            nodes = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        parts = [self.value(part, scope, depth + 1) for part in nodes]
        texts = [part.value for part in parts if part is not None and isinstance(part.value, str)]
        return Known("".join(texts)) if nodes and len(texts) == len(nodes) else None

    def _filled(self, node: ast.BinOp, scope: Scope, depth: int) -> Known | None:
        """Return a text whose places are filled: ``"models.%s" % name``."""
        text, filled = self.value(node.left, scope, depth + 1), self.value(node.right, scope, depth + 1)
        if text is None or filled is None or not isinstance(text.value, str) or isinstance(filled.value, dict):
            return None
        return Known(text.value % (tuple(filled.value) if isinstance(filled.value, list) else filled.value))

    def _joined(self, node: ast.BoolOp, scope: Scope, depth: int) -> Known | None:
        """Evaluate ``a and b``: one that is false decides it, all must be known to make it true."""
        decisive = isinstance(node.op, ast.Or)
        values = [self.value(part, scope, depth + 1) for part in node.values]
        first = next((value for value in values if value is not None and bool(value.value) is decisive), None)
        if first is not None:
            return first if None not in values[: values.index(first)] else Known(decisive)
        return values[-1] if None not in values else None

    def _compared(self, node: ast.Compare, scope: Scope, depth: int) -> Known | None:
        compare = _COMPARISONS[type(node.ops[0])]
        left = self.value(node.left, scope, depth + 1)
        right = self.value(node.comparators[0], scope, depth + 1) if left is not None and len(node.ops) == 1 else None
        return Known(bool(compare(left.value, right.value))) if left is not None and right is not None else None

    def _called(self, node: ast.Call, scope: Scope, depth: int) -> Known | None:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "keys" and not node.args:
            table = self.value(func.value, scope, depth + 1)
            return table if table is not None and isinstance(table.value, dict) else None
        if not isinstance(func, ast.Attribute) or func.attr not in {*TEXT_METHODS, "format"}:
            return None
        text = self.value(func.value, scope, depth + 1)
        args = [self.value(arg, scope, depth + 1) for arg in node.args]
        if text is None or not isinstance(text.value, str) or None in args or node.keywords:
            return None
        return Known(getattr(text.value, func.attr)(*(arg.value for arg in args if arg is not None)))

    # Names.

    def _name(self, node: ast.Name, scope: Scope, depth: int) -> Known | None:
        home, bindings = lookup(node.id, scope) or (None, [])
        return self._bound(in_force(node, bindings) if home is scope.unit else bindings, depth)

    def _bound(self, bindings: list[Binding], depth: int) -> Known | None:
        """Return what a name is that is bound once, branches that are not taken aside."""
        live = bindings
        if len(bindings) > 1:
            live = [binding for binding in bindings if not self.is_dead(binding.nesting, binding.scope)]
        if len(live) != 1 or depth > MAX_DEPTH:
            return None
        binding = live[0]
        if binding.kind == "assign" and binding.value is not None and not binding.path:
            return self.value(binding.value, binding.scope, depth + 1)
        if binding.kind == "param" and isinstance(binding.scope, Unit):
            return self._passed(binding.scope, binding.key, depth)
        if binding.kind == "import":
            found = self._resolve(binding.key, binding.scope.module)
            return (
                self._bound(found[0].unit.bindings.get(found[1], []), depth + 1) if isinstance(found, tuple) else None
            )
        return None

    def _attribute(self, node: ast.Attribute, scope: Scope, depth: int) -> Known | None:
        """Return what ``self.name`` is where only one statement assigns it; a member of an enumeration is its name."""
        if isinstance(node.value, ast.Name) and node.value.id in self._enumerations:
            return Known(dotted_text(node))
        owner = scope.unit.enclosing_class
        if not isinstance(node.value, ast.Name) or node.value.id != "self" or owner is None:
            return None
        if self._holders[node.attr] != 1:
            return None
        return self._bound(owner.attributes.get(node.attr, []), depth + 1)

    @cached_property
    def _enumerations(self) -> set[str]:
        classes = [cls for module in self.modules for cls in module.classes]
        return {cls.name for cls in classes if any(dotted_text(base).endswith("Enum") for base in cls.bases)}

    @cached_property
    def _holders(self) -> Counter[str]:
        """Count the classes, and the files outside them, that assign each attribute."""
        stores = [module.attribute_stores for module in self.modules]
        classes = [cls.attributes for module in self.modules for cls in module.classes]
        return Counter(name for attributes in (*stores, *classes) for name in attributes)

    # Parameters.

    def _passed(self, unit: Unit, name: str, depth: int) -> Known | None:
        """Return what all calls of a function pass for a parameter, where it is only ever called by its name."""
        if self.settings is not None and is_command(unit):
            self._read.append(name)
            return self.settings.value((name,))
        if any(map(_changes_call, unit.decorators)) or name in (unit.vararg, unit.kwarg) or name == "self":
            return None
        called = name_called(unit)
        calls = [*(self._calls_of(called) if called else []), *self._calls_from_below(unit)]
        others = [] if unit.enclosing_class else [site for site in calls if _is_of_an_object(site)]
        if not len(others) < len(calls) <= MAX_CALLS or self._mentions[called] > len(calls):
            return None
        calls = [site for site in calls if site not in others]
        return agreed([self._given(site, unit, name, depth) for site in calls])

    def _calls_from_below(self, unit: Unit) -> list[CallSite]:
        """Return the calls of a constructor by classes below its own: ``super().__init__(mode=mode)``."""
        owner = unit.owner if unit.name == "__init__" else None
        if owner is None:
            return []
        below = ((site, site.scope.unit.enclosing_class) for site in self._calls_of("__init__"))
        return [
            site
            for site, cls in below
            if cls is not None and any(dotted_text(base).rpartition(".")[2] == owner.name for base in cls.bases)
        ]

    def _given(self, site: CallSite, unit: Unit, name: str, depth: int) -> Known | None:
        call = site.node
        if any(isinstance(arg, ast.Starred) for arg in call.args) or any(key.arg is None for key in call.keywords):
            return None
        passed = passed_for(call, unit, name) or [default for default in (unit.defaults.get(name),) if default]
        return self.value(passed[0], site.scope, depth + 1) if len(passed) == 1 else None

    def _calls_of(self, name: str) -> list[CallSite]:
        if self._calls is None:
            self._calls = {}
            for unit in (unit for module in self.modules for unit in module.units):
                for site in unit.calls:
                    self._calls.setdefault(called_name(site.node), []).append(site)
                for node, _, _ in unit.loads:
                    self._mentions[node.id if isinstance(node, ast.Name) else node.attr] += 1
        return self._calls.get(name, [])


def _is_of_an_object(site: CallSite) -> bool:
    """Whether a call is of an object's method, and so of no function of that name: ``model.train()``."""
    if not isinstance(site.node.func, ast.Attribute):
        return False
    base = site.node.func.value
    while isinstance(base, ast.Attribute):
        base = base.value
    return not isinstance(base, ast.Name) or all(
        binding.kind != "import" for binding in bindings_of(base.id, site.scope)
    )


def _changes_call(decorator: ast.expr) -> bool:
    """Whether a decorator may call a function with other arguments than it is given."""
    return not (isinstance(decorator, ast.Name) and decorator.id == "staticmethod")


def _is_always_made(site: CallSite) -> bool:
    """Whether a call stands in no branch but the one that asks whether the file is the program."""
    return len(list(enclosing_branches(site.nesting))) <= under_main_guard(site.nesting)
