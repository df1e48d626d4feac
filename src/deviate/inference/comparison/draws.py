"""Draws that all runs of a side repeat: such runs say nothing about other draws."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.collect.fingerprints import EXAMPLES, Fingerprint, agree, common_digests, is_constant, is_replaced
from deviate.experiment import IMPORTED
from deviate.factors import DATA, DEFAULT_VARIANT, SEEDED
from deviate.inference.comparison.side import Side


class RepeatedDraws(msgspec.Struct, frozen=True, kw_only=True):
    """The factors for which all runs of a side drew the same."""

    #: Labels of the sides.
    a: str
    b: str
    #: Factors whose one draw is the same on both sides: a difference holds at that draw.
    shared: list[str] = []
    #: Label of a side -> factors whose one draw the other side does not repeat: no verdict about recipes is possible.
    unshared: dict[str, list[str]] = {}
    #: Label of an imported side -> factors that have one draw in all runs of the other side. What varied in imported
    #: runs is unknown, so a difference may come from the recipes or from this draw.
    unknown: dict[str, list[str]] = {}

    @property
    def remedy(self) -> str:
        """What to type for runs that a verdict can be drawn from."""
        data = any(DATA in factors for factors in (*self.unshared.values(), *self.unknown.values()))
        return f"deviate run --vary {'algo,impl,data' if data else DEFAULT_VARIANT}"


def repeated_draws(a: Side, b: Side) -> RepeatedDraws:
    """Compare what the fingerprints of two sides show to have varied, whatever was meant to vary.

    n runs that repeat one draw of a factor are one observation of it: a test of their means calls one recipe better
    than itself in 21 to 82 % of simulated cases (``benchmarks/statistics/repeated.py``). Sides without fingerprints
    show nothing.
    """
    names = {side.label: [name for name in SEEDED if _is_repeated(_prints(side, name))] for side in (a, b)}
    shared = [name for name in names[a.label] if name in names[b.label] and _is_shared(name, a, b)]
    unshared = {label: [name for name in repeated if name not in shared] for label, repeated in names.items()}
    left = {label: factors for label, factors in unshared.items() if factors}
    imported = [side.label for side in (a, b) if side.variant == IMPORTED]
    if left and imported:
        return RepeatedDraws(a=a.label, b=b.label, shared=shared, unknown={imported[0]: next(iter(left.values()))})
    return RepeatedDraws(a=a.label, b=b.label, shared=shared, unshared=left)


def _prints(side: Side, name: str) -> list[Fingerprint]:
    return [prints[name] for _, prints in sorted(side.prints.items()) if name in prints]


def _is_repeated(prints: Sequence[Fingerprint]) -> bool:
    """Tell whether several runs drew, and all the same; content that was read from a file was not drawn."""
    if len(prints) < 2 or is_constant(prints) or is_replaced(prints):
        return False
    return all(agree(prints[0], each) is True for each in prints[1:])


def _is_shared(name: str, a: Side, b: Side) -> bool:
    """Tell whether both sides repeat the same draw. Equal seeds prove nothing: another model draws other numbers."""
    if name == DATA and _is_same(_prints(a, EXAMPLES), _prints(b, EXAMPLES)):
        return True
    return _is_same(_prints(a, name), _prints(b, name))


def _is_same(a: Sequence[Fingerprint], b: Sequence[Fingerprint]) -> bool:
    if not a or not b:
        return False
    if a[0].parts or b[0].parts:
        return agree(a[0], b[0]) is True
    first, second = common_digests(a[0], b[0])
    return a[0].digest == b[0].digest or (a[0].processes == b[0].processes and first == second)
