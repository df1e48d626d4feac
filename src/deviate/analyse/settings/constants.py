"""Expressions whose value the settings decide, and the branches that are not taken because of it."""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable
from functools import cached_property

from deviate.analyse.settings.derived import is_command
from deviate.analyse.settings.known import Known, agreed
from deviate.analyse.settings.lookup import Settings, holds_settings
from deviate.analyse.source.index import Binding, CallSite, ClassScope, ModuleIndex, Nesting, Scope, Unit, lookup
from deviate.analyse.source.parents import Parents
from deviate.analyse.source.syntax import called_name, dotted_text, passed_for, text_of

#: Calls of a function that are looked at for what they pass.
MAX_CALLS = 20
#: Names that stand for names are followed this far.
MAX_DEPTH = 12
_COMPARISONS: dict[type[ast.cmpop], Callable[..., object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda item, group: item in group, ast.NotIn: lambda item, group: item not in group,
}  # fmt: skip
#: Alternatives that train nothing.
_BESIDE = re.compile(r"test|eval|infer|predict|export|demo|sample|valid|debug", re.IGNORECASE)
_TEXT_METHODS = {"lower", "upper", "title", "capitalize", "strip", "startswith", "endswith", "replace"}


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
        self._dead: dict[Nesting, bool] = {}
        self._calls: dict[str, list[CallSite]] | None = None
        self._mentions: Counter[str] = Counter()
        self._parents = Parents()
        #: How many alternatives of each choice are left out, and whether there is one to choose.
        self.passed_over = 0
        self.has_chosen = False

    @property
    def has_decided(self) -> bool:
        """Whether the value of anything but a constant was known."""
        return any(known is not None for known in self._known.values())

    def is_dead(self, nesting: Nesting | None, scope: Scope) -> bool:
        """Whether code stands in a branch that is not taken."""
        if nesting is None:
            return False
        if nesting not in self._dead:
            self._dead[nesting] = False  # while the test is being looked at
            self._dead[nesting] = self._is_skipped(nesting, scope) or self.is_dead(nesting.outer, scope)
        return self._dead[nesting]

    def _is_skipped(self, nesting: Nesting, scope: Scope) -> bool:
        node = nesting.node
        if not isinstance(node, (ast.If, ast.While)) or nesting.branch not in {"body", "orelse"}:
            return False
        if isinstance(node, ast.While) and nesting.branch == "orelse":
            return False
        # An `if` without an `else` adds something, and is no alternative to anything, unless it ends the function.
        is_left = self.plain is not None and not ((node.orelse or _leaves(node)) and _is_choice(node.test))
        test = (self.plain if is_left and self.plain is not None else self).value(node.test, scope.unit)
        if test is None and self.plain is not None and not is_left:
            return self._is_not_chosen(node, nesting.branch, scope)
        return test is not None and bool(test.value) != (nesting.branch == "body")

    def _is_not_chosen(self, node: ast.If | ast.While, branch: str, scope: Scope) -> bool:
        """Whether a branch is none that is read of alternatives from which a setting that is not known chooses."""
        if branch == "body" and isinstance(node, ast.If) and self._is_later_choice(node, scope):
            return True
        at = self._place(node, scope)
        if at < self.passed_over and branch == "body":
            self.has_chosen = self.has_chosen or self._is_first_choice(node, scope)
            return self._is_first_choice(node, scope)
        is_over = branch == "orelse" and at >= self.passed_over and self._is_first_choice(node, scope)
        self.has_chosen = self.has_chosen or is_over
        return is_over

    def _place(self, node: ast.If | ast.While, scope: Scope) -> int:
        """Return how many ``if`` stand before one in its chain."""
        parent = self._parents.of(node, scope.module)
        is_inner = isinstance(parent, ast.If) and parent.orelse == [node]
        return 1 + self._place(parent, scope) if is_inner and isinstance(parent, ast.If) else 0

    def pass_over(self, count: int) -> None:
        """Read a later one of alternatives, from which a setting that is not known chooses, than the first."""
        self.passed_over = count
        self._dead, self._known, self.has_chosen = {}, {}, False

    def _is_first_choice(self, node: ast.If | ast.While, scope: Scope) -> bool:
        """Whether an ``if`` begins a chain of alternatives that a setting which is not known chooses from."""
        name, words = _chosen_by(node)
        others = [other for other in node.orelse if isinstance(other, ast.If)]
        if name is None or len(node.orelse) != 1 or not others or any(map(_BESIDE.search, words)):
            return False
        other_name, _ = _chosen_by(others[0])
        is_chain = other_name is not None and text_of(other_name) == text_of(name)
        return is_chain and self._is_set(name, scope.unit)

    def _is_later_choice(self, node: ast.If, scope: Scope) -> bool:
        """Whether an ``if`` follows one that returns for another value of a setting which is not known."""
        name, _ = _chosen_by(node)
        before = self._before(node, scope) if name is not None else None
        if name is None or before is None or not _leaves(before) or not _leaves(node):
            return False
        other_name, words = _chosen_by(before)
        if other_name is None or text_of(other_name) != text_of(name) or not self._is_set(name, scope.unit):
            return False
        return not any(map(_BESIDE.search, words)) or self._is_later_choice(before, scope)

    def _before(self, node: ast.If, scope: Scope) -> ast.If | None:
        """Return the ``if`` that stands before another one in the same block."""
        parent = self._parents.of(node, scope.module)
        blocks = [getattr(parent, field, []) for field in ("body", "orelse", "finalbody")]
        for block in blocks:
            if isinstance(block, list) and node in block[1:]:
                before = block[block.index(node) - 1]
                return before if isinstance(before, ast.If) else None
        return None

    def _is_set(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether an expression is a setting, by way of names, parameters and methods of texts."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS:
            node = node.func.value
        if setting_keys(node) or word_position(node):
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
        calls = self._calls_of(_name_called(unit)) if _name_called(unit) else []
        given = [(value, site.scope) for site in calls for value in passed_for(site.node, unit, binding.key)]
        return bool(given) and all(self._is_set(value, home, depth + 1) for value, home in given)

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
        keys = setting_keys(node)
        if keys:
            return self.settings.value(keys) if self.settings is not None else None
        position = word_position(node)
        if position:
            return self.settings.word(position) if self.settings is not None else None
        if isinstance(node, ast.Name):
            return self._name(node.id, scope, depth)
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
        if isinstance(node, ast.Call):
            return self._called(node, scope, depth)
        if isinstance(node, (ast.JoinedStr, ast.BinOp)):
            return self._text(node, scope, depth)
        return None

    def _text(self, node: ast.JoinedStr | ast.BinOp, scope: Scope, depth: int) -> Known | None:
        """Return a text that is put together: ``f"{name}_trainer"``, ``"models." + name``."""
        if isinstance(node, ast.BinOp):
            nodes = [node.left, node.right] if isinstance(node.op, ast.Add) else []
        elif any(isinstance(part, ast.FormattedValue) and part.format_spec is not None for part in node.values):
            return None
        else:
            nodes = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        parts = [self.value(part, scope, depth + 1) for part in nodes]
        texts = [part.value for part in parts if part is not None and isinstance(part.value, str)]
        return Known("".join(texts)) if nodes and len(texts) == len(nodes) else None

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
        if not isinstance(func, ast.Attribute) or func.attr not in _TEXT_METHODS:
            return None
        text = self.value(func.value, scope, depth + 1)
        args = [self.value(arg, scope, depth + 1) for arg in node.args]
        if text is None or not isinstance(text.value, str) or None in args:
            return None
        return Known(getattr(text.value, func.attr)(*(arg.value for arg in args if arg is not None)))

    # Names.

    def _name(self, name: str, scope: Scope, depth: int) -> Known | None:
        definition = lookup(name, scope)
        return self._bound(definition[1], depth) if definition is not None else None

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
        """Return what ``self.name`` is where only one statement assigns it."""
        owner = scope.unit.enclosing_class
        if not isinstance(node.value, ast.Name) or node.value.id != "self" or owner is None:
            return None
        if self._holders[node.attr] != 1:
            return None
        return self._bound(owner.attributes.get(node.attr, []), depth + 1)

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
            return self.settings.value((name,))
        if unit.decorators or name in (unit.vararg, unit.kwarg) or name == "self":
            return None
        called = _name_called(unit)
        calls = self._calls_of(called) if called else []
        if not 0 < len(calls) <= MAX_CALLS or self._mentions[called] > len(calls):
            return None
        return agreed([self._given(site, unit, name, depth) for site in calls])

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


def _chosen_by(node: ast.stmt) -> tuple[ast.expr | None, list[str]]:
    """Return what an ``if`` compares with constant texts, and these."""
    match node:
        case ast.If(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=str(word))])):
            return left, [word]
        case ast.If(test=ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple() | ast.List() | ast.Set()])):
            words = [part.value for part in node.test.comparators[0].elts if isinstance(part, ast.Constant)]  # type: ignore[attr-defined]
            return left, [str(word) for word in words]
    return None, []


