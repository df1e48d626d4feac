"""One value reported in several places, or under several names, is one metric."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from deviate.analyse.found import Finding
from deviate.analyse.frameworks.logged import is_handed_over
from deviate.analyse.identity import Identity, identity_of
from deviate.analyse.index import Unit, enclosing_loops
from deviate.analyse.naming import plain_variable
from deviate.analyse.words import meaning_of

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


def merge(flow: Flow, findings: list[Finding]) -> list[Finding]:
    """Join the reports of one value; values of different parts of the data stay apart.

    Values of one function are one where they have one root or are one expression; values of two functions where the
    one hands its value to the other.
    """
    groups: dict[tuple[Unit, bool], list[tuple[Finding, Identity]]] = {}
    order: dict[int, int] = {}
    for position, one in enumerate(findings):
        identity = identity_of(flow, one.shown.expr, one.shown.scope)
        group = groups.setdefault((identity.handed_from or one.unit, one.shown.mapping), [])
        same = next((at for at, (other, its) in enumerate(group) if _is_same(one, identity, other, its)), None)
        if same is None:
            order[id(one)] = position
            group.append((one, identity))
        else:
            other, its = group[same]
            best = _joined(other, one, identity.is_same(its))
            order[id(best)] = order.pop(id(other))
            group[same] = (best, its if best is other else identity)
    found = [one for group in groups.values() for one, _ in group]
    return sorted(found, key=lambda one: order[id(one)])


def _is_same(one: Finding, identity: Identity, other: Finding, its: Identity) -> bool:
    if one.split and other.split and one.split != other.split:
        return False
    handed = is_handed_over(one.capture) and is_handed_over(other.capture)
    if handed and one.capture != other.capture:
        return False
    named_apart = one.variable.endswith("()") and not _is_plain(one) and _letters(one.name) != _letters(other.name)
    if one.variable == other.variable and identity.handed_from is its.handed_from and not named_apart:
        return True
    return not one.shown.reads and not other.shown.reads and identity.is_same(its)


def _joined(first: Finding, second: Finding, equal: bool) -> Finding:
    """Keep the more telling of two reports, under the more telling name."""
    best, other = (second, first) if _worth(second) > _worth(first) else (first, second)
    if not _is_plain(other) and not _is_plain(best) and _letters(best.name) != _letters(other.name):
        best.aliases.append(f"{other.name!r} ({other.report.sink})")
    if (equal or _is_plain(best)) and "{" not in other.name:
        named = max((best, other), key=_telling)
        best.name, best.verdict = named.name, replace(best.verdict, meaning=named.verdict.meaning)
    best.aliases.extend(other.aliases)
    best.split = best.split or other.split
    best.confidence = max(first.confidence, second.confidence)
    best.aside = first.aside and second.aside
    best.alarm = first.alarm and second.alarm
    return best


def _worth(one: Finding) -> tuple[int, ...]:
    reads = f"{one.shown.reads} {one.expression}"
    return (
        not one.aside, not one.alarm, one.capture is not None, is_handed_over(one.capture), -one.switches,
        bool(enclosing_loops(one.report.place)), "avg" in reads or "mean" in reads,
        2 * (meaning_of(one.name) is not None) + one.is_share,
    )  # fmt: skip


def _telling(one: Finding) -> int:
    """How much a name says: nothing but the variable, something, or what kind of metric it is."""
    return 0 if _is_plain(one) else 1 + (meaning_of(one.name) is not None)


def _is_plain(one: Finding) -> bool:
    """Whether nothing but its variable names a value."""
    return one.name == plain_variable(one.variable)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
