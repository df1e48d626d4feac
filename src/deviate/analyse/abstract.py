"""What is known of a value without running the program: where it comes from and what it may be."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from deviate.analyse.index import ClassScope, ModuleIndex, Scope, Unit

#: Origins of a value. The first group makes a metric, the others do not.
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

METRIC_ORIGINS = frozenset({LIVE, DURATION, MEMORY})


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

_MAX_REFS = 6
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

    def plain(self) -> frozenset[str]:
        """Return the origins without parameters."""
        return frozenset([one for one in self.origins if isinstance(one, str)])

    def params(self) -> list[Param]:
        """Return the parameters among the origins, in a stable order."""
        found = [one for one in self.origins if isinstance(one, Param)]
        if len(found) < 2:
            return found
        return sorted(found, key=lambda one: (one.unit.module.file, getattr(one.unit.node, "lineno", 0), one.name))

    def has(self, *origins: str) -> bool:
        """Whether any of these is an origin."""
        return not self.origins.isdisjoint(origins)


NOTHING = Value()


def of(*origins: Origin) -> Value:
    """Make a value of these origins alone."""
    return Value(frozenset(origins))


def join(values: Iterable[Value], depth: int = 0) -> Value:
    """Return what may be any of the values; structure is kept `MAX_STRUCTURE` levels deep."""
    kept = [value for value in values if value is not NOTHING]
    if not kept:
        return NOTHING
    if len(kept) == 1 and depth < MAX_STRUCTURE:
        return kept[0]
    origins = frozenset[Origin]().union(*(value.origins for value in kept))
    refs = tuple(dict.fromkeys(ref for value in kept for ref in value.refs))[:_MAX_REFS]
    if depth >= MAX_STRUCTURE:
        return Value(origins, refs)
    return Value(origins, refs, _joined_items(kept, depth), _joined_keys(kept, depth), _joined_elements(kept, depth))


def _joined_items(values: list[Value], depth: int) -> tuple[Value, ...] | None:
    tuples = [value.items for value in values if value.items is not None]
    if len({len(one) for one in tuples}) != 1:
        return None
    return tuple(join(column, depth + 1) for column in zip(*tuples, strict=True))


def _joined_keys(values: list[Value], depth: int) -> dict[str, Value]:
    found: dict[str, list[Value]] = {}
    for value in values:
        for key, inner in value.keys.items():
            found.setdefault(key, []).append(inner)
    return {key: join(inner, depth + 1) for key, inner in list(found.items())[:MAX_KEYS]}


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
    items = None if value.items is None else tuple(trimmed(one, levels - 1) for one in value.items)
    keys = {key: trimmed(one, levels - 1) for key, one in list(value.keys.items())[:MAX_KEYS]}
    element = None if value.element is None else trimmed(value.element, levels - 1)
    return Value(value.origins, value.refs, items, keys, element)


def mixed(values: Iterable[Value]) -> Value:
    """Return something computed from all the values: their origins, none of their structure."""
    origins = frozenset[Origin]().union(*(value.origins for value in values))
    return Value(origins) if origins else NOTHING
