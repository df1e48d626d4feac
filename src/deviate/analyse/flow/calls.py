"""Values of calls: of the project's own functions by substitution, of others by table."""

from __future__ import annotations

import ast
import re

from deviate.analyse.flow.computed import chosen_by_name, methods_begun
from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.libraries import FUNCTION_WRAPPERS, NUMBERS, external_call, method_call
from deviate.analyse.flow.values import (
    MAX_REFS,
    METRIC_ORIGINS,
    External,
    From,
    Instance,
    Param,
    Value,
    as_number,
    element_of,
    item_of,
    join,
    mixed,
    of,
    with_structure,
)
from deviate.analyse.naming.words import words_of
from deviate.analyse.source.index import ClassScope, Scope, Unit
from deviate.analyse.source.syntax import IMPORTERS, called_name, dotted_text, last_part, passed_for

#: A result that is nothing but this does not depend on what was passed.
_FIXED_ORIGINS = frozenset(
    {From.COUNT, From.TOTAL, From.SETTING, From.PATH, From.CLOCK, From.MEMORY, From.SCHEDULE, From.WEIGHTS}
)
#: Objects of libraries that give the time since they were made when they are called.
_STOPWATCH = re.compile(r"(Timer|Stop[wW]atch)$")
#: What is called like this and is no function of the project is a model.
_MODEL = re.compile(r"(^|_)(model|net|network|generator|discriminator|encoder|decoder|classifier|backbone)\d*$")
#: Functions that iterate over their first argument.
_ITERATING = {
    "tqdm", "iter", "reversed", "sorted", "list", "tuple", "track", "islice", "cycle", "chain", "notebook_tqdm",
    "prefetch_to_device",
}  # fmt: skip


def call_value(flow: Evaluator, node: ast.Call, scope: Scope) -> Value:
    """Evaluate a call."""
    func = _called(flow, node.func, scope)
    args = [flow.value(arg, scope) for arg in (*node.args, *(key.value for key in node.keywords))]
    special = _special(flow, node, scope, func, args)
    if special is not None:
        return special
    results = [value for ref in func.refs if (value := _of_ref(flow, ref, node, scope, args)) is not None]
    if results:
        return join(results)
    if isinstance(node.func, ast.Attribute) and not _is_stored_callable(flow, node.func, scope):
        return _method(flow, node, node.func, scope, args)
    return _unknown_function(func, args, is_model=_MODEL.search(called_name(node)) is not None)


def _called(flow: Evaluator, node: ast.expr, scope: Scope) -> Value:
    """Evaluate what is called; a function or model that was passed on is what callers pass."""
    func = flow.value(node, scope)
    is_method = isinstance(node, ast.Attribute) and not _is_stored_callable(flow, node, scope)
    if func.refs or not func.params() or is_method:
        return func
    return Value(func.origins, flow.resolve(func).refs)


def _is_stored_callable(flow: Evaluator, func: ast.Attribute, scope: Scope) -> bool:
    """Whether what is called is an attribute that the project's object stores, not a method: ``self.model(x)``."""
    return any(
        isinstance(ref, Instance)
        and any(func.attr in relative.attributes for relative in flow.program.family(flow, ref.cls))
        for ref in flow.value(func.value, scope).refs
    )


