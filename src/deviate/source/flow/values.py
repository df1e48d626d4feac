"""Abstract values: the origins of a value and the objects that it may be, known without running the program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from deviate.source.index import ClassScope, ModuleIndex, Scope, Unit


class From:
    """Origins of values. The first three make a metric, the others do not."""

    LIVE = "live"  # computed from model, loss, gradients or another part of the training's state
    DURATION = "duration"  # difference of clock readings
    MEMORY = "memory"
    DATA = "data"  # samples of a data set, which vary with the order of the data
    WEIGHTS = "weights"  # parameters of a model
    CLOCK = "clock"
    COUNT = "count"
    TOTAL = "total"  # sizes, lengths
    SETTING = "setting"
    RANDOM = "random"  # drawn by a generator of random numbers
    SCHEDULE = "schedule"  # learning rates
    CONSTANT = "constant"
    TEXT = "text"
    PATH = "path"
    OBJECT = "object"  # made by code outside the project, from settings
    UNKNOWN = "unknown"


METRIC_ORIGINS = frozenset({From.LIVE, From.DURATION, From.MEMORY})


@dataclass(frozen=True, eq=True, slots=True)
class Param:
    """Stands for whatever callers pass for a parameter."""

    unit: Unit
    name: str

    def __hash__(self) -> int:
        return hash((id(self.unit), self.name))


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """An object of a class of the project, with the call that makes it."""

    cls: ClassScope
    made: ast.Call | None = None
    scope: Scope | None = None


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the project, by dotted name; ``made`` when it is the result of calling it."""

    dotted: str
    made: bool = False


Ref = Unit | ClassScope | ModuleIndex | Instance | External
Origin = str | Param

#: Of what a value may be, so much is remembered.
MAX_REFS = 6
#: Values that hold themselves would otherwise grow without end.
MAX_STRUCTURE = 3
MAX_KEYS = 200


class Value(msgspec.Struct, frozen=True, eq=False):
    """An abstract value. Large programs make hundreds of thousands of them, which is why it is no dataclass."""

    origins: frozenset[Origin] = frozenset()
    refs: tuple[Ref, ...] = ()
    #: Values by position, where known.
    items: tuple[Value, ...] | None = None
    #: Values by constant key, where known.
    keys: dict[str, Value] = {}
    #: What iterating gives, where it differs.
    element: Value | None = None

    def with_origins(self, origins: frozenset[Origin]) -> Value:
        """Return the same structure with other origins."""
        return Value(origins, self.refs, self.items, self.keys, self.element)

    def plain(self) -> frozenset[str]:
        """Return the origins without parameters."""
        return frozenset([origin for origin in self.origins if isinstance(origin, str)])

    def params(self) -> list[Param]:
        """Return the parameters among the origins, in a stable order."""
        params = [origin for origin in self.origins if isinstance(origin, Param)]
        return params if len(params) < 2 else sorted(params, key=lambda param: (param.unit.position, param.name))

    def has(self, *origins: str) -> bool:
        """Whether any of these is an origin."""
        return not self.origins.isdisjoint(origins)


NOTHING = Value()


def of(*origins: Origin) -> Value:
    """Make a value of these origins alone."""
    return Value(frozenset(origins))


def join(values: Iterable[Value], depth: int = 0) -> Value:
    """Return what may be any of the values; structure is remembered `MAX_STRUCTURE` levels deep."""
    joined = [value for value in values if value is not NOTHING]
    if not joined:
        return NOTHING
    if len(joined) == 1 and depth < MAX_STRUCTURE:
        return joined[0]
    origins = frozenset[Origin]().union(*(value.origins for value in joined))
    refs = tuple(dict.fromkeys(ref for value in joined for ref in value.refs))[:MAX_REFS]
    if depth >= MAX_STRUCTURE:
        return Value(origins, refs)
    return Value(
        origins, refs, _joined_items(joined, depth), _joined_keys(joined, depth), _joined_elements(joined, depth)
    )


def _joined_items(values: list[Value], depth: int) -> tuple[Value, ...] | None:
    tuples = [value.items for value in values if value.items is not None]
    if len(set(map(len, tuples))) != 1:
        return None
    return tuple(join(column, depth + 1) for column in zip(*tuples, strict=True))


