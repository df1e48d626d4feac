"""The answer, before any table, and what to know before trusting it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from deviate.core.factors import plain_name
from deviate.core.shell_words import typed_word
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread, reported_of
from deviate.facts.variant import VariantFacts, diverged_runs
from deviate.report.numbers import show_level
from deviate.report.page import (
    Answer,
    Badge,
    Block,
    ByMetric,
    Cell,
    Column,
    Panel,
    Remark,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.caveat import more_warnings, together, warning_lines
from deviate.report.topics.caveats import experiment_caveats
from deviate.report.topics.curves import Charts, curve_notes
from deviate.report.topics.distribution import MetricText
from deviate.report.topics.factors import sources_by_metric
from deviate.report.topics.figures import curves_by_metric, drawings
from deviate.report.topics.headline import (
    across_notes,
    alarms,
    headline,
    known_prices,
    made_text,
    main_of,
    model_sentences,
    result_figure,
    screen_headline,
    varied_text,
)
from deviate.report.topics.metrics import (
    TRUST,
    asked_footnotes,
    brief_metrics,
    distinct,
    number,
    on_screen,
    remark_blocks,
    telling,
)
from deviate.report.topics.runs import failures, screen_failures
from deviate.report.topics.sources import sources_blocks, sources_table
from deviate.report.topics.varied import gloss
from deviate.report.words import ENDED, count, listed


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
    reported = reported_of(variant.metrics)
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
    if variant.completed and reported_of(variant.metrics):
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


# One screen: what failed, the answer, its table, how it was made, and what to type next.

#: Metrics in the table below the main one.
METRICS_SHOWN = 4

#: Caveats that `screen_failures` shows, and that which the answer begins with.
_SHOWN_ABOVE = frozenset((*(f"run-{status}" for status in ENDED), "control-differs"))

#: What the answer on a variant says before its number.
_SAID_OF_ONE = frozenset({"values-far", "data-differ", "input-differs", "state-kept"})


def warnings(facts: ExperimentFacts, charts: Charts, *, hinted: bool = True) -> Section | None:
    """Say before any number which runs failed and what casts doubt on the numbers, on a screen where more of it is."""
    several = len(facts.variants) > 1
    above = _SHOWN_ABOVE if several and facts.across else _SHOWN_ABOVE | _SAID_OF_ONE
    if any(diverged_runs(each.metrics) for each in facts.variants) and not (several and facts.across):
        above |= {"value-excluded"}
    caveats = [
        replace(each, variant=plain_name(each.variant) if each.variant and several else None)
        for each in experiment_caveats(facts)
        if each.slug not in above
    ]
    more = more_warnings(caveats, f"deviate report {typed_word(facts.experiment)}") if hinted else []
    blocks = [*screen_failures(facts.variants, facts), *warning_lines(caveats), *more]
    return Section(slug="trust", blocks=blocks) if blocks else None


def screen(facts: ExperimentFacts, charts: Charts) -> Section:
    """Answer with the main metric of a variant, or with what varied by how much it makes runs differ."""
    if len(facts.variants) > 1 and facts.across:
        return Section(slug="answer", blocks=sources_blocks(facts))
    return Section(slug="answer", blocks=[block for each in facts.variants for block in _variant(each, facts)])


def _variant(variant: VariantFacts, facts: ExperimentFacts) -> Iterator[Block]:
    about = plain_name(variant.variant) if len(facts.variants) > 1 else ""
    sentences, figure = screen_headline(variant), result_figure(variant, facts)
    if sentences or figure is None:
        yield Answer(about=about, sentences=sentences)
    if figure is not None:
        yield Answer(sentences=[], figure=figure)
    said, shortly = model_sentences(variant, facts)
    if said:
        yield Sentences(sentences=said, brief=shortly, listed=True)
    if table := others_table(variant, facts):
        yield table
    if notes := asked_footnotes(variant.metrics):
        yield Sentences(sentences=notes, emphasis="quiet", listed=True)
    yield Sentences(sentences=[f"{made_text(variant, facts)} {varied_text(variant)}"], close=bool(table))


def others_table(variant: VariantFacts, facts: ExperimentFacts) -> Table | None:
    """Return the metrics beside the main one, times apart; None where there is none."""
    main = main_of(variant)
    reported = reported_of(variant.metrics)
    others = distinct(sorted(reported, key=lambda metric: metric is not main), lambda metric: (metric,))[1:]
    if not others:
        return None
    shown = on_screen(others, METRICS_SHOWN, lambda metric: metric.name)
    level, left = show_level(facts.level), len(others) - len(shown)
    more = [f"{count(left, 'more metric')}: -v"] if left > 0 else []
    alone = all(metric.n == 1 for metric in others)
    table = Table(
        caption="",
        columns=[
            Column(head="", numeric=False, fold_at=40),
            Column(head="value" if alone else "mean ± SD", leading=True),
            Column(head=f"mean, {level} CI", leading=True, sacrifice=3),
            Column(head=f"SD, {level} CI", leading=True, sacrifice=2),
            Column(head="range", leading=True, sacrifice=1),
        ],
        rows=[_row(metric) for metric in shown],
        notes=more,
    )
    return telling([table])[0]


def _row(metric: MetricSpread) -> Row:
    text, spread = MetricText(metric), metric.spread
    alone = metric.n == 1
    return Row(
        cells=[
            Cell(text.name),
            number(text.mean if alone else f"{text.mean} ± {text.sd}", spread.mean),
            number("" if alone else text.ci_mean, metric.ci_mean.low),
            number("" if alone else text.ci_sd, metric.ci_sd.low),
            number("" if alone or spread.identical else f"{text.min} to {text.max}", spread.range),
        ]
    )


def price(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say what holding the implementation costs, where that is known."""
    sentences = known_prices(facts.prices)
    return Section(slug="price", blocks=[Sentences(sentences=sentences, listed=True)]) if sentences else None
