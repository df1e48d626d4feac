"""What a call gives: of the project's own functions by substitution, of others by table."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from deviate.analyse.abstract import (
    CLOCK,
    COUNT,
    DATA,
    LIVE,
    MEMORY,
    METRIC_ORIGINS,
    OBJECT,
    PATH,
    SCHEDULE,
    SETTING,
    TEXT,
    TOTAL,
    UNKNOWN,
    WEIGHTS,
    External,
    Instance,
    Param,
    Value,
    join,
    mixed,
    of,
)
from deviate.analyse.externals import FUNCTION_WRAPPERS, element_of, external_call, method_call
from deviate.analyse.index import ClassScope, Scope, Unit
from deviate.analyse.program import passed_for

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


#: A result that is nothing but this does not depend on what was passed.
FIXED_ORIGINS = frozenset({COUNT, TOTAL, SETTING, PATH, CLOCK, MEMORY, SCHEDULE, WEIGHTS})


def call_value(flow: Flow, node: ast.Call, scope: Scope) -> Value:
    """Evaluate a call."""
    func = _called(flow, node.func, scope)
    args = [flow.value(one, scope) for one in (*node.args, *(key.value for key in node.keywords))]
    special = _special(flow, node, scope, func, args)
    if special is not None:
        return special
    found = [_of_ref(flow, ref, node, scope, args) for ref in func.refs]
    known = [one for one in found if one is not None]
    if known:
        return join(known)
    if isinstance(node.func, ast.Attribute) and not _is_kept(flow, node.func, scope):
        return _method(flow, node, node.func, scope, args)
    return _unknown_function(func, args)


def _called(flow: Flow, node: ast.expr, scope: Scope) -> Value:
    """Evaluate what is called; a function or model that was passed on is what callers pass."""
    func = flow.value(node, scope)
    if func.refs or not func.params() or (isinstance(node, ast.Attribute) and not _is_kept(flow, node, scope)):
        return func
    return Value(func.origins, flow.resolve(func).refs)


def _is_kept(flow: Flow, func: ast.Attribute, scope: Scope) -> bool:
    """Whether what is called is something the project's object keeps, not a method: ``self.model(x)``."""
    return any(
        isinstance(ref, Instance) and any(func.attr in one.attributes for one in flow.program.family(flow, ref.cls))
        for ref in flow.value(func.value, scope).refs
    )


def _special(flow: Flow, node: ast.Call, scope: Scope, func: Value, args: list[Value]) -> Value | None:
    dotted = next((ref.dotted for ref in func.refs if isinstance(ref, External) and not ref.made), "")
    name = dotted.rpartition(".")[2]
    if dotted == "builtins.enumerate" and args:
        inner = element_of(flow.resolve(args[0]))
        return Value(args[0].origins, element=Value(inner.origins, items=(of(COUNT), inner)))
    if dotted == "builtins.zip":
        inner_items = tuple(element_of(flow.resolve(one)) for one in args)
        return Value(mixed(args).origins, element=Value(mixed(inner_items).origins, items=inner_items))
    if name in {"tqdm", "iter", "reversed", "sorted", "list", "tuple", "track", "islice", "cycle", "chain",
        "notebook_tqdm",
                "prefetch_to_device"} and args:  # fmt: skip
        return Value(args[0].origins, args[0].refs, args[0].items, args[0].keys, args[0].element)
    if name == "next" and args:
        return element_of(args[0])
    if dotted == "builtins.dict":
        keys = {key.arg: flow.value(key.value, scope) for key in node.keywords if key.arg}
        merged = join(args)
        return Value(merged.origins, keys={**merged.keys, **keys}, element=merged.element)
    if dotted == "builtins.super":
        return _super(scope)
    if dotted == "builtins.getattr" and args:
        return args[0] if args[0].has(SETTING) else of(UNKNOWN)
    if dotted == "builtins.map" and len(args) > 1:
        return Value(mixed(args[1:]).origins, element=mixed(args[1:]))
    return None


def _super(scope: Scope) -> Value | None:
    at: Scope | None = scope
    while at is not None:
        if isinstance(at, Unit) and at.owner is not None:
            return Value(refs=(Instance(at.owner),))
        at = at.parent
    return None


def _of_ref(flow: Flow, ref: object, node: ast.Call, scope: Scope, args: list[Value]) -> Value | None:
    if isinstance(ref, Unit):
        return _own_function(flow, ref, node, scope)
    if isinstance(ref, ClassScope):
        return Value(frozenset({OBJECT}), refs=(Instance(ref, node, scope),))
    if isinstance(ref, Instance):
        return _called_instance(flow, ref, node, scope, args)
    if isinstance(ref, External):
        if ref.made:
            is_module = bool(args) and ref.dotted.rpartition(".")[2][:1].isupper()
            return of(LIVE) if is_module or mixed(args).has(LIVE, DATA, WEIGHTS) else None
        if ref.dotted.rpartition(".")[2] in FUNCTION_WRAPPERS:
            wrapped = [one for value in args for one in value.refs if isinstance(one, (Unit, Instance))]
            if wrapped:
                return Value(frozenset({OBJECT}), refs=tuple(wrapped))
        return with_params(external_call(ref.dotted, [flow.resolve(one) for one in args]), args)
    return None


