"""Values of calls: of the project's own functions by substitution, of others by table."""

from __future__ import annotations

import ast
import re

from deviate.lexicon.words import word_lists, words_of
from deviate.source.flow.program import Evaluator
from deviate.source.flow.starts import chosen_by_name, methods_begun
from deviate.source.flow.values import (
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
from deviate.source.index import Binding, ClassScope, Scope, Unit, in_force, lookup
from deviate.source.syntax import IMPORTERS, called_name, dotted_text, last_part, passed_for, unpacked

# Values of calls into libraries, by dotted name or by the name of the method.

_CALL_WORDS = word_lists("libraries")
_ORIGINS = (From.CLOCK, From.DURATION, From.MEMORY, From.COUNT, From.TOTAL, From.RANDOM, From.PATH, From.TEXT,
            From.SETTING, From.SCHEDULE, From.WEIGHTS)  # fmt: skip


def _by_name(suffix: str = "") -> dict[str, str]:
    return {name: origin for origin in _ORIGINS for name in _CALL_WORDS.get(origin + suffix, ())}


#: The result is of this origin whatever is passed. Longest match of the dotted name's start wins.
_BY_NAME = _by_name()
_BY_METHOD = _by_name(" methods")
_BY_ATTRIBUTE = _by_name(" attributes")
#: The result is made of what is passed.
_PASSING = tuple(_CALL_WORDS["functions that pass values on"])
_TENSORS = ("tensorflow.", "torch.nn", "jax.", "paddle.", "mxnet.", "theano.")
_FIXED = frozenset({From.SETTING, From.CONSTANT, From.TEXT, From.OBJECT})
#: What an environment or a library's training gives.
_LIVE_ATTRIBUTES = _CALL_WORDS["live attributes"]
_LIVE_METHODS = _CALL_WORDS["live methods"]
_MAPPING_METHODS = _CALL_WORDS["mapping methods"]
_SELF_METHODS = _CALL_WORDS["methods that give the object"]
_READERS = _CALL_WORDS["functions that read files"]
#: Function of a library that wraps or transforms a function: calling the result calls the function.
FUNCTION_WRAPPERS = _CALL_WORDS["function wrappers"]
#: Functions that read a number from a text.
NUMBERS = {"builtins.float", "builtins.int", "builtins.complex"}
_LOSS = re.compile(
    r"(loss(es)?|cross_?entropy|accuracy)(?![a-z])|_score$|_error$|^(mse|mae|nll|bce|kl_div|auc|roc_auc)(?![a-z])"
)
_METER = re.compile(r"(^|\.)(metrics?|torchmetrics|meters?)\.|Meter$|Metric(s|Collection)?$|(Mean|Average)$")


def known_origin(dotted: str) -> str | None:
    """Look a call up by dotted name or the longest known start of it."""
    at = dotted
    while at:
        if at in _BY_NAME:
            return _BY_NAME[at]
        at = at.rpartition(".")[0]
    return None


def external_call(dotted: str, args: list[Value]) -> Value:
    """Evaluate a call of a function outside the project."""
    last = dotted.rpartition(".")[2]
    origin = known_origin(dotted)
    if origin == From.COUNT and not dotted.endswith(("id", "hash")):
        return Value(frozenset({From.COUNT}), element=of(From.COUNT))
    if origin is not None:
        return of(origin)
    if last in {"parse_args", "parse_known_args", "get_config", "ConfigParser"}:
        return of(From.SETTING)
    passed = mixed(map(as_number, args) if dotted in NUMBERS else args)
    if dotted in {"builtins.max", "builtins.min", "builtins.sum", "builtins.abs", "builtins.round"}:
        return passed
    if passed.has(*METRIC_ORIGINS) or (
        passed.has(From.DATA, From.WEIGHTS) and not dotted.startswith(("builtins.", "numpy.", "torch."))
    ):
        made = (External(dotted, made=True),) if last[:1].isupper() else ()
        return Value(passed.origins if dotted.startswith(_PASSING) else passed.origins | {From.LIVE}, made)
    if dotted.startswith("torch.nn.functional.") or last in {"allreduce", "all_reduce", "reduce_mean"}:
        return Value(passed.origins | {From.LIVE})
    if args and _LOSS.search(last) and not last[:1].isupper():
        return Value(passed.origins - {From.CONSTANT, From.SETTING, From.OBJECT, From.UNKNOWN} | {From.LIVE})
    if last in _READERS and not dotted.startswith(_TENSORS):
        return of(From.UNKNOWN)  # what a file holds is no setting, be its path one
    result = (External(dotted, made=True),)
    if last[:1].isupper() and _METER.search(dotted):
        return Value(frozenset({From.OBJECT, From.LIVE}), result)
    if last[:1].isupper() or passed.has(From.PATH):
        return Value(frozenset({From.OBJECT, *passed.params()}), result)
    if dotted.startswith(_TENSORS) and passed.plain() <= _FIXED and not dotted.rpartition(".")[2].startswith("is_"):
        return Value(passed.origins | {From.UNKNOWN})  # a tensor that settings shape is no setting
    if dotted.startswith(_PASSING) and args:
        return passed
    return Value(frozenset({From.UNKNOWN, *passed.params()}), result)


def method_call(receiver: Value, name: str, args: list[Value]) -> Value:
    """Evaluate a call of a method of an object outside the project."""
    if name in _BY_METHOD:
        return of(_BY_METHOD[name])
    if receiver.has(From.SETTING) and not receiver.has(*METRIC_ORIGINS):
        reads = not args or name.startswith(("get", "to_", "as_")) or name in {"pop", "copy", "setdefault", "update"}
        return Value(receiver.origins, element=receiver.element) if reads else of(From.OBJECT, From.UNKNOWN)
    if name == "items":
        inner = element_of(receiver)
        return Value(receiver.origins, element=Value(inner.origins | {From.TEXT}, items=(of(From.TEXT), inner)))
    if name == "keys":
        return of(From.TEXT)
    if name == "values":
        return Value(receiver.origins, element=element_of(receiver))
    if name in _MAPPING_METHODS or (name in _SELF_METHODS and receiver.refs):
        return receiver
    if name == "item" and not args and receiver.has(From.OBJECT, From.UNKNOWN):
        # Nothing but an array has this method, and settings are no arrays.
        return Value(receiver.origins - {From.OBJECT, From.UNKNOWN, From.SETTING, From.CONSTANT} | {From.LIVE})
    if name in _LIVE_METHODS and not receiver.has(From.CONSTANT, From.TEXT):
        return Value(receiver.origins - {From.OBJECT, From.UNKNOWN} | {From.LIVE})
    return _combined(receiver, mixed(args))


def _combined(receiver: Value, passed: Value) -> Value:
    if receiver.has(From.WEIGHTS):
        return Value(receiver.origins | {From.LIVE})
    if receiver.has(From.OBJECT, From.UNKNOWN) and not receiver.has(*METRIC_ORIGINS):
        if passed.has(From.DATA, From.LIVE, From.WEIGHTS):
            return of(From.LIVE)
        return Value(frozenset({From.UNKNOWN, *receiver.params(), *passed.params()}))
    return Value(receiver.origins | (passed.origins - {From.CONSTANT, From.COUNT, From.TOTAL, From.SETTING, From.PATH}))


def attribute_of(receiver: Value, name: str) -> Value | None:
    """Evaluate an attribute of an object outside the project; None when its name is not known."""
    origin = _BY_ATTRIBUTE.get(name)
    if origin is not None and not (origin == From.SCHEDULE and receiver.has(From.SETTING)):
        return of(origin)
    is_given = name in _LIVE_ATTRIBUTES and receiver.has(From.OBJECT, From.UNKNOWN)
    return of(From.LIVE) if name == "grad" or is_given else None


#: A result that is nothing but this does not depend on what was passed.
_FIXED_ORIGINS = frozenset(
    {From.COUNT, From.TOTAL, From.SETTING, From.PATH, From.CLOCK, From.MEMORY, From.SCHEDULE, From.WEIGHTS}
)
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


# Which parameter a value is forwarded from, by form: itself, an element, an attribute, a conversion of it.

MAX_DEPTH = 10
_PARAMETER_WORDS = word_lists("parameters")
_CONVERSIONS = _PARAMETER_WORDS["converting functions"]
#: Methods that give the same number in another form, or the number an object holds.
_FORMS = _PARAMETER_WORDS["methods that give the same number"]
_ITERATED = _PARAMETER_WORDS["iterating functions"]


def forwarded_param(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int = 0) -> Param | None:
    """Find the parameter that an expression forwards; None when it computes something of its own."""
    if expr in flow.forwarded or depth > MAX_DEPTH:
        return flow.forwarded.get(expr)
    flow.forwarded[expr] = None
    flow.forwarded[expr] = _source(flow, expr, scope, depth)
    return flow.forwarded[expr]


def _source(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int) -> Param | None:
    if isinstance(expr, ast.Name):
        return _of_name(flow, expr, scope, depth)
    if isinstance(expr, ast.Attribute):
        return _of_attribute(flow, expr, scope, depth)
    if isinstance(expr, (ast.Subscript, ast.Starred)):
        return forwarded_param(flow, expr.value, scope, depth + 1)
    if isinstance(expr, ast.Call):
        return _of_call(flow, expr, scope, depth)
    if isinstance(expr, ast.BinOp):
        sides = [side for side in (expr.left, expr.right) if not isinstance(side, ast.Constant)]
        params = [forwarded_param(flow, side, scope, depth + 1) for side in sides]
        return params[0] if len(params) == 1 else None
    if isinstance(expr, ast.IfExp):
        return forwarded_param(flow, expr.body, scope, depth + 1)
    if isinstance(expr, (ast.ListComp, ast.GeneratorExp, ast.DictComp)):
        element = expr.value if isinstance(expr, ast.DictComp) else expr.elt
        return forwarded_param(flow, element, scope.module.inner.get(expr, scope), depth + 1)
    return None


def _of_name(flow: Evaluator, node: ast.Name, scope: Scope, depth: int) -> Param | None:
    definition = lookup(node.id, scope)
    if definition is None:
        return None
    home, bindings = definition
    params = (_of_binding(flow, binding, home, node.id, depth) for binding in in_force(node, bindings))
    return next((param for param in params if param is not None), None)


def _of_binding(flow: Evaluator, binding: Binding, home: Scope, name: str, depth: int) -> Param | None:
    if binding.kind == "param" and isinstance(home, Unit):
        is_self = home.is_method and home.parameters[:1] == (name,)
        return None if is_self else Param(home, name)
    if binding.kind == "for" and binding.value is not None:
        return forwarded_param(flow, _iterated(binding.value, binding.path), binding.scope, depth + 1)
    if binding.kind in {"merge", "element"} and not _is_container(home, name):
        return None
    if binding.kind in {"assign", "merge", "element", "aug"} and binding.value is not None and not binding.path:
        return forwarded_param(flow, binding.value, binding.scope, depth + 1)
    return None


def _is_container(home: Scope, name: str) -> bool:
    """Whether a name holds a list or mapping, rather than an object of a class."""
    values = [binding.value for binding in home.bindings.get(name, []) if binding.kind == "assign"]
    return not any(isinstance(value, ast.Call) and called_name(value)[:1].isupper() for value in values)


def _iterated(expr: ast.expr, path: tuple[int, ...]) -> ast.expr:
    while isinstance(expr, ast.Call) and called_name(expr) in _ITERATED:
        if isinstance(expr.func, ast.Attribute):
            expr = expr.func.value
        elif called_name(expr) == "zip" and path and path[0] < len(expr.args):
            expr, path = expr.args[path[0]], path[1:]
        elif expr.args:
            expr = expr.args[0]
        else:
            break
    return expr


def _of_attribute(flow: Evaluator, expr: ast.Attribute, scope: Scope, depth: int) -> Param | None:
    refs = flow.value(expr.value, scope).refs if isinstance(expr.value, ast.Name) and expr.value.id == "self" else ()
    for ref in refs:
        for binding in ref.cls.attributes.get(expr.attr, []) if isinstance(ref, Instance) else ():
            value = unpacked(binding) if binding.kind == "assign" else None
            param = forwarded_param(flow, value, binding.scope, depth + 1) if value is not None else None
            if param is not None:
                return param
    return forwarded_param(flow, expr.value, scope, depth + 1)


def _of_call(flow: Evaluator, expr: ast.Call, scope: Scope, depth: int) -> Param | None:
    func = expr.func
    if isinstance(func, ast.Attribute):
        base = forwarded_param(flow, func.value, scope, depth + 1)
        if base is not None:
            # A meter's ``compute()`` gives its number, ``criterion.compute(scores, y)`` one of its own.
            is_own = func.attr == "compute" and bool(expr.args or expr.keywords)
            return base if func.attr in _FORMS and not is_own else None
        if func.attr == "join" and len(expr.args) == 1:
            return forwarded_param(flow, expr.args[0], scope, depth + 1)
    is_single = len(expr.args) == 1 and not isinstance(expr.args[0], ast.Starred)
    if is_single and _returns_argument(flow, expr, scope, depth):
        return forwarded_param(flow, expr.args[0], scope, depth + 1)
    return None


def _returns_argument(flow: Evaluator, call: ast.Call, scope: Scope, depth: int) -> bool:
    """Whether a function returns its argument, in another form at most."""
    if called_name(call) in _CONVERSIONS:
        return True
    for ref in flow.value(call.func, scope).refs:
        if isinstance(ref, Unit):
            params = (forwarded_param(flow, value, home, depth + 2) for value, home in ref.returns)
            if any(param is not None and param.unit is ref for param in params):
                return True
    return False
