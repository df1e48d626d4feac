"""Data flow: where the value of an expression comes from, across functions, classes and files."""

from __future__ import annotations

import ast
from collections.abc import Callable

from deviate.analyse.abstract import (
    CLOCK,
    CONSTANT,
    COUNT,
    LIVE,
    SETTING,
    TOTAL,
    UNKNOWN,
    External,
    Instance,
    Param,
    Ref,
    Value,
    join,
    of,
    trimmed,
)
from deviate.analyse.expressions import HANDLERS, constant_value
from deviate.analyse.externals import element_of, item_of, subtract
from deviate.analyse.index import Binding, ModuleIndex, Place, Scope, Unit, lookup
from deviate.analyse.memory import Memory
from deviate.analyse.program import Program
from deviate.analyse.training import is_scaled_step
from deviate.analyse.words import is_settings_name


class Flow:
    """Evaluates expressions to abstract values, each once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._memory = Memory()
        #: Answers of `handing.source_param`; names that `texts.take_apart` is following.
        self.handed: dict[ast.AST, Param | None] = {}
        self.followed: set[tuple[int, str]] = set()

    def value(self, node: ast.expr | None, scope: Scope) -> Value:
        """Evaluate an expression; parameters stay symbolic."""
        if isinstance(node, ast.Name):
            return self._name(node, scope)  # remembered by the name, for all places that read it
        if node is None:
            return of(UNKNOWN)
        if isinstance(node, ast.Constant):
            return constant_value(node)
        known = self._memory.known.get(node)
        return known if known is not None else self.once(node, lambda: self._evaluate(node, scope))

    def _evaluate(self, node: ast.expr, scope: Scope) -> Value:
        handler = HANDLERS.get(type(node))
        return handler(self, node, scope) if handler else of(UNKNOWN)

    def once(self, key: object, compute: Callable[[], Value]) -> Value:
        """Evaluate something and remember it."""
        return self._memory.once(key, compute)

    def resolved(self, node: ast.expr, scope: Scope) -> Value:
        """Evaluate an expression with its parameters replaced by what callers pass."""
        return self.resolve(self.value(node, scope))

    def resolve(self, value: Value) -> Value:
        """Replace the parameters in a value by what callers pass."""
        params = value.params()
        if not params:
            return value
        found = [self.param(one) for one in params]
        origins = value.plain().union(*(one.plain() for one in found))
        refs = (*value.refs, *(ref for one in found for ref in one.refs))
        return Value(frozenset(origins), refs[:8], value.items, value.keys, value.element)

    def param(self, param: Param) -> Value:
        """Join what callers pass for a parameter."""
        return self.once(param, lambda: self._from_callers(param))

    def _from_callers(self, param: Param) -> Value:
        passed = [self.resolved(expr, scope) for expr, scope in self.program.arguments(self, param)]
        default = param.unit.defaults.get(param.name)
        if default is not None:
            passed.append(self.default_value(default, param.unit))
        return join(passed) if passed else of(UNKNOWN)

    def default_value(self, default: ast.expr, unit: Unit) -> Value:
        """Value of a parameter that is not passed."""
        value = self.value(default, unit.parent or unit)
        return value if value.refs else of(SETTING)

    def _name(self, node: ast.Name, scope: Scope) -> Value:
        found = lookup(node.id, scope)
        if found is None:
            return self.once((id(scope.module), "unbound", node.id), lambda: self._unbound(node.id, scope))
        home, bindings = found
        known = self._memory.known.get(key := (id(home), node.id))
        return known if known is not None else self.once(key, lambda: self._bound(node.id, bindings))

    def _bound(self, name: str, bindings: list[Binding]) -> Value:
        value = join([self.binding(one) for one in bindings])
        if is_settings_name(name) and not value.refs and not value.has(LIVE):
            return of(SETTING)
        return value

    def _unbound(self, name: str, scope: Scope) -> Value:
        starred = self._from_stars(name, scope.module)
        if starred is not None:
            return starred
        if name in BUILTINS:
            return Value(refs=(External(f"builtins.{name}"),))
        if name.isupper():
            return of(SETTING)
        return of(UNKNOWN)

    def of_ref(self, ref: Ref | tuple[ModuleIndex, str], name: str) -> Value:
        """Value of an imported thing; a tuple is a name of another module."""
        if isinstance(ref, tuple):
            module, inner = ref
            return self.value_of_name(inner, module)
        return Value(refs=(ref,))

    def value_of_name(self, name: str, module: ModuleIndex) -> Value:
        """Value of a module's global."""
        bindings = module.unit.bindings.get(name, [])
        if bindings:
            return self.once((id(module.unit), name), lambda: self._bound(name, bindings))
        return self.once((id(module.unit), name), lambda: self._from_stars(name, module) or of(UNKNOWN))

    def _from_stars(self, name: str, module: ModuleIndex) -> Value | None:
        """Look for a name in what a module imports with ``*``."""
        for star in module.stars:
            ref = self.program.resolve_dotted(f"{star}.{name}" if star.strip(".") else star + name, module)
            if isinstance(ref, tuple) and (ref[1] in ref[0].unit.bindings or ref[0].stars) and ref[0] is not module:
                found = self.value_of_name(ref[1], ref[0])
                if found.refs or not found.has(UNKNOWN):
                    return found
            if isinstance(ref, ModuleIndex):
                return Value(refs=(ref,))
        return None

    def binding(self, binding: Binding) -> Value:
        """Value one binding gives."""
        kind = binding.kind
        if kind in {"def", "class"} and binding.target is not None:
            return Value(refs=(binding.target,))
        if kind == "param":
            return self._parameter(binding)
        if kind == "import":
            ref = self.program.resolve_dotted(binding.key, binding.scope.module)
            return self.of_ref(ref, binding.key) if ref is not None else of(UNKNOWN)
        if kind == "opaque":
            return of(binding.key or UNKNOWN)
        value = self.value(binding.value, binding.scope)
        if kind == "for":
            return self._iterated(binding, value)
        if kind == "aug":
            return self._augmented(binding, value)
        if kind in {"element", "merge", "key"}:
            return self._stored(binding, value)
        for position in binding.path:
            value = item_of(value, position)
        return value

    def _stored(self, binding: Binding, value: Value) -> Value:
        for position in binding.path:
            value = item_of(value, position)
        if binding.kind == "key":
            return Value(value.origins, keys={binding.key: value})
        if binding.kind == "merge":
            return Value(value.origins, keys=value.keys, element=element_of(value))
        return Value(value.origins, element=value)

    def _iterated(self, binding: Binding, value: Value) -> Value:
        """Evaluate a ``for`` target; parameters stay visible, so that a function that loops over one is known to."""
        params = frozenset(value.params())
        value = element_of(self.resolve(value) if params and not value.element else value)
        for position in binding.path:
            value = item_of(value, position)
        return Value(value.origins | params, value.refs, value.items, value.keys, value.element)

    def _parameter(self, binding: Binding) -> Value:
        unit = binding.scope
        if not isinstance(unit, Unit):
            return of(UNKNOWN)
        if unit.is_method and unit.parameters and binding.key == unit.parameters[0] and unit.owner is not None:
            return Value(refs=(Instance(unit.owner),))
        if binding.key == unit.vararg or binding.key == unit.kwarg:
            param = Param(unit, binding.key)
            return Value(frozenset({param}), element=of(param))
        if is_settings_name(binding.key):
            return of(SETTING)
        return of(Param(unit, binding.key))

    def _augmented(self, binding: Binding, value: Value) -> Value:
        """``n += 1`` counts, unless it counts something the training decides."""
        statement = binding.statement
        assert isinstance(statement, ast.AugAssign)
        if (
            value.plain() <= {CONSTANT, SETTING, COUNT, TOTAL}
            and not value.params()
            and isinstance(statement.op, (ast.Add, ast.Sub))
        ):
            return of(LIVE) if self._decided_live(binding.place, binding.scope) else of(COUNT)
        if isinstance(statement.op, ast.Sub) and is_scaled_step(statement.value):
            return Value(value.origins | {LIVE})
        if isinstance(statement.op, ast.Sub) and value.has(CLOCK):
            return subtract(of(CLOCK), value)
        return Value(value.origins, value.refs, None, value.keys, element_of(value) if value.element else None)

    def _decided_live(self, place: Place | None, scope: Scope) -> bool:
        """Whether the code runs only when a value of the training says so."""
        while place is not None and not isinstance(place.node, (ast.For, ast.AsyncFor, ast.While)):
            if isinstance(place.node, ast.If) and _compares_values(place.node.test):
                test = self.resolved(place.node.test, scope)
                if test.has(LIVE):
                    return True
            place = place.outer
        return False

    def returned(self, unit: Unit) -> Value:
        """Join what a function returns or yields, its parameters symbolic."""
        if isinstance(unit.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            values = [self.value(expr, scope) for expr, scope in unit.returns]
            yields = [self.value(expr, scope) for expr, scope in unit.yields]
            if yields:
                inner = join(yields)
                values.append(Value(inner.origins, element=inner))
            return trimmed(join(values)) if values else of(CONSTANT)
        return of(UNKNOWN)


def _compares_values(test: ast.expr) -> bool:
    return any(
        isinstance(node, (ast.Compare, ast.Call, ast.Name, ast.Attribute))
        for node in (test, *ast.iter_child_nodes(test))
    )


BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
