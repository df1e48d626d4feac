"""The pages of an experiment: which sections each reader is shown, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from deviate.core.factors import plain_name
from deviate.core.shell_words import typed_word
from deviate.facts.curves import Curves
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.sources import SpreadAcross
from deviate.facts.variant import VariantFacts
from deviate.report.page import Block, Facts, Fold, Page, Reader, Section, Sentences, Table
from deviate.report.topics import (
    answer,
    checklist,
    factors,
    figures,
    metrics,
    predictions,
    remedies,
    reported,
    reproduce,
    runs,
    stability,
)
from deviate.report.topics.curves import Charts
from deviate.report.topics.headline import made_text, price_sentences, varied_text
from deviate.report.topics.sources import why_blocks
from deviate.report.topics.varied import gloss
from deviate.report.words import command_text, count

#: Returns nothing where there is nothing to show.
MakeSection = Callable[[ExperimentFacts, Charts], Section | None]

# What a full page folds: who reads it has the answer above.


def _varied(facts: ExperimentFacts, charts: Charts) -> Section:
    lines = [varied_text(facts.variants[0])] if len(facts.variants) == 1 else []
    lines += price_sentences(facts.prices)
    kinds = [(plain_name(each.variant), gloss(each.variant)) for each in facts.variants]
    said: list[Block] = [Facts(pairs=kinds)] if len(kinds) > 1 else []
    said += [Sentences(sentences=lines, listed=True)] if lines else []
    folded = _folded(facts, charts, answer.remarks, factors.held)
    return Section(slug="varied", title="What varied, and what was fixed", blocks=[*said, *folded])


def _paper(facts: ExperimentFacts, charts: Charts) -> Section:
    tables = metrics.paper(facts, charts)
    return checklist.for_paper(facts, [block for block in tables.blocks if isinstance(block, Table)] if tables else [])


def _made(facts: ExperimentFacts, charts: Charts) -> Section:
    """Fold the runs with their times, the seeds, and how to make the same again."""
    title = "Runs, times, seeds, and how to make the same again"
    said: list[Block] = [Sentences(sentences=[made_text(facts.variants[0], facts)])] if len(facts.variants) == 1 else []
    every = runs.full(facts, charts)
    blocks = _folded(facts, charts, reproduce.seeds, reproduce.full)
    return Section(slug="made", title=title, blocks=[*said, *(every.blocks if every else []), *blocks])


def _folded(facts: ExperimentFacts, charts: Charts, *made: MakeSection) -> list[Block]:
    sections = (make(facts, charts) for make in made)
    return [Fold(title=each.title, blocks=each.blocks, open=False) for each in sections if each is not None]


#: To add a section: its function in a module here, and a line for each reader that is shown it.
SECTIONS: dict[Reader, Sequence[MakeSection]] = {
    "screen": (
        answer.warnings,
        answer.screen,
        figures.curve_lines,
        answer.price,
    ),
    "brief": (
        answer.brief,
        figures.curve_lines,
        factors.statements,
        factors.price,
        stability.evaluations_brief,
        predictions.brief,
        partial(remedies.table, title=""),
        reported.brief,
        factors.fingerprints,
        answer.brief_remarks,
        reproduce.brief,
    ),
    "full": (
        partial(answer.warnings, hinted=False),
        answer.full,
        metrics.full,
        figures.each_run,
        stability.evaluations_full,
        predictions.full,
        remedies.table,
        predictions.representations,
        predictions.weights,
        reported.full,
        _varied,
        _paper,
        _made,
    ),
    "paper": (factors.sources_for_paper, metrics.paper, checklist.methods, checklist.reproducibility, figures.paper),
}


def why_page(facts: ExperimentFacts) -> Page:
    """Make the screen that says why the runs of an experiment with several variants differ."""
    facts = plain_facts(facts)
    charts = Charts(facts)
    made = (answer.warnings(facts, charts), Section(slug="why", blocks=why_blocks(facts)))
    return Page(title="", reader="screen", sections=[section for section in made if section is not None])


def experiment_page(facts: ExperimentFacts, reader: Reader, curves: Curves | None = None) -> Page:
    """Make the page of an experiment for a reader; without `curves` no learning curve is shown."""
    facts = plain_facts(facts)
    charts = Charts(facts, plain_curves(curves))
    sections = [section for make in SECTIONS[reader] if (section := make(facts, charts)) is not None]
    command = command_text(facts.command)
    completed = sum(variant.completed for variant in facts.variants)
    planned = sum(max(variant.planned, len(variant.runs)) for variant in facts.variants)
    said = [varied_text(variant) for variant in facts.variants] if len(facts.variants) == 1 else []
    varied = [text for text in said if text.startswith("Varied: ")]
    subtitle = (
        " · ".join([command, f"{completed} of {count(planned, 'run')}", *varied]) if reader == "full" else command
    )
    return Page(
        # Whoever looks at a screen has just typed the name.
        title="" if reader == "screen" else facts.experiment,
        subtitle=f"{command}; written {facts.generated}" if reader == "paper" else subtitle,
        reader=reader,
        command=f"deviate report {typed_word(facts.experiment)}",
        sections=sections,
        runs=runs.cards(facts) if reader == "full" else [],
    )


def variant_page(variant: VariantFacts, facts: ExperimentFacts, reader: Reader) -> Page:
    """Make the table of the metrics of one variant."""
    section = Section(slug="variant", blocks=metrics.brief_metrics(variant, facts))
    return Page(title=facts.experiment, subtitle=variant.variant, reader=reader, sections=[section])


# Facts in which what varied is called as people read it; `deviate.core.factors` takes both spellings.

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
        remedies=_named(facts.remedies),
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