def _special(flow: Evaluator, node: ast.Call, scope: Scope, func: Value, args: list[Value]) -> Value | None:
    dotted = next((ref.dotted for ref in func.refs if isinstance(ref, External) and not ref.made), "")
    name = dotted.rpartition(".")[2]
    if dotted and any(key.arg == "requires_grad" and _is_true(key.value) for key in node.keywords):
        return Value(frozenset({From.WEIGHTS}), refs=(External(dotted, made=True),))
    if dotted == "builtins.enumerate" and args:
        element = element_of(flow.resolve(args[0]))
        return Value(args[0].origins, element=Value(element.origins, items=(of(From.COUNT), element)))
    if dotted == "builtins.zip":
        elements = tuple(element_of(flow.resolve(arg)) for arg in args)
        return Value(mixed(args).origins, element=Value(mixed(elements).origins, items=elements))
    if name in _ITERATING and args:
        return args[0]
    if name == "next" and args:
        return element_of(args[0])
    if dotted == "builtins.dict":
        keys = {key.arg: flow.value(key.value, scope) for key in node.keywords if key.arg}
        merged = join(args)
        return Value(merged.origins, keys={**merged.keys, **keys}, element=merged.element)
    if dotted == "builtins.super":
        owner = scope.unit.enclosing_class
        return Value(refs=(Instance(owner),)) if owner is not None else None
    if dotted in {"builtins.getattr", "builtins.eval"} or name in IMPORTERS:
        named = chosen_by_name(flow, node, scope)
        if named is not None:
            return named
    if dotted == "builtins.getattr" and args:
        begun = methods_begun(flow, node, scope)
        if begun is not None:
            return begun
        return args[0] if args[0].has(From.SETTING) else of(From.UNKNOWN)
    if dotted == "jax.lax.scan" and len(args) > 1:
        return _scanned(flow, args)
    if dotted == "builtins.map" and len(args) > 1:
        is_number = any(isinstance(ref, External) and ref.dotted in NUMBERS for ref in args[0].refs)
        element = mixed(map(as_number, args[1:]) if is_number else args[1:])
        return Value(element.origins, element=element)
    return None


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _scanned(flow: Evaluator, args: list[Value]) -> Value:
    """Evaluate ``state, outputs = jax.lax.scan(step, state, inputs)``: the outputs are no state."""
    outputs = join([item_of(flow.returned(ref), 1) for ref in args[0].refs if isinstance(ref, Unit)])
    is_live = mixed(map(flow.resolve, args)).has(From.LIVE, From.DATA, From.WEIGHTS)
    outputs = join([outputs, of(From.LIVE if is_live else From.UNKNOWN)])
    return Value(mixed([*args, outputs]).origins, items=(args[1], outputs))


def _of_ref(flow: Evaluator, ref: object, node: ast.Call, scope: Scope, args: list[Value]) -> Value | None:
    if isinstance(ref, Unit):
        return _own_function(flow, ref, node, scope)
    if isinstance(ref, ClassScope):
        return Value(frozenset({From.OBJECT}), refs=(Instance(ref, node, scope),))
    if isinstance(ref, Instance):
        own = flow.program.method(flow, ref.cls, "__call__")
        results = [_own_function(flow, unit, node, scope) for unit in own]
        return join(results) if results else of(From.LIVE if args else From.UNKNOWN)
    if isinstance(ref, External):
        if ref.made:
            if _STOPWATCH.search(ref.dotted) and not args:
                return of(From.DURATION)
            is_module = bool(args) and ref.dotted.rpartition(".")[2][:1].isupper()
            return of(From.LIVE) if is_module or mixed(args).has(From.LIVE, From.DATA, From.WEIGHTS) else None
        if ref.dotted.rpartition(".")[2] in FUNCTION_WRAPPERS:
            wrapped = [function for value in args for function in value.refs if isinstance(function, (Unit, Instance))]
            if wrapped:
                return Value(frozenset({From.OBJECT}), refs=tuple(wrapped))
        return with_params(external_call(ref.dotted, [flow.resolve(arg) for arg in args]), args)
    return None


def _own_function(flow: Evaluator, unit: Unit, node: ast.Call, scope: Scope) -> Value:
    """Evaluate a function of the project, with this call's arguments for its parameters."""
    if unit.owner is not None and (unit.name == "forward" or _gives_metric(flow, unit, unit.owner)):
        return of(From.LIVE)
    return substitute(flow, flow.returned(unit), unit, node, scope, 0)


def _gives_metric(flow: Evaluator, unit: Unit, owner: ClassScope) -> bool:
    """Whether a method gives the value of a metric that is derived from one of a library."""
    bases = flow.program.external_bases(flow, owner) if unit.name in {"result", "compute"} else []
    return any(base.rpartition(".")[2].endswith("Metric") or ".metrics." in base for base in bases)


def substitute(flow: Evaluator, value: Value, unit: Unit, call: ast.Call, scope: Scope, depth: int) -> Value:
    """Replace a function's parameters in a value by a call's arguments."""
    params = [param for param in value.params() if param.unit is unit]
    if depth > 4 or not params:
        return value
    args = [_argument(flow, unit, param.name, call, scope) for param in params]
    origins = (value.origins - frozenset(params)).union(*(arg.origins for arg in args))
    passed = [ref for arg in args for ref in arg.refs]
    if value.plain():  # computed from the arguments: what a library made and was passed is no result
        passed = [ref for ref in passed if not isinstance(ref, External)]
    refs = (*value.refs, *passed)[:MAX_REFS]
    return with_structure(value, origins, refs, lambda item: substitute(flow, item, unit, call, scope, depth + 1))


