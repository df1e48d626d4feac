"""One screen on an experiment: the answer, its main metrics, warnings, and where the rest is."""

from __future__ import annotations

import msgspec

from deviate.core.shell_words import typed_word
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread
from deviate.facts.variant import VariantFacts
from deviate.report.page import HEAD_LINES, LINES, Answer, Block, Hint, Section, Sentences, lines_taken
from deviate.report.topics import reported
from deviate.report.topics.answer import remarks_of
from deviate.report.topics.caveat import WARNINGS_ON_SCREEN, Caveat, counted_caveats, split_caveats, together
from deviate.report.topics.caveats import experiment_caveats
from deviate.report.topics.curves import Charts
from deviate.report.topics.factors import ranking, spread_table
from deviate.report.topics.headline import (
    BY_CHANCE,
    NOT_ADDITIVE,
    NOT_ADDITIVE_SHORT,
    alarms,
    all_equal,
    known_prices,
    screen_headline,
    source_sentences,
)
from deviate.report.topics.metrics import asked_footnotes, is_zero_time, metric_table, remark_blocks
from deviate.report.topics.predictions import main_stability
from deviate.report.topics.runs import screen_failures
from deviate.report.topics.stability import screen_stability
from deviate.report.words import ENDED, count

#: Metrics of a variant in the table, and metrics whose spread is shown by variant.
METRICS_SHOWN = 4
ACROSS_SHOWN = 1

#: Rows of the table of variants, its heading among them, at most and at least: those that differ most.
MOST_ROWS, FEWEST_ROWS = 6, 3

#: Warnings beside such a table, and below an answer that names runs which lie far from the others.
WARNINGS_BESIDE = 1

#: Notes below the table of variants, as a screen has them; `-v` has the others.
SHORT_NOTES = {NOT_ADDITIVE: NOT_ADDITIVE_SHORT, BY_CHANCE: BY_CHANCE}

#: Caveats that `screen_failures` shows with what the runs printed last, and that which the answer begins with.
_SHOWN_ABOVE = frozenset((*(f"run-{status}" for status in ENDED), "control-differs"))


def answer(facts: ExperimentFacts, charts: Charts) -> Section:
    """Answer in two lines a variant with a short table; of many variants, in one table."""
    blocks = ranking(facts, brief=True)
    if len(facts.variants) > 1 and facts.across:
        table = spread_table(facts, ACROSS_SHOWN)
        rows, notes = _room(facts)
        blocks += [msgspec.structs.replace(table, rows=table.rows[:rows], more=None, notes=notes)]
        return Section(slug="answer", blocks=[*blocks, *screen_failures(facts.variants, facts)])
    for variant in facts.variants:
        shown = _table(variant, facts)
        # The table of a variant names it.
        about = variant.variant if len(facts.variants) > 1 and not shown else ""
        blocks += [Answer(about=about, sentences=screen_headline(variant)), *shown, *screen_failures([variant], facts)]
    return Section(slug="answer", blocks=blocks)


def _room(facts: ExperimentFacts) -> tuple[int, list[str]]:
    """Return how many rows of the table of variants there is room for, and the note below it if it fits, too."""
    table = spread_table(facts, ACROSS_SHOWN)
    note = [SHORT_NOTES[note] for note in table.notes if note in SHORT_NOTES][-1:]
    warned, rest = _split_caveats(facts)
    ranked = source_sentences(facts.across[0], facts.level, brief=True)
    texts = [" ".join([*alarms(facts.variants), *ranked])]
    texts += [f"! {caveat.message}" for caveat in warned] + known_prices(facts.prices)
    taken = HEAD_LINES + lines_taken(*texts)
    for rows in range(min(MOST_ROWS, len(table.rows)), FEWEST_ROWS, -1):
        hint = _hint(facts, len(table.rows) - rows, rest)
        other = LINES - taken - rows - lines_taken(f"{hint.text} {hint.command}")
        if other >= 0:
            return rows, note[:other]
    return FEWEST_ROWS, []


