"""Expressions whose value the settings decide, and the branches that are not taken because of it."""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable
from functools import cached_property

from deviate.analyse.settings.alternatives import MAX_DEPTH, TEXT_METHODS, Alternatives, name_called
from deviate.analyse.settings.derived import is_command
from deviate.analyse.settings.keys import flag_held, setting_keys, word_position
from deviate.analyse.settings.known import Known, agreed
from deviate.analyse.settings.lookup import Settings
from deviate.analyse.source.index import (
    Binding,
    CallSite,
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
from deviate.analyse.source.syntax import called_name, dotted_text, passed_for

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
        self._dead: dict[Nesting, bool] = {}
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
        self._dead, self._known = {}, {}

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
        is_left = self.plain is not None and not self.alternatives.is_alternative(node, scope)
        test = (self.plain if is_left and self.plain is not None else self).value(node.test, scope.unit)
        if test is None and self.plain is not None and not is_left:
            return self.alternatives.is_not_chosen(node, nesting.branch, scope)
        return test is not None and bool(test.value) != (nesting.branch == "body")

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
        """Names of the project's enumerations."""
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
