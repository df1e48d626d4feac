"""The answer, before any table, and what to know before trusting it."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.facts.experiment import ExperimentFacts
from deviate.facts.variant import VariantFacts
from deviate.observe.headline import main_metric
from deviate.report.page import Answer, Badge, Block, Fold, KeyFigure, Remark, Section
from deviate.report.topics.caveat import Caveat, together
from deviate.report.topics.caveats import experiment_caveats, taken_from
from deviate.report.topics.curves import Charts
from deviate.report.topics.distribution import lanes
from deviate.report.topics.factors import TITLE, ranking, ranking_by_metric, spread_table
from deviate.report.topics.headline import alarms, figure_headline, headline, scale_text
from deviate.report.topics.metric_text import MetricText
from deviate.report.topics.metrics import TRUST, brief_metrics, remark_blocks
from deviate.report.topics.runs import failures
from deviate.report.topics.varied import gloss
from deviate.report.words import count, listed

#: Variants that are each shown with a table of their own on a brief page; of more, one table shows all.
IN_FULL = 2


def brief(facts: ExperimentFacts, charts: Charts) -> Section:
    """Answer each variant in a few sentences with its table; of many variants, in one table."""
    blocks = ranking(facts)
    if len(facts.variants) > IN_FULL and facts.across:
        blocks += [spread_table(facts), *(block for variant in facts.variants for block in failures(variant, facts))]
    else:
        for variant in facts.variants:
            blocks += [
                Answer(sentences=headline(variant)),
                *brief_metrics(variant, facts),
                *failures(variant, facts),
            ]
    return Section(slug="answer", blocks=blocks)


def full(facts: ExperimentFacts, charts: Charts) -> Section:
    """Rank what varies, where several variants were measured; answer each variant in a few sentences."""
    several = len(facts.variants) > 1
    blocks = ranking_by_metric(facts, charts)
    if not blocks:
        answers: list[Block] = [_answer(variant, several=several) for variant in facts.variants]
        why = [block for variant in facts.variants if not variant.completed for block in failures(variant, facts)]
        return Section(slug="answer", title="In short", blocks=[*answers, *why])
    if alarmed := alarms(facts.variants):
        blocks = [Answer(sentences=alarmed), *blocks]
    lost = [variant for variant in facts.variants if any(run.status != "completed" for run in variant.runs)]
    # The number of the page is that of the variant that all else is compared with.
    whole = _whole(facts)
    opened = [whole, *(variant for variant in lost if variant is not whole)] if lost else []
    blocks += [_answer(variant, several=several, figured=variant is whole) for variant in opened]
    rest: list[Block] = [_answer(variant, several=several) for variant in facts.variants if variant not in opened]
    blocks += [Fold(title="Each variant in words", blocks=rest, open=False)] if rest else []
    return Section(slug="answer", title=TITLE, blocks=blocks)


def _whole(facts: ExperimentFacts) -> VariantFacts:
    """Return the variant that shares are of, else the first."""
    names = [table.whole for table in facts.across if table.whole]
    return next((variant for variant in facts.variants if variant.variant in names), facts.variants[0])


def _answer(variant: VariantFacts, *, several: bool, figured: bool = True) -> Answer:
    figure = _key_figure(variant) if figured else None
    return Answer(
        sentences=headline(variant),
        beside=figure_headline(variant) if figure else [],
        about=f"{variant.variant}: {gloss(variant.variant)}" if several else "",
        basis=f"{variant.completed} of {count(variant.planned, 'run')} completed",
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


def _key_figure(variant: VariantFacts) -> KeyFigure | None:
    """Return mean and SD of the main metric with its runs, the value of one run; None where there is no value."""
    reported = [metric for metric in variant.metrics if metric.kind != "speed" and metric.n]
    if not reported or not variant.completed:
        return None
    metric = main_metric(reported)
    text, low, high = MetricText(metric), metric.spread.min, metric.spread.max
    if low is None or high is None:
        return None
    name = f"{metric.name} ({taken_from(metric, variant.trainings)})"
    if metric.n == 1:
        return KeyFigure(label=f"{name}, one run", text=f"{text.mean}{text.unit}")
    if metric.spread.identical:
        runs = "both" if metric.n == 2 else f"all {metric.n}"
        return KeyFigure(label=f"{name}, exactly equal in {runs} runs", text=f"{text.mean}{text.unit}")
    names = {run.index: run.called for run in variant.runs}
    # Halved before they are subtracted: the difference of two large floats may overflow.
    width = high / 2 - low / 2
    places = [(value / 2 - low / 2) / width if width else 0.5 for value in metric.values]
    return KeyFigure(
        label=f"{name}, mean ± SD, n = {metric.n}",
        text=f"{text.mean} ± {text.sd}{text.unit}",
        scale=scale_text(metric),
        low=text.min,
        high=text.max,
        runs=list(zip((names[run] for run in metric.runs), places, lanes(metric.values), strict=True)),
    )


def brief_remarks(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List the caveats without a title."""
    blocks = remark_blocks(remarks_of(facts))
    return Section(slug="trust", blocks=blocks) if blocks else None


def remarks(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List the caveats."""
    blocks = remark_blocks(remarks_of(facts))
    return Section(slug="trust", title=TRUST, blocks=blocks) if blocks else None


def remarks_of(facts: ExperimentFacts, caveats: Sequence[Caveat] | None = None) -> list[Remark]:
    """Return all caveats or those given, each once with the variants that it is on."""
    several = len(facts.variants) > 1
    return [
        Remark(message=caveat.message, severity=caveat.severity, about=listed(variants) if several and variants else "")
        for caveat, variants in together(experiment_caveats(facts) if caveats is None else caveats)
    ]
