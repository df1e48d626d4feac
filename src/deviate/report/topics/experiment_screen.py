"""One screen on an experiment: what failed, the answer, its table, how it was made, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from deviate.core.factors import plain_name
from deviate.core.shell_words import typed_word
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread
from deviate.facts.variant import VariantFacts, diverged_runs
from deviate.report.numbers import show_level
from deviate.report.page import Answer, Block, Cell, Column, Row, Section, Sentences, Table
from deviate.report.topics.caveat import more_warnings, warning_lines
from deviate.report.topics.caveats import experiment_caveats
from deviate.report.topics.curves import Charts
from deviate.report.topics.headline import known_prices, screen_headline
from deviate.report.topics.metric_text import MetricText
from deviate.report.topics.metrics import asked_footnotes, distinct, number, on_screen, telling
from deviate.report.topics.result import made_text, main_of, model_sentences, result_figure, varied_text
from deviate.report.topics.runs import screen_failures
from deviate.report.topics.sources import sources_blocks
from deviate.report.words import ENDED, count

#: Metrics in the table below the main one.
METRICS_SHOWN = 6

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
        structs.replace(each, variant=plain_name(each.variant) if each.variant and several else None)
        for each in experiment_caveats(facts)
        if each.slug not in above
    ]
    more = more_warnings(caveats, f"deviate report {typed_word(facts.experiment)}") if hinted else []
    blocks = [*screen_failures(facts.variants, facts), *warning_lines(caveats), *more]
    return Section(slug="trust", blocks=blocks) if blocks else None


def answer(facts: ExperimentFacts, charts: Charts) -> Section:
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
    yield Sentences(sentences=[f"{made_text(variant, facts)} {varied_text(variant)}"])


def others_table(variant: VariantFacts, facts: ExperimentFacts) -> Table | None:
    """Return the metrics beside the main one, times apart; None where there is none."""
    main = main_of(variant)
    reported = [metric for metric in variant.metrics if metric.kind != "speed" and metric.n]
    others = distinct(sorted(reported, key=lambda metric: metric is not main), lambda metric: (metric,))[1:]
    if not others:
        return None
    shown = on_screen(others, METRICS_SHOWN, lambda metric: metric.name)
    level, left = show_level(facts.level), len(others) - len(shown)
    more = [f"{count(left, 'more metric')}: deviate report {typed_word(facts.experiment)} -v"] if left > 0 else []
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
