"""Which library calls may have made an object: assignments, attributes, parameters and results are followed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from deviate.source.draws.tables import SEQUENCES, TABLES
from deviate.source.flow.evaluation import Flow
from deviate.source.flow.values import External, Instance
from deviate.source.index import Binding, ModuleIndex, Scope, Unit, lookup
from deviate.source.syntax import passed_for

#: From an object to the call that made it, through so many names and calls.
MAX_DEPTH = 8
#: Callers, assignments and classes that are looked at for one name.
MAX_WAYS = 8
#: Parts of a list that are looked at.
MAX_PARTS = 20
#: Methods that give the object itself, or one like it.
_SAME = {"to", "cuda", "expand", "spawn", "manual_seed", "split", "get", "independent", "copy"}


class Makers:
    """Finds makers, for each expression once."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._known: dict[tuple[int, object], frozenset[str]] = {}
        #: Keys of `_known` are identities: what they are of has to stay.
        self._kept: list[object] = []

    def of(self, expr: ast.expr | None, scope: Scope, depth: int = 0) -> frozenset[str]:
        """Return the dotted names of the calls outside the project that may have made what `expr` is."""
        if expr is None or depth > MAX_DEPTH:
            return frozenset()
        key = (id(expr), None)
        if key not in self._known:
            self._known[key] = frozenset()
            self._kept.append(expr)
            self._known[key] = frozenset(self._of(expr, scope, depth))
        return self._known[key]

    def _of(self, expr: ast.expr, scope: Scope, depth: int) -> Iterator[str]:
        if isinstance(expr, ast.Call):
            yield from self._of_call(expr, scope, depth)
        elif isinstance(expr, ast.Name):
            definition = lookup(expr.id, scope)
            if definition is not None:
                home, bindings = definition
                yield from self._of_bindings(bindings, (id(home), expr.id), depth)
        elif isinstance(expr, ast.Attribute):
            yield from self._of_attribute(expr, scope, depth)
        elif isinstance(expr, (ast.Subscript, ast.NamedExpr, ast.Starred, ast.Await)):
            yield from self.of(expr.value, scope, depth + 1)
        elif isinstance(expr, ast.IfExp):
            yield from self.of(expr.body, scope, depth + 1) | self.of(expr.orelse, scope, depth + 1)
        elif isinstance(expr, (ast.BoolOp, ast.Tuple, ast.List)):
            for part in (expr.values if isinstance(expr, ast.BoolOp) else expr.elts)[:MAX_PARTS]:
                yield from self.of(part, scope, depth + 1)
        elif isinstance(expr, (ast.ListComp, ast.GeneratorExp)):
            yield from self.of(expr.elt, scope.module.inner.get(expr, scope), depth + 1)

    def _of_call(self, call: ast.Call, scope: Scope, depth: int) -> Iterator[str]:
        for ref in self.flow.value(call.func, scope).refs:
            if isinstance(ref, External) and not ref.made:
                yield ref.dotted
                if SEQUENCES.search(ref.dotted):
                    for argument in call.args[:MAX_WAYS]:
                        yield from self.of(argument, scope, depth + 1)
            elif isinstance(ref, Unit):
                for value, inner in (*ref.returns, *ref.yields)[:MAX_WAYS]:
                    yield from self.of(value, inner, depth + 1)
        if isinstance(call.func, ast.Attribute):
            makers = self.of(call.func.value, scope, depth + 1)
            yield from makers if call.func.attr in _SAME else filter(TABLES.match, makers)

    def _of_bindings(self, bindings: list[Binding], name: tuple[int, object], depth: int) -> frozenset[str]:
        if name not in self._known:
            self._known[name] = frozenset()
            self._kept.append(bindings)
            ways = [each for each in bindings if each.kind not in {"aug", "merge"}][:MAX_WAYS]
            self._known[name] = frozenset(maker for each in ways for maker in self._of_binding(each, depth + 1))
        return self._known[name]

    def _of_binding(self, binding: Binding, depth: int) -> Iterator[str]:
        if binding.kind == "param":
            yield from self._of_parameter(binding, depth)
        elif binding.kind == "import":
            ref = self.flow.program.resolve_dotted(binding.key, binding.scope.module)
            if isinstance(ref, tuple):
                inner = ref[0].unit.bindings.get(ref[1], [])
                yield from self._of_bindings(inner, (id(ref[0].unit), ref[1]), depth)
        elif binding.value is not None:
            yield from self.of(binding.value, binding.scope, depth)

    def _of_parameter(self, binding: Binding, depth: int) -> Iterator[str]:
        unit = binding.scope
        if not isinstance(unit, Unit) or depth > MAX_DEPTH:
            return
        for site in self.flow.program.callers(self.flow, unit)[:MAX_WAYS]:
            for argument in passed_for(site.node, unit, binding.key):
                yield from self.of(argument, site.scope, depth + 1)
        yield from self.of(binding.value, unit.parent or unit, depth + 1)

    def _of_attribute(self, expr: ast.Attribute, scope: Scope, depth: int) -> Iterator[str]:
        refs = self.flow.value(expr.value, scope).refs
        owners = [ref.cls for ref in refs if isinstance(ref, Instance)]
        for ref in refs:
            if isinstance(ref, ModuleIndex):
                yield from self._of_bindings(ref.unit.bindings.get(expr.attr, []), (id(ref.unit), expr.attr), depth)
        yield from filter(TABLES.match, self.of(expr.value, scope, depth + 1))
        if not refs:
            named = self.flow.program.attributes.get(expr.attr, [])
            owners = named if len(named) <= 2 else []
            bindings = scope.module.attribute_stores.get(expr.attr, [])
            yield from self._of_bindings(bindings, (id(scope.module), "." + expr.attr), depth)
        for owner in owners[:MAX_WAYS]:
            for cls in self.flow.program.family(self.flow, owner):
                bindings = [*cls.attributes.get(expr.attr, []), *cls.bindings.get(expr.attr, [])]
                yield from self._of_bindings(bindings, (id(cls), "." + expr.attr), depth)
