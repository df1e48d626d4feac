"""The answer, before any table, and what to know before trusting it."""

from __future__ import annotations

from deviate.core.factors import plain_name
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.variant import VariantFacts
from deviate.report.page import Answer, Badge, Block, Fold, Remark, Section, Sentences
from deviate.report.topics.caveat import together
from deviate.report.topics.caveats import experiment_caveats
from deviate.report.topics.curves import Charts
from deviate.report.topics.factors import TITLE, sources_by_metric
from deviate.report.topics.headline import across_notes, alarms, headline, screen_headline
from deviate.report.topics.metrics import TRUST, brief_metrics, remark_blocks
from deviate.report.topics.result import made_text, model_sentences, result_figure, varied_text
from deviate.report.topics.runs import failures
from deviate.report.topics.sources import sources_blocks, sources_table
from deviate.report.topics.varied import gloss
from deviate.report.words import listed


def brief(facts: ExperimentFacts, charts: Charts) -> Section:
    """Answer each variant with its table; of several, with what varied by how much it makes runs differ."""
    if len(facts.variants) > 1 and facts.across:
        blocks = [
            *sources_blocks(facts, brief=True),
            *(sources_table(table, facts, whole=False) for table in facts.across[1:]),
            *([Sentences(sentences=notes, emphasis="quiet")] if (notes := across_notes(facts.across)) else []),
            *(block for variant in facts.variants for block in failures(variant, facts)),
        ]
        return Section(slug="answer", blocks=blocks)
    blocks = [block for variant in facts.variants for block in _brief(variant, facts)]
    return Section(slug="answer", blocks=blocks)


def _brief(variant: VariantFacts, facts: ExperimentFacts) -> list[Block]:
    about = plain_name(variant.variant) if len(facts.variants) > 1 else ""
    figure = result_figure(variant, facts)
    return [
        Answer(about=about, sentences=screen_headline(variant) if figure else headline(variant), figure=figure),
        *brief_metrics(variant, facts),
        *failures(variant, facts),
    ]


def full(facts: ExperimentFacts, charts: Charts) -> Section:
    """Rank what varies, where several variants were measured; answer each variant in a few sentences."""
    several = len(facts.variants) > 1
    blocks = sources_by_metric(facts, charts)
    if not blocks:
        answers: list[Block] = [_answer(variant, facts, several=several) for variant in facts.variants]
        why = [block for variant in facts.variants if not variant.completed for block in failures(variant, facts)]
        return Section(slug="answer", title="In short", blocks=[*answers, *why])
    if alarmed := alarms(facts.variants):
        blocks = [Answer(sentences=alarmed), *blocks]
    lost = [variant for variant in facts.variants if any(run.status != "completed" for run in variant.runs)]
    # The number of the page is that of the variant that all else is compared with.
    whole = _whole(facts)
    opened = [whole, *(variant for variant in lost if variant is not whole)] if lost else []
    blocks += [_answer(variant, facts, several=several) for variant in opened]
    rest: list[Block] = [
        _answer(variant, facts, several=several) for variant in facts.variants if variant not in opened
    ]
    blocks += [Fold(title="Each variant in words", blocks=rest, open=False)] if rest else []
    return Section(slug="answer", title=TITLE, blocks=blocks)


def _whole(facts: ExperimentFacts) -> VariantFacts:
    """Return the variant that shares are of, else the first."""
    names = [table.whole for table in facts.across if table.whole]
    return next((variant for variant in facts.variants if variant.variant in names), facts.variants[0])


def _answer(variant: VariantFacts, facts: ExperimentFacts, *, several: bool) -> Answer:
    figure, (said, _) = result_figure(variant, facts), model_sentences(variant, facts)
    return Answer(
        sentences=headline(variant) if figure is None else [*screen_headline(variant), *said, varied_text(variant)],
        about=f"{plain_name(variant.variant)}: {gloss(variant.variant)}" if several else "",
        basis=made_text(variant, facts),
        figure=figure,
        badge=_badge(variant),
    )


def _badge(variant: VariantFacts) -> Badge | None:
    """Say that there is nothing to measure, and why; None where there is a number."""
    if variant.completed and any(metric.n for metric in variant.metrics if metric.kind != "speed"):
        return None
    if variant.completed:
        return Badge(text="no finite value", emphasis="bad")
    return Badge(text="no run completed", emphasis="bad" if variant.runs else "quiet")


def brief_remarks(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List the caveats without a title."""
    blocks = remark_blocks(remarks_of(facts))
    return Section(slug="trust", blocks=blocks) if blocks else None


def remarks(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List the caveats."""
    blocks = remark_blocks(remarks_of(facts))
    return Section(slug="trust", title=TRUST, blocks=blocks) if blocks else None


def remarks_of(facts: ExperimentFacts) -> list[Remark]:
    """Return all caveats, each once with the variants that it is on."""
    several = len(facts.variants) > 1
    return [
        Remark(message=caveat.message, severity=caveat.severity, about=listed(variants) if several and variants else "")
        for caveat, variants in together(experiment_caveats(facts))
    ]