def _called_instance(flow: Flow, ref: Instance, node: ast.Call, scope: Scope, args: list[Value]) -> Value:
    own = flow.program.method(flow, ref.cls, "__call__")
    if own:
        return join([_own_function(flow, unit, node, scope) for unit in own])
    return of(LIVE) if mixed(args).has(LIVE, DATA, OBJECT, UNKNOWN) or args else of(UNKNOWN)


def _own_function(flow: Flow, unit: Unit, node: ast.Call, scope: Scope) -> Value:
    """Evaluate a function of the project, with this call's arguments for its parameters."""
    if unit.name == "forward" and unit.owner is not None:
        return of(LIVE)
    return substitute(flow, flow.returned(unit), unit, node, scope, 0)


def substitute(flow: Flow, value: Value, unit: Unit, call: ast.Call, scope: Scope, depth: int) -> Value:
    """Replace a function's parameters in a value by a call's arguments."""
    params = [one for one in value.params() if one.unit is unit]
    if depth > 4 or not params:
        return value
    items = (
        None
        if value.items is None
        else tuple(substitute(flow, one, unit, call, scope, depth + 1) for one in value.items)
    )
    keys = {key: substitute(flow, one, unit, call, scope, depth + 1) for key, one in value.keys.items()}
    element = None if value.element is None else substitute(flow, value.element, unit, call, scope, depth + 1)
    passed = [_argument(flow, unit, one.name, call, scope) for one in params]
    outer = value.origins - frozenset(params)
    origins = outer.union(*(one.origins for one in passed))
    refs = (*value.refs, *(ref for one in passed for ref in one.refs))[:6]
    return Value(origins, refs, items, keys, element)


def _argument(flow: Flow, unit: Unit, name: str, call: ast.Call, scope: Scope) -> Value:
    given = passed_for(call, unit, name)
    if given:
        return join([flow.value(one, scope) for one in given])
    spread = [one.value for one in call.args if isinstance(one, ast.Starred)]
    spread.extend(key.value for key in call.keywords if key.arg is None)
    if spread:
        return mixed([of(UNKNOWN), *(element_of(flow.value(one, scope)) for one in spread)])
    return flow.default_value(unit.defaults[name], unit) if name in unit.defaults else of(Param(unit, name))


def _method(flow: Flow, node: ast.Call, func: ast.Attribute, scope: Scope, args: list[Value]) -> Value:
    receiver = flow.value(func.value, scope)
    if func.attr == "format":
        return Value(receiver.origins | mixed(args).origins | {TEXT})
    if func.attr == "join":
        return Value(mixed(args).origins | {TEXT})
    if func.attr in {"run", "eval"} and _is_session(func.value):
        return _session_run(flow, node, scope)
    settled = flow.resolve(receiver)
    if not settled.refs and not settled.has(*METRIC_ORIGINS, DATA, SETTING, TEXT):
        units = flow.program.methods.get(func.attr, [])
        if 0 < len(units) <= 2:
            return with_params(join([_own_function(flow, unit, node, scope) for unit in units]), [receiver])
    found = method_call(
        settled if receiver.element is None else receiver, func.attr, [flow.resolve(one) for one in args]
    )
    return with_params(found, [receiver, *args])


def with_params(value: Value, sources: list[Value]) -> Value:
    """Keep in sight which parameters a value was computed from."""
    params = frozenset(one for source in sources for one in source.origins if isinstance(one, Param))
    if not params or value.origins <= FIXED_ORIGINS:
        return value
    return Value(value.origins | params, value.refs, value.items, value.keys, value.element)


def _is_session(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return "sess" in name.lower()


def _session_run(flow: Flow, node: ast.Call, scope: Scope) -> Value:
    """TensorFlow 1: one result for each fetch."""
    if node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
        return Value(frozenset({LIVE}), items=tuple(of(LIVE) for _ in node.args[0].elts))
    return of(LIVE)


def _unknown_function(func: Value, args: list[Value]) -> Value:
    passed = mixed(args)
    params = frozenset({*func.params(), *passed.params()})
    if passed.has(LIVE, DATA, WEIGHTS):
        return Value(frozenset({LIVE}) | params)
    return Value(frozenset({UNKNOWN}) | params)
