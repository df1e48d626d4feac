"""What an attribute of a value is: of a module, of an object of the project, of something outside."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from deviate.analyse.abstract import (
    LIVE,
    NOTHING,
    OBJECT,
    SETTING,
    TEXT,
    UNKNOWN,
    External,
    Instance,
    Param,
    Ref,
    Value,
    join,
)
from deviate.analyse.externals import attribute_of
from deviate.analyse.index import ClassScope, ModuleIndex, Scope, Unit

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Classes that share an attribute's name are all considered up to this number.
MAX_OWNERS = 4


def attribute_value(flow: Flow, node: ast.Attribute, scope: Scope) -> Value:
    """Evaluate ``base.name``."""
    base = flow.value(node.value, scope)
    if not base.refs and base.params():
        base = Value(base.origins, flow.resolve(base).refs, base.items, base.keys, base.element)
    found = [one for ref in base.refs if (one := _of_ref(flow, ref, node.attr)) is not None]
    if found:
        return _fed(base, join(found))
    known = attribute_of(base, node.attr)
    if known is not None:
        return known
    if base.has(SETTING):
        return Value(base.origins)
    if node.attr in base.keys:
        return base.keys[node.attr]
    if not base.refs:
        elsewhere = _by_name(flow, node.attr)
        if elsewhere is not NOTHING:
            return elsewhere
    stored = scope.module.attribute_stores.get(node.attr)
    if stored:
        return join([Value(base.origins), *(flow.binding(one) for one in stored[:8])])
    return Value(base.origins - {TEXT} if base.has(LIVE) else base.origins or frozenset({UNKNOWN}))


def _of_ref(flow: Flow, ref: Ref, name: str) -> Value | None:
    if isinstance(ref, ModuleIndex):
        return _of_module(flow, ref, name)
    if isinstance(ref, External):
        return Value(refs=(External(f"{ref.dotted}.{name}"),)) if not ref.made else None
    if isinstance(ref, Instance):
        return instance_attribute(flow, ref, name)
    if isinstance(ref, ClassScope):
        return _of_class(flow, ref, name)
    return None


def _of_module(flow: Flow, module: ModuleIndex, name: str) -> Value | None:
    if name in module.unit.bindings:
        return flow.value_of_name(name, module)
    below = flow.program.resolve_dotted(f"{module.dotted}.{name}" if module.dotted else name, module)
    if isinstance(below, ModuleIndex):
        return Value(refs=(below,))
    found = flow.value_of_name(name, module)
    return found if found.refs or not found.has(UNKNOWN) else None


def _of_class(flow: Flow, cls: ClassScope, name: str) -> Value | None:
    for one in flow.program.ancestors(flow, cls):
        if name in one.bindings:
            stored = one.module.attribute_stores.get(name, [])[:8]
            return join([flow.binding(binding) for binding in (*one.bindings[name], *stored)])
    return None


def instance_attribute(flow: Flow, instance: Instance, name: str) -> Value | None:
    """Evaluate an attribute of an object of the project: its methods, properties and what methods assign."""
    values: list[Value] = []
    for cls in flow.program.family(flow, instance.cls):
        if name in cls.methods:
            unit = cls.methods[name]
            values.append(flow.returned(unit) if is_property(unit) else Value(refs=(unit,)))
        elif name in cls.bindings:
            values.extend(flow.binding(one) for one in cls.bindings[name])
        values.extend(_attribute_binding(flow, cls, name))
    if values:
        return join(values)
    getter = next(iter(flow.program.method(flow, instance.cls, "__getattr__")), None)
    if getter is not None:
        value = flow.returned(getter)
        return Value(value.origins | {UNKNOWN}, value.refs)
    return Value(frozenset({UNKNOWN})) if flow.program.external_bases(flow, instance.cls) else None


def _attribute_binding(flow: Flow, cls: ClassScope, name: str) -> list[Value]:
    bindings = cls.attributes.get(name)
    if not bindings:
        return []
    return [flow.once((id(cls), "self." + name), lambda: join([flow.binding(one) for one in bindings]))]


def is_property(unit: Unit) -> bool:
    """Whether reading the attribute calls the method."""
    return any(
        (isinstance(one, ast.Name) and one.id in {"property", "cached_property"})
        or (isinstance(one, ast.Attribute) and one.attr in {"cached_property", "getter"})
        for one in getattr(unit.node, "decorator_list", [])
    )


def _fed(base: Value, value: Value) -> Value:
    """Put what this very object was fed in the place of what any object of its class may be fed.

    ``losses.update(loss)`` makes ``losses.avg`` the loss, whatever other meters hold.
    """
    feeding = base.plain() - {OBJECT, UNKNOWN}
    params = [one for one in value.params() if _is_feeding(one)]
    if not feeding or not params:
        return value
    return Value(value.origins - frozenset(params) | feeding, value.refs, value.items, value.keys, value.element)


def _is_feeding(param: Param) -> bool:
    return param.unit.owner is not None and param.unit.name != "__init__"


def _by_name(flow: Flow, name: str) -> Value:
    """Evaluate an attribute of an unknown object: what the project's classes store under that name."""
    owners = flow.program.attributes.get(name, [])
    if not owners or len(owners) > MAX_OWNERS:
        return NOTHING
    return join([value for cls in owners for value in _attribute_binding(flow, cls, name)])
