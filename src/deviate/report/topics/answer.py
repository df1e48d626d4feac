"""The answer, before any table, and what to know before trusting it."""

from __future__ import annotations

from msgspec.structs import replace

from deviate.core.factors import plain_name
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.variant import VariantFacts
from deviate.report.page import Answer, Badge, Block, ByMetric, Panel, Remark, Section, Sentences
from deviate.report.topics.caveat import together
from deviate.report.topics.caveats import experiment_caveats
from deviate.report.topics.curves import Charts, curve_notes
from deviate.report.topics.factors import sources_by_metric
from deviate.report.topics.figures import curves_by_metric, drawings
from deviate.report.topics.headline import across_notes, alarms, headline, screen_headline
from deviate.report.topics.metric_text import MetricText
from deviate.report.topics.metrics import TRUST, brief_metrics, remark_blocks
from deviate.report.topics.result import main_of, model_sentences, result_figure
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
    """Rank what varies, where several variants were measured; else show the main metric with its runs."""
    blocks = sources_by_metric(facts, charts)
    if not blocks:
        blocks = [block for variant in facts.variants for block in _result(variant, facts, charts)]
    elif alarmed := alarms(facts.variants):
        blocks = [Answer(sentences=alarmed), *blocks]
    return Section(slug="answer", blocks=blocks)


def _result(variant: VariantFacts, facts: ExperimentFacts, charts: Charts) -> list[Block]:
    """Show one variant, the main metric first: its number beside its runs, and the learning curves."""
    main, answer = variant.sound or main_of(variant), _answer(variant, facts)
    if answer.figure is None or main is None or len(facts.variants) > 1:
        return [answer, *(failures(variant, facts) if not variant.completed else [])]
    dots, curves = drawings(charts, "distribution"), curves_by_metric(facts, charts)
    reported = [metric for metric in variant.metrics if metric.kind != "speed" and metric.n]
    panels = []
    for metric in reported:
        is_main = metric.name == main.name
        shown = answer if is_main else Answer(sentences=[], figure=result_figure(variant, facts, metric))
        drawn = dots[metric.name][0].figure if metric.n > 1 else None
        panels.append(
            Panel(
                metric=metric.name,
                text=MetricText(metric).summary,
                blocks=[replace(shown, chart=drawn), *curves.get(metric.name, [])],
            )
        )
    notes = curve_notes(charts.curves) if charts.curves else []
    small: list[Block] = [Sentences(sentences=notes, emphasis="quiet")] if notes else []
    return [ByMetric(panels=panels, first=main.name, in_table=True), *small]


def _answer(variant: VariantFacts, facts: ExperimentFacts) -> Answer:
    figure, (said, _) = result_figure(variant, facts), model_sentences(variant, facts)
    several = len(facts.variants) > 1
    return Answer(
        sentences=headline(variant) if figure is None else [*screen_headline(variant), *said],
        about=f"{plain_name(variant.variant)}: {gloss(variant.variant)}" if several else "",
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
