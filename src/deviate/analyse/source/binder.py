"""Bindings of names and attributes: by assignment to targets, by method calls that fill an object."""

from __future__ import annotations

import ast

from deviate.analyse.source.index import Binding, BindingKind, ModuleIndex, Nesting, Scope, Unit, bindings_of, keep

_MUTATORS: dict[str, BindingKind] = {
    "append": "element", "add": "element", "appendleft": "element", "insert": "element", "push": "element",
    "extend": "merge", "update": "merge", "put": "element", "update_state": "merge",
}  # fmt: skip


class Binder:
    """Adds bindings to the scopes, classes and attributes of one file."""

    def __init__(self, module: ModuleIndex) -> None:
        self.module = module
        #: What fills a name that may be bound further below.
        self._late: list[tuple[str, Binding, Scope]] = []
        #: ``stats.update(loss=x)``: of a mapping these are items, of a meter or a bar they are not.
        self._by_keyword: list[tuple[ast.expr, list[Binding]]] = []

    def finish(self) -> None:
        """Add the bindings that need the whole file."""
        for name, binding, scope in self._late:
            self._attach(name, binding, scope)
        for base, bindings in self._by_keyword:
            self._fill(base, bindings)

    def bind_argument(self, func: ast.Attribute, call: ast.Call, scope: Scope, nesting: Nesting | None) -> None:
        """Bind what a method call puts into the object: ``losses.append(x)``."""
        if func.attr == "update" and call.keywords:
            items = [Binding("key", key.value, (), scope, nesting, call.lineno, key=key.arg, statement=call)
                     for key in call.keywords if key.arg]  # fmt: skip
            if items:
                self._by_keyword.append((func.value, items))
        if func.attr in _MUTATORS and call.args:
            value = call.args[1] if func.attr == "insert" and len(call.args) > 1 else call.args[0]
            self._mutate(
                func.value, Binding(_MUTATORS[func.attr], value, (), scope, nesting, call.lineno, statement=call)
            )

    def _fill(self, base: ast.expr, bindings: list[Binding]) -> None:
        scope = bindings[0].scope
        filled: list[Binding] = []
        if isinstance(base, ast.Name):
            filled = bindings_of(base.id, scope)
        elif isinstance(base, ast.Attribute):
            filled = self._attributes_at(base, scope).get(base.attr, [])
        if any(_makes_mapping(binding.value) for binding in filled):
            filled.extend(bindings)

    def _attach(self, name: str, binding: Binding, scope: Scope) -> None:
        at: Scope | None = scope
        while at is not None:
            if name in at.bindings and name not in at.outer_names:
                keep(at.bindings[name], binding)
                return
            at = at.parent
        keep(scope.module.unit.bindings.setdefault(name, []), binding)

    def _mutate(self, base: ast.expr, binding: Binding) -> None:
        """Bind what is put into an object; what is put into an item of a container is in the container."""
        if isinstance(base, ast.Name):
            self._late.append((base.id, binding, binding.scope))
        elif isinstance(base, ast.Attribute):
            self._store_attribute(base, binding)
        elif isinstance(base, ast.Subscript):
            key = base.slice.value if isinstance(base.slice, ast.Constant) else None
            self._mutate_item(base.value, key, binding)
        elif isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute) and base.func.attr == "setdefault":
            key = base.args[0].value if base.args and isinstance(base.args[0], ast.Constant) else None
            self._mutate_item(base.func.value, key, binding)

    def _mutate_item(self, container: ast.expr, key: object, binding: Binding) -> None:
        if isinstance(key, str):
            binding.kind, binding.key = "key", key
        elif binding.kind == "key":
            binding.kind, binding.key = "element", ""
        self._mutate(container, binding)

    def _store_attribute(self, target: ast.Attribute, binding: Binding) -> None:
        keep(self._attributes_at(target, binding.scope).setdefault(target.attr, []), binding)

    def _attributes_at(self, target: ast.Attribute, scope: Scope) -> dict[str, list[Binding]]:
        """Return the attributes known of the object that a target is an attribute of."""
        owner = scope.unit.enclosing_class
        is_own = isinstance(target.value, ast.Name) and target.value.id == _self_name(scope.unit)
        return owner.attributes if owner is not None and is_own else self.module.attribute_stores

    def bind(self, target: ast.expr, binding: Binding, path: tuple[int, ...] = ()) -> None:
        """Bind a target of an assignment, and each one within a tuple of targets."""
        bound = Binding(binding.kind, binding.value, path, binding.scope, binding.nesting, binding.line,
                       binding.key, binding.target, binding.statement)  # fmt: skip
        if isinstance(target, ast.Name):
            binding.scope.bind(target.id, bound)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, element in enumerate(target.elts):
                self.bind(element, binding, (*path, position))
        elif isinstance(target, ast.Starred):
            self.bind(target.value, binding, path[:-1])
        elif isinstance(target, ast.Attribute):
            self._store_attribute(target, bound)
        elif isinstance(target, ast.Subscript):
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            bound.kind, bound.key = ("key", key) if isinstance(key, str) else ("element", "")
            self._mutate(target.value, bound)


def _makes_mapping(value: ast.expr | None) -> bool:
    """``{}``, ``dict()`` and the like."""
    if isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else value.func.id
        return name in {"dict", "OrderedDict", "defaultdict"}
    return isinstance(value, (ast.Dict, ast.DictComp))


def _self_name(unit: Unit) -> str:
    method = unit.enclosing_method
    return method.parameters[0] if method is not None and method.parameters else ""