def _table(variant: VariantFacts, facts: ExperimentFacts) -> list[Block]:
    if not variant.completed or not variant.metrics or (len(facts.variants) > 1 and all_equal(variant)):
        return []
    notes = asked_footnotes(variant.metrics)
    below = [Sentences(sentences=notes, emphasis="quiet", listed=True)] if notes else []
    table = metric_table(msgspec.structs.replace(variant, metrics=_shown(variant, facts)), facts, _metrics_shown(facts))
    # The headline and the warnings say how many runs there are; what is left out is counted by `more`.
    return [msgspec.structs.replace(table, more=None, remark=""), *below]


def _shown(variant: VariantFacts, facts: ExperimentFacts) -> list[MetricSpread]:
    """Return the metrics in the table of a variant: the first ones, without times that were not measured."""
    measured = [metric for metric in variant.metrics if not is_zero_time(metric)]
    return measured[: _metrics_shown(facts)]


def _metrics_shown(facts: ExperimentFacts) -> int:
    """Return how many metrics there is room for, beside warnings and several variants."""
    several = len(facts.variants) > 1
    below = screen_failures(facts.variants, facts) and main_stability(facts, facts.variants[0].variant)
    crowded = len(_split_caveats(facts)[0]) > 1 or bool(below)
    return METRICS_SHOWN - crowded - several - (_names_far_runs(facts) and not several)


def _names_far_runs(facts: ExperimentFacts) -> bool:
    return any(metric.far for variant in facts.variants for metric in variant.metrics)


def price(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say what holding the implementation costs, where that is known."""
    sentences = known_prices(facts.prices)
    return Section(slug="price", blocks=[Sentences(sentences=sentences, listed=True)]) if sentences else None


def predictions(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say of a single variant how many predictions change."""
    # Of several, the first alone would be taken for all of them.
    first = main_stability(facts, facts.variants[0].variant) if len(facts.variants) == 1 else None
    if first is None:
        return None
    return Section(slug="predictions", blocks=[Sentences(sentences=screen_stability(first))])


def unmeasured(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say how much of what was reported is measured, where that is not all of it or more than the source shows.

    Times that the output alone shows, such as those of a progress bar, are no reason to say so.
    """
    kinds = {metric.name: metric.kind for variant in facts.variants for metric in variant.metrics}
    telling = any(
        each.left or each.lines_left_out or any(kinds.get(name) != "speed" for name in each.observed)
        for each in facts.reported[:1]
    )
    return reported.brief(facts, charts) if telling else None


def warnings(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List what casts doubt on the numbers; `more` counts the rest."""
    shown, _ = _split_caveats(facts)
    blocks = remark_blocks(remarks_of(facts, shown))
    return Section(slug="trust", blocks=blocks) if blocks else None


def _split_caveats(facts: ExperimentFacts) -> tuple[list[Caveat], list[Caveat]]:
    """Return the first warnings beside those on the runs whose failures stand below the table, and all else."""
    caveats = [caveat for caveat in experiment_caveats(facts) if caveat.slug not in _SHOWN_ABOVE]
    is_long = len(facts.variants) > 1 or _names_far_runs(facts)
    return split_caveats(caveats, WARNINGS_BESIDE if is_long else WARNINGS_ON_SCREEN)


def more(facts: ExperimentFacts, charts: Charts) -> Section:
    """Say where the rest is."""
    hidden = 0
    if len(facts.variants) > 1 and facts.across:
        hidden = len(spread_table(facts, ACROSS_SHOWN).rows) - _room(facts)[0]
    return Section(slug="more", blocks=[_hint(facts, hidden, _split_caveats(facts)[1])])


def _hint(facts: ExperimentFacts, hidden: int, caveats: list[Caveat]) -> Hint:
    """Count what is left out, with so many hidden variants and these caveats."""
    if len(facts.variants) > 1 and facts.across:
        left = len(facts.across) - ACROSS_SHOWN
    else:
        left = max((len(variant.metrics) - len(_shown(variant, facts)) for variant in facts.variants), default=0)
    counted = [f"{count(hidden, 'more variant')}"] if hidden > 0 else []
    counted += [f"{count(left, 'more metric')}"] if left > 0 else []
    counted += counted_caveats(caveat for caveat, _ in together(caveats))
    text = f"{', '.join(counted or ['how to reproduce'])}:"
    return Hint(text=text, command=f"deviate report {typed_word(facts.experiment)} -v")
