"""The first operation whose inputs agree and whose output differs."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Literal

import msgspec

from deviate.probes.divergence.records import Operation

#: ``operation``: equal inputs, another output. ``threads``: it ran with another number of threads. ``draws``: it draws
#: from a generator in another state. ``value``: a number that is no tensor differs. ``host``: a tensor differs that no
#: recorded operation made. ``unfilled``: it reads memory that nothing filled. ``memory``: what an operation left is not
#: what the next one finds. ``shape``: a tensor has another shape. ``flow``: the runs call other operations.
Kind = Literal["operation", "threads", "draws", "value", "host", "unfilled", "memory", "shape", "flow"]


#: Operations behind the place where two sequences part in which it is looked for what only one of them has.
REALIGNED = 2000


class FirstDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Where the operations of two runs first differ."""

    kind: Kind
    #: Of both runs.
    first: Operation | None
    second: Operation | None
    #: The operation before it, which is equal in both.
    before: Operation | None = None


def first_difference(first: Sequence[Operation], second: Sequence[Operation]) -> FirstDifference | None:
    """Return where the operations of two runs first differ; None where all are equal."""
    made: dict[str | None, Operation] = {}
    before: Operation | None = None
    by_number = {operation.n: operation for operation in first}
    for ours, theirs in _aligned(first, second):
        if ours is None or theirs is None:
            return FirstDifference(kind="flow", first=ours, second=theirs, before=before)
        kind = _kind(ours, theirs, made)
        if kind == "unfilled":
            ours, theirs = _allocating(ours, theirs, by_number)
        if kind is not None:
            return FirstDifference(kind=kind, first=ours, second=theirs, before=before)
        made.update(dict.fromkeys(ours.left or (), ours))
        before = ours if ours.left else before
    return None


def _aligned(
    first: Sequence[Operation], second: Sequence[Operation]
) -> list[tuple[Operation | None, Operation | None]]:
    """Return the operations of two runs in pairs, up to the first that only one of them has."""
    pairs: list[tuple[Operation | None, Operation | None]] = []
    for ours, theirs in zip(first, second, strict=False):
        if key_of(ours) != key_of(theirs):
            return [*pairs, *_realigned(first[len(pairs) :], second[len(pairs) :])]
        pairs.append((ours, theirs))
    longer = first if len(first) > len(second) else second
    if len(first) != len(second):
        rest = longer[len(pairs)]
        pairs.append((rest, None) if longer is first else (None, rest))
    return pairs


def _realigned(
    first: Sequence[Operation], second: Sequence[Operation]
) -> list[tuple[Operation | None, Operation | None]]:
    """Return what stands in one run only, at the place where two sequences of operations part."""
    ours, theirs = ([key_of(each) for each in run[:REALIGNED]] for run in (first, second))
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    block = next(each for each in matcher.get_opcodes() if each[0] != "equal")
    tag, start, _, other, _ = block
    return [(first[start] if tag != "insert" else None, second[other] if tag == "insert" else None)]


def key_of(operation: Operation) -> tuple[str, str, str, int, str]:
    """Return where and in which phase an operation is called."""
    return operation.op, operation.module, operation.file, operation.line, operation.phase


def _kind(ours: Operation, theirs: Operation, made: dict[str | None, Operation]) -> Kind | None:
    """Return in what two calls of an operation differ; None where they do not, or only in what does not matter."""
    if ours.empty is not None or ours.left is None:
        same = ours.scalars == theirs.scalars and ours.empty == theirs.empty
        return None if same else "shape" if ours.empty != theirs.empty else "value"
    if ours.left == theirs.left:
        return None
    if ours.random != theirs.random:
        return "draws"
    if ours.scalars != theirs.scalars:
        return "value"
    entered = list(zip(ours.entered or (), theirs.entered or (), strict=False))
    differing = [position for position, (a, b) in enumerate(entered) if a != b]
    if not differing and "Storage" in ours.scalars:
        # Memory of another process, or a file.
        return "host"
    if not differing:
        return "threads" if ours.threads != theirs.threads else "operation"
    if any(_shape(a) != _shape(b) for a, b in entered):
        return "shape"
    if any(position < len(ours.unfilled) and ours.unfilled[position] is not None for position in differing):
        return "unfilled"
    return "memory" if any((a in made) != (b in made) for a, b in entered if a != b) else "host"


def differing_numbers(ours: Operation, theirs: Operation) -> list[tuple[str, str]]:
    """Return the plain arguments that differ, as they are written.

    >>> a, b = (Operation(n=0, op="aten.mul.Scalar", scalars=text) for text in ("[0.5, 2]", "[0.25, 2]"))
    >>> differing_numbers(a, b)
    [('0.5', '0.25')]
    """
    pair = [each.scalars.strip("[]").split(", ") for each in (ours, theirs)]
    return [(a, b) for a, b in zip(*pair, strict=False) if a != b]


def _shape(digest: str | None) -> str:
    return (digest or "").rpartition(":")[0]


def _allocating(ours: Operation, theirs: Operation, by_number: dict[int, Operation]) -> tuple[Operation, Operation]:
    """Return the operation that allocated the memory which another one reads unfilled."""
    number = next(each for each in ours.unfilled if each is not None)
    allocated = by_number.get(number, ours)
    return allocated, allocated if allocated is not ours else theirs
