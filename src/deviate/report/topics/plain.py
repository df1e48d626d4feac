"""Facts in which what varied is called as people read it; `deviate.core.factors` takes both spellings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from deviate.core.factors import plain_name
from deviate.facts.curves import Curves
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.sources import SpreadAcross

replace = msgspec.structs.replace

Fact = TypeVar("Fact", bound=msgspec.Struct)


def plain_facts(facts: ExperimentFacts) -> ExperimentFacts:
    """Return facts with the plain names of variants; runs keep the names that are typed for them."""
    decided = facts.definition.decided
    known = decided and replace(decided, variant=plain_name(decided.variant))
    return replace(
        facts,
        definition=replace(facts.definition, decided=known),
        variants=_named(facts.variants),
        across=list(map(_across, facts.across)),
        timeline=replace(facts.timeline, slices=_named(facts.timeline.slices)),
        stabilities=_named(facts.stabilities),
        weights=_named(facts.weights),
        representations=_named(facts.representations),
        reported=_named(facts.reported),
        evaluations=[replace(each, within=_named(each.within)) for each in facts.evaluations],
        prices=[replace(each, held=plain_name(each.held), free=plain_name(each.free)) for each in facts.prices],
    )


def plain_curves(curves: Curves | None) -> Curves | None:
    """Return curves with the plain names of variants."""
    if curves is None:
        return None
    return replace(curves, metrics=[replace(each, variants=_named(each.variants)) for each in curves.metrics])


def _named(facts: Iterable[Fact]) -> list[Fact]:
    return [replace(each, variant=plain_name(each.variant)) for each in facts]  # type: ignore[attr-defined]


def _across(table: SpreadAcross) -> SpreadAcross:
    leading = table.leading and replace(
        table.leading, source=plain_name(table.leading.source), next_source=plain_name(table.leading.next_source)
    )
    whole, broken = (plain_name(each) if each else "" for each in (table.whole, table.broken))
    return replace(table, rows=_named(table.rows), leading=leading, whole=whole, broken=broken)
