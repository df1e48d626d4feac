"""Values of calls into libraries, by dotted name or by the name of the method."""

from __future__ import annotations

import re

from deviate.analyse.flow.values import METRIC_ORIGINS, External, From, Value, as_number, element_of, mixed, of
from deviate.analyse.naming.words import is_metric_word, word_lists

_LISTS = word_lists(__file__)
_ORIGINS = (From.CLOCK, From.DURATION, From.MEMORY, From.COUNT, From.TOTAL, From.RANDOM, From.PATH, From.TEXT,
            From.SETTING, From.SCHEDULE, From.WEIGHTS)  # fmt: skip


def _by_name(suffix: str = "") -> dict[str, str]:
    return {name: origin for origin in _ORIGINS for name in _LISTS.get(origin + suffix, ())}


#: The result is of this origin whatever is passed. Longest match of the dotted name's start wins.
_BY_NAME = _by_name()
_BY_METHOD = _by_name(" methods")
_BY_ATTRIBUTE = _by_name(" attributes")
#: The result is made of what is passed.
_PASSING = tuple(_LISTS["functions that pass values on"])
_TENSORS = ("tensorflow.", "torch.nn", "jax.", "paddle.", "mxnet.", "theano.")
_FIXED = frozenset({From.SETTING, From.CONSTANT, From.TEXT, From.OBJECT})
#: What an environment or a library's training gives.
_LIVE_ATTRIBUTES = _LISTS["live attributes"]
_LIVE_METHODS = _LISTS["live methods"]
_MAPPING_METHODS = _LISTS["mapping methods"]
_SELF_METHODS = _LISTS["methods that give the object"]
_READERS = _LISTS["functions that read files"]
#: Function of a library that wraps or transforms a function: calling the result calls the function.
FUNCTION_WRAPPERS = _LISTS["function wrappers"]
#: Functions that read a number from a text.
NUMBERS = {"builtins.float", "builtins.int", "builtins.complex"}
_LOSS = re.compile(
    r"(loss(es)?|cross_?entropy|accuracy)(?![a-z])|_score$|_error$|^(mse|mae|nll|bce|kl_div|auc|roc_auc)(?![a-z])"
)
#: Compute what the rest of their names says, be it of files: ``calculate_fid_given_paths``.
_COMPUTING = re.compile(r"(calc(ulate)?|compute|measure|compare)_")
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
    if last == "mem_get_info":  # what is free, and what the device has
        return Value(frozenset({From.MEMORY}), items=(of(From.MEMORY), of(From.TOTAL)))
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
    if args and _COMPUTING.match(last) and is_metric_word(last):
        return of(From.LIVE, *passed.params())
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
    if receiver.has(From.CLOCK) and name in {"replace", "timestamp", "astimezone"}:
        return of(From.CLOCK)
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