def _joined_keys(values: list[Value], depth: int) -> dict[str, Value]:
    columns: dict[str, list[Value]] = {}
    for value in values:
        for key, item in value.keys.items():
            columns.setdefault(key, []).append(item)
    return {key: join(column, depth + 1) for key, column in list(columns.items())[:MAX_KEYS]}


def _joined_elements(values: list[Value], depth: int) -> Value | None:
    elements = [value.element for value in values if value.element is not None]
    if not elements:
        return None
    plain = [value for value in values if value.element is None and value.items is None and not value.keys]
    return join([*elements, *(Value(value.origins) for value in plain)], depth + 1)


def trimmed(value: Value, levels: int = MAX_STRUCTURE) -> Value:
    """Forget the structure of a value below some levels."""
    if value.items is None and not value.keys and value.element is None:
        return value
    if levels == 0:
        return Value(value.origins, value.refs)
    return with_structure(value, value.origins, value.refs, lambda item: trimmed(item, levels - 1))


def with_structure(
    value: Value, origins: frozenset[Origin], refs: tuple[Ref, ...], change: Callable[[Value], Value]
) -> Value:
    """Make a value of other origins whose items, keys and elements are those of a value, changed."""
    items = None if value.items is None else tuple(change(item) for item in value.items)
    keys = {key: change(item) for key, item in list(value.keys.items())[:MAX_KEYS]}
    return Value(origins, refs, items, keys, None if value.element is None else change(value.element))


def mixed(values: Iterable[Value]) -> Value:
    """Return something computed from all the values: their origins, none of their structure."""
    origins = frozenset[Origin]().union(*(value.origins for value in values))
    return Value(origins) if origins else NOTHING


def element_of(value: Value) -> Value:
    """Return the element of a value that is iterated over."""
    if value.element is not None:
        keyed = mixed(value.keys.values()) if value.keys else NOTHING
        return value.element if keyed.origins <= value.element.origins else join([value.element, keyed])
    if value.items is not None or value.keys:
        items = value.items or ()
        origins = mixed([*items, *value.keys.values()]).origins
        return Value(origins or value.origins, tuple(ref for item in items for ref in item.refs)[:MAX_REFS])
    if value.has(From.OBJECT, From.UNKNOWN) and not value.has(From.LIVE):
        return Value(value.origins - {From.OBJECT, From.UNKNOWN} | {From.DATA})
    return value


def item_of(value: Value, position: int) -> Value:
    """Take one position of an unpacked value."""
    if value.items is not None and -len(value.items) <= position < len(value.items):
        return value.items[position]
    if value.element is not None:
        return value.element
    if value.has(From.OBJECT) and not value.has(From.LIVE):
        return Value(value.origins - {From.OBJECT} | {From.UNKNOWN})
    return Value(value.origins, value.refs)


def subtract(left: Value, right: Value) -> Value:
    """Evaluate a difference: two clock readings give a duration.

    Nothing is known yet of a name that the difference is given to: ``t = time() - t``.
    """
    if left.plain() == {From.CLOCK} and right is NOTHING:
        return of(From.DURATION)
    if (left.has(From.CLOCK) and right.has(From.CLOCK, From.UNKNOWN)) or right.has(From.CLOCK):
        return Value(frozenset({From.DURATION, *left.params(), *right.params()}))
    return mixed((left, right))


def as_number(value: Value) -> Value:
    """Return the number that is read from a text, which is none itself: ``float(line)``; a line of `sys.stdin`, too."""
    is_of_library = not value.origins and any(isinstance(ref, External) for ref in value.refs)
    if not (is_of_library or value.has(From.TEXT, From.PATH)):
        return value
    return Value(value.origins - {From.TEXT, From.PATH} | {From.UNKNOWN})


class Valuation(Protocol):
    """Gives expressions their values."""

    def value(self, node: ast.expr | None, scope: Scope) -> Value:
        """Evaluate an expression; parameters stay symbolic."""

    def resolved(self, node: ast.expr, scope: Scope) -> Value:
        """Evaluate an expression with its parameters replaced by what callers pass."""