def _leaves(node: ast.If | ast.While) -> bool:
    """Whether the body of an ``if`` ends its function."""
    return isinstance(node.body[-1], (ast.Return, ast.Raise))


def _is_choice(test: ast.expr) -> bool:
    """Whether a test compares with a constant text or several: one of some alternatives."""
    if isinstance(test, ast.BoolOp):
        return all(map(_is_choice, test.values))
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and _is_choice(test.operand)
    if isinstance(test, ast.Call):
        return called_name(test) in {"startswith", "endswith"}
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
        return False
    sides = [part for side in (test.left, *test.comparators) for part in getattr(side, "elts", [side])]
    return any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides)


def _name_called(unit: Unit) -> str:
    """Name by which calls reach a function; empty where others reach it as well."""
    if unit.name == "__init__" and isinstance(unit.owner, ClassScope):
        return unit.owner.name
    return "" if unit.name.startswith("__") else unit.name


def word_position(node: ast.expr) -> int:
    """Return which word of the command an expression reads by its place: 1 for ``sys.argv[1]``; 0 for none."""
    if not isinstance(node, ast.Subscript) or dotted_text(node.value) not in {"sys.argv", "argv"}:
        return 0
    at = node.slice.value if isinstance(node.slice, ast.Constant) else 0
    return at if isinstance(at, int) else 0


def setting_keys(node: ast.expr) -> tuple[str, ...]:
    """Return the keys by which an expression reads a setting: ``args.model``, ``config["model"]["name"]``."""
    keys: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            keys.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            keys.append(str(node.slice.value))
            node = node.value
        elif isinstance(node, ast.Call) and called_name(node) == "vars" and len(node.args) == 1:
            node = node.args[0]
        else:
            return ()
    names = [node.id, *reversed(keys)]
    last = max((at for at, name in enumerate(names[:-1]) if holds_settings(name)), default=-1)
    return tuple(names[last + 1 :]) if last >= 0 else ()