def _argument(flow: Evaluator, unit: Unit, name: str, call: ast.Call, scope: Scope) -> Value:
    exprs = passed_for(call, unit, name)
    if exprs:
        return join([flow.value(expr, scope) for expr in exprs])
    spread = [arg.value for arg in call.args if isinstance(arg, ast.Starred)]
    spread.extend(key.value for key in call.keywords if key.arg is None)
    if spread:
        return mixed([of(From.UNKNOWN), *(element_of(flow.value(expr, scope)) for expr in spread)])
    return flow.default_value(unit.defaults[name], unit) if name in unit.defaults else of(Param(unit, name))


def _method(flow: Evaluator, node: ast.Call, func: ast.Attribute, scope: Scope, args: list[Value]) -> Value:
    receiver = flow.value(func.value, scope)
    if func.attr == "keys":
        return of(From.TEXT)
    if func.attr == "format":
        return Value(receiver.origins | mixed(args).origins | {From.TEXT})
    if func.attr == "join":
        return Value(mixed(args).origins | {From.TEXT})
    if func.attr == "get" and receiver.element is not None and _is_callable(receiver.element):
        key = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        return receiver.keys.get(key, receiver.element) if isinstance(key, str) else receiver.element
    if func.attr in {"get", "pop"} and node.args and isinstance(node.args[0], ast.Constant):
        item = flow.resolve(receiver).keys.get(str(node.args[0].value))
        if item is not None:
            return item  # ``record.pop("epoch")``
    if func.attr in {"run", "eval"} and _is_session(func.value):
        return _session_run(node)
    if func.attr == "step" and _is_environment(func.value) and not _is_own(flow, receiver):
        return _OF_A_STEP
    settled = flow.resolve(receiver)
    if not settled.refs and not settled.has(*METRIC_ORIGINS, From.DATA, From.SETTING, From.TEXT):
        units = flow.program.methods.get(func.attr, [])
        if 0 < len(units) <= 2:
            return with_params(join([_own_function(flow, unit, node, scope) for unit in units]), [receiver])
    base = settled if receiver.element is None else receiver
    return with_params(method_call(base, func.attr, [flow.resolve(arg) for arg in args]), [receiver, *args])


#: What a step in an environment gives: observation, reward, whether the episode ended or was cut, what else it says.
_OF_A_STEP = Value(
    frozenset({From.UNKNOWN}),
    items=(of(From.DATA), of(From.LIVE), of(From.UNKNOWN), of(From.LIVE), of(From.LIVE)),
)


def _is_environment(receiver: ast.expr) -> bool:
    """Whether an object is called an environment: ``self.env``, ``eval_envs``."""
    words = words_of(dotted_text(receiver).rpartition(".")[2])
    return not {"env", "envs", "environment"}.isdisjoint(words)


def _is_own(flow: Evaluator, receiver: Value) -> bool:
    """Whether an object is of a class of the project, whose own steps say what they give."""
    return any(isinstance(ref, Instance) for ref in flow.resolve(receiver).refs)


def _is_callable(element: Value) -> bool:
    """Whether the values of a dictionary are functions and classes to choose from."""
    return any(isinstance(ref, (Unit, ClassScope)) for ref in element.refs)


def with_params(value: Value, sources: list[Value]) -> Value:
    """Keep in sight which parameters a value was computed from."""
    params = frozenset(origin for source in sources for origin in source.origins if isinstance(origin, Param))
    if not params or value.origins <= _FIXED_ORIGINS:
        return value
    return value.with_origins(value.origins | params)


def _is_session(node: ast.expr) -> bool:
    name = last_part(node)
    return not {"sess", "session"}.isdisjoint(words_of(name))


def _session_run(node: ast.Call) -> Value:
    """Give what a session of TensorFlow 1 returns: a result for each fetch."""
    if node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
        return Value(frozenset({From.LIVE}), items=tuple(of(From.LIVE) for _ in node.args[0].elts))
    return of(From.LIVE)


def _may_be_data(passed: Value) -> bool:
    return passed.has(From.UNKNOWN, From.OBJECT) or bool(passed.params())


def _unknown_function(func: Value, args: list[Value], *, is_model: bool) -> Value:
    passed = mixed(args)
    is_live = passed.has(From.LIVE, From.DATA, From.WEIGHTS) or (is_model and _may_be_data(passed))
    origin = From.LIVE if is_live else From.UNKNOWN
    return of(origin, *func.params(), *passed.params())
