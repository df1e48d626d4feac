"""A comparison at a terminal: one screen, and what it rests on.

The tests and effects of one metric of a pair by their names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from deviate.facts.compared_metric import MetricComparison, round_below
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.metric import MetricSpread
from deviate.observe.headline import main_metric
from deviate.report.numbers import (
    UNKNOWN,
    Numbers,
    metric_place,
    show,
    show_factor,
    show_interval,
    show_level,
    show_percent,
    show_ratio,
)
from deviate.report.page import Answer, Block, Cell, Column, Hint, Row, Section, Sentences, Table
from deviate.report.strips import strip
from deviate.report.topics.caveat import WARNINGS_ON_SCREEN, more_warnings, warning_lines
from deviate.report.topics.comparison_answer import (
    claimed_sentences,
    comparison_headline,
    explored_sentences,
    main_sides,
    next_hints,
    no_claim,
    pair_sentence,
    several_headline,
    side_text,
)
from deviate.report.topics.comparison_caveats import comparison_caveats
from deviate.report.topics.comparison_predictions import screen_changed
from deviate.report.topics.metrics import caveat_blocks, distinct, number, on_screen, telling
from deviate.report.topics.reasons import further_reasons, short_reasons, superiority_sentence
from deviate.report.topics.verdicts import MetricCells, adjusted_text, places, row_word, turned_effects
from deviate.report.words import count, joined
from deviate.stats.contrast import EFFECTS, TESTS, Contrast
from deviate.stats.intervals import Interval
from deviate.stats.results import Effect, Tested


class _Shown(NamedTuple):
    """A test in its row: the letter of its statistic, and the effect that stands beside it."""

    test: str
    letter: str = ""
    effect: str = ""


_PAIRED = (
    _Shown("paired_t", "t", "cohen_dz"),
    _Shown("student_t", "t", "cohen_d"),
    _Shown("welch_t", "t"),
    _Shown("mann_whitney_u", "U", "p_superiority"),
    _Shown("wilcoxon", "W", "cliff_delta"),
    _Shown("paired_permutation"),
    _Shown("paired_brown_forsythe", "t", "sd_ratio"),
    _Shown("levene", "F"),
)

_INDEPENDENT = (
    _Shown("welch_permutation", "t"),
    _Shown("welch_t", "t", "cohen_d"),
    _Shown("student_t", "t"),
    _Shown("mann_whitney_u", "U", "p_superiority"),
    _Shown("permutation", "", "cliff_delta"),
    _Shown("brown_forsythe_permutation", "F"),
    _Shown("brown_forsythe", "F", "sd_ratio"),
    _Shown("levene", "F"),
)

_OF_SPREAD = frozenset({"paired_brown_forsythe", "brown_forsythe_permutation", "brown_forsythe", "levene"})

#: Those whose p is the larger one of a test and of a permutation of the runs.
_PERMUTED = frozenset({"welch_permutation", "brown_forsythe_permutation"})

_CHANCE = "p_superiority"

#: Effects with a shorter name than in a document.
SHORT = {"cohen_dz": "dz", "cliff_delta": "Cliff's δ"}


def test_tables(metric: MetricComparison, pair: PairComparison, *, every: bool) -> list[Block]:
    """Return the table of tests of one metric, those that have a name or all; nothing where none could be made."""
    if metric.contrast.p is None:
        return []
    rows = [*_rows(metric, pair, every=every), *(_further(metric, pair) if every else [])]
    level = Numbers(pair.alpha).level()
    return [
        Table(
            caption=f"{pair.a} → {pair.b}, {metric.name}",
            titled=True,
            continued=True,
            columns=[
                Column(head="test", numeric=False, fold_at=36),
                Column(head="statistic", numeric=False, sacrifice=1),
                Column(head="p"),
                Column(head="effect", numeric=False, sacrifice=2),
                Column(head="", sacrifice=2),
                Column(head=f"[{level} CI]", sacrifice=3, emphasis="quiet"),
            ],
            rows=rows,
            sentences=_pairs(metric, pair),
        )
    ]


def _rows(metric: MetricComparison, pair: PairComparison, *, every: bool) -> Iterator[Row]:
    contrast, numbers = metric.contrast, Numbers(pair.alpha)
    decides = contrast.location.test, contrast.spread.test
    rows: dict[str, list[Cell]] = {}
    for test, letter, effect in _PAIRED if contrast.paired else _INDEPENDENT:
        # What is permuted, too, is there where it decides.
        if test in _PERMUTED and not every and test not in decides:
            continue
        tested = contrast.tests[test]
        label = f"{'SD: ' if test in _OF_SPREAD else ''}{TESTS[test].label}{' (decides)' if test in decides else ''}"
        p = number(numbers.p(tested.p), tested.p)
        rows[test] = [Cell(label), Cell(_statistic(metric, test, letter)), p, *_effect(metric, effect)]
    student, welch = rows["student_t"], rows["welch_t"]
    if "welch_t" not in decides and [cell.text for cell in student[1:3]] == [cell.text for cell in welch[1:3]]:
        # The two say the same.
        rows["student_t"] = [Cell("Student's and Welch's t test"), *student[1:3], *_effect(metric, "cohen_d")]
        del rows["welch_t"]
    return (Row(cells=cells) for cells in rows.values())


def _further(metric: MetricComparison, pair: PairComparison) -> Iterator[Row]:
    """Yield the tests that the others make sure of, and the effects that no test stands beside."""
    contrast, numbers = metric.contrast, Numbers(pair.alpha)
    named = {name for each in (_PAIRED if contrast.paired else _INDEPENDENT) for name in each}
    for test, tested in contrast.tests.items():
        if test in named:
            continue
        cells = [Cell(TESTS[test].label), Cell(_statistic(metric, test, "")), number(numbers.p(tested.p), tested.p)]
        yield Row(cells=[*cells, *_effect(metric, "")])
    for effect in (each for each in contrast.effects if each not in named):
        yield Row(cells=[Cell(""), Cell(""), Cell(""), *_effect(metric, effect)])
    for name, order in (("ASO, A over B", contrast.a_over_b), ("ASO, B over A", contrast.b_over_a)):
        epsilon = number(show_factor(order.epsilon), order.epsilon)
        yield Row(cells=[Cell(""), Cell(""), Cell(""), Cell(name), epsilon, Cell("")])


def _statistic(metric: MetricComparison, test: str, letter: str) -> str:
    value = turned_statistic(metric.contrast, test).statistic
    if value is None or not letter:
        return UNKNOWN
    return f"{letter} {value:g}" if letter in ("U", "W") else f"{letter} {show(value, -2)}"


#: Tests whose statistic has the sign of the difference.
_SIGNED = frozenset(
    {"student_t", "welch_t", "brunner_munzel", "permutation", "paired_t", "paired_permutation",
     "paired_brown_forsythe", "welch_permutation"}
)  # fmt: skip


def turned_statistic(contrast: Contrast, test: str) -> Tested:
    """Return a test with the statistic of the second side against the first."""
    tested = contrast.tests[test]
    if tested.statistic is None:
        return tested
    if test == "mann_whitney_u":
        return msgspec.structs.replace(tested, statistic=contrast.n_a * contrast.n_b - tested.statistic)
    return msgspec.structs.replace(tested, statistic=-tested.statistic) if test in _SIGNED else tested


def _effect(metric: MetricComparison, name: str) -> list[Cell]:
    """Return an effect of the second side against the first: its name, its size and its interval."""
    if not name:
        return [Cell(""), Cell(""), Cell("")]
    if name == "sd_ratio":
        effect = metric.contrast.sd_ratio.inverted
        return [Cell("SD B/A"), number(show_factor(effect.value), effect.value), Cell(show_ratio(effect.interval))]
    effect = turned_effects(metric.contrast)[name]
    if name == _CHANCE:
        return [Cell(EFFECTS[name].label), *_chance(effect)]
    return [
        Cell(SHORT.get(name, EFFECTS[name].label)),
        number(show_factor(effect.value), effect.value),
        Cell(show_ratio(effect.interval)),
    ]


def _chance(effect: Effect) -> list[Cell]:
    low, high = effect.interval.low, effect.interval.high
    ends = f"[{100 * low:.0f}, {100 * high:.0f}]" if low is not None and high is not None else UNKNOWN
    return [number(show_percent(effect.value), effect.value), Cell(ends)]


def _pairs(metric: MetricComparison, pair: PairComparison) -> list[str]:
    if not metric.contrast.paired:
        return []
    why = "same seeds on both sides" if pair.pairing.reason == "proven" else "as asked"
    r, interval = metric.contrast.correlation, metric.contrast.correlation_interval
    together = "" if r is None else f"; correlation {show(r, -2)} {show_interval(interval, -2)}"
    return [f"Pairs: {why}{together}."]


# What a table shows of one metric of a comparison.

#: Cells on the means of a metric.
TESTED = ("a", "b", "difference", "ci", "p")


def pair_names(comparison: Comparison, pair: PairComparison) -> str:
    """Return what tells a pair from others; empty where there is one only."""
    return f"{pair.a} against {pair.b}, " if len(comparison.pairs) > 1 else ""


def places_text(lowest: int, highest: int) -> str:
    """Write the places that a side may have."""
    return f"{lowest}" if lowest == highest else f"{lowest}–{highest}"


def _cells(metric: MetricComparison, pair: PairComparison) -> dict[str, Cell]:
    contrast, text = metric.contrast, MetricCells(metric, pair)
    difference, ratio = contrast.difference.negated, contrast.sd_ratio.inverted
    aggregate = f" ({text.aggregate})" if text.aggregate else ""
    return {
        "metric": Cell(text.name + text.unit),
        "metric (aggregate)": Cell(text.name + text.unit + aggregate),
        "n": number(text.runs, contrast.n_a),
        "a": Cell(text.a, metric.a.spread.mean, brief=text.mean_a),
        "b": Cell(text.b, metric.b.spread.mean, brief=text.mean_b),
        "difference": number(text.difference, difference.value),
        "ci": number(text.ci, _low(difference.interval)),
        "change": number(
            f"{text.difference} {text.ci}" if difference.interval.known else text.difference, difference.value
        ),
        "p": number(text.p, metric.p_adjusted),
        "ratio": number(text.ratio, ratio.value),
        "ratio_ci": number(text.ratio_ci, _low(ratio.interval)),
        "spread_p": number(text.spread_p, metric.spread_p_adjusted),
        "word": Cell(row_word(metric, pair)),
        "noisier": Cell(text.noisier),
        "better": Cell(_better(metric, pair)),
        **{
            f"level {place}": number(show_interval(each.negated, text.place), _low(each.negated))
            for place, each in enumerate(metric.ci_levels)
        },
    }


def _low(interval: Interval) -> float | None:
    return interval.low if interval.known else None


def _better(metric: MetricComparison, pair: PairComparison) -> str:
    """Name the better side in as few words as a column of a paper has room for."""
    short = {"a better": pair.a, "b better": pair.b, "no difference shown": "–"}
    return short.get(metric.verdict, metric.verdict)


def metric_rows(metrics: Iterable[MetricComparison], pair: PairComparison, *names: str) -> list[Row]:
    """Return a row per metric with the cells that are `shown`."""
    cells = (_cells(metric, pair) for metric in metrics)
    return [Row(cells=[each[name] for name in names]) for each in cells]


# One pair: a row for each metric, those that were claimed first.

#: Names longer than this are folded on narrow screens.
NAME_WIDTH = 20

#: Metrics beside what is claimed that a screen shows; it counts the others.
EXPLORED_ON_SCREEN = 3


def pair_table(pair: PairComparison, comparison: Comparison, most: int | None = EXPLORED_ON_SCREEN) -> Table:
    """Return the metrics of a pair: what is claimed, and below it `most` of the others."""
    claimed = [metric for metric in pair.metrics if metric.name in comparison.claimed]
    others = [metric for metric in pair.metrics if metric.name not in comparison.claimed and metric.kind != "speed"]
    if most is not None:
        # What a program reports again under another name says nothing more.
        others = distinct([*claimed, *others], lambda metric: (metric.a, metric.b))[len(claimed) :]
    chosen = others if most is None else on_screen(others, most, lambda metric: metric.name)
    # Where all is of the same metric, p stands in the answer.
    tested = ["p"] if others or len(claimed) > 1 else []
    levels = [f"level {place}" for place in range(len(pair.metrics[0].ci_levels))]
    shown = ("metric", "a", "b", *(("difference", *levels) if levels else ("change",)), *tested, "word")
    rows = metric_rows([*claimed, *chosen], pair, *shown)
    names = joined([metric.name for metric in claimed])
    left = len(others) - len(chosen)
    unclaimed = [f"Not claimed beforehand: all but {names}."] if claimed and others else []
    more = [f"{count(left, 'more metric')}: -v"] if left else []
    return Table(
        caption=f"{pair.a} and {pair.b}",
        titled=len(comparison.pairs) > 1,
        # Who asks for more gets no column less.
        continued=most is None,
        columns=_columns(pair, comparison, levels=bool(levels), tested=bool(tested)),
        rows=rows,
        notes=[*unclaimed, *more],
    )


def _columns(pair: PairComparison, comparison: Comparison, *, levels: bool, tested: bool) -> list[Column]:
    level, ci_levels = Numbers(pair.alpha).level(), pair.metrics[0].ci_levels
    between = "\n" if tested and max(len(pair.a), len(pair.b)) > SHORT_NAME else " "
    difference = (
        [Column(head="B − A"), *(Column(head=f"{show_level(each.level)} CI", sacrifice=1) for each in ci_levels)]
        if levels
        else [Column(head=f"B − A [{level} CI]")]
    )
    p = "p (Holm)" if comparison.correction == "holm" and adjusted_text(comparison) else "p"
    return [
        Column(head="", numeric=False, fold_at=NAME_WIDTH),
        # Means alone, which narrow screens show, are shorter than most names: the letter stands above them.
        Column(head=f"A{between}{pair.a}", sacrifice=2),
        Column(head=f"B{between}{pair.b}", sacrifice=2),
        *difference,
        *([Column(head=p, sacrifice=4)] if tested else []),
        Column(head="", numeric=False, sacrifice=3, emphasis="strong"),
    ]


#: Cells of the line on which the runs of each side are drawn, and steps of its ends.
LINE, STEPS = 48, 8


def runs_drawn(metric: MetricComparison, pair: PairComparison) -> Table | None:
    """Draw the runs of both sides on one line of values; None where there is nothing to draw."""
    values = [*metric.a.values, *metric.b.values]
    step = round_below((max(values) - min(values)) / STEPS) if values else None
    if step is None:
        return None
    low, high = math.floor(min(values) / step) * step, math.ceil(max(values) / step) * step
    ends = f"{low:.10g}", f"{high:.10g}"
    lines = [(label, strip(side.values, LINE, (low, high))) for label, side in ((pair.a, metric.a), (pair.b, metric.b))]
    axis = f"{ends[0]}{ends[1]:>{LINE - len(ends[0])}}".replace("-", "−")
    return Table(
        caption=f"{metric.name}, each dot one run",
        columns=[Column(head="", numeric=False), Column(head="", numeric=False, drawn=True, sacrifice=1)],
        rows=[Row(cells=[Cell(label), Cell(line)]) for label, line in (*lines, ("", axis))],
    )


# Three or more: a row each, beside the first that was named.

#: Names that are longer take several lines.
NAMES_FOLD_AT = 48

#: Rows of a screen; it counts the others. Names that the head of a column has room for.
MOST_ROWS, SHORT_NAME = 12, 14


def sides_table(comparison: Comparison, most: int | None = None) -> Table:
    """Return one row a side on the main metric: its mean, its difference from the first, and its place."""
    sides = main_sides(comparison)
    first = next(iter(sides))
    beside = {pair.b: pair for pair in comparison.pairs if pair.a == first}
    level = Numbers(comparison.alpha).level()
    p = "p (Holm)" if comparison.correction == "holm" and adjusted_text(comparison) else "p"
    rows = [Row(cells=_side_cells(label, sides, beside.get(label), comparison)) for label in sides]
    left = len(rows) - len(rows[:most])
    hint = Hint(text=f"{count(left, 'more experiment')}:", command=f"{comparison.command} -v")
    return Table(
        caption="",
        columns=[
            Column(head="", numeric=False, fold_at=NAMES_FOLD_AT),
            Column(head="n", sacrifice=5, emphasis="quiet"),
            Column(head="mean ± SD", sacrifice=1),
            Column(head=f"less {first if len(first) <= SHORT_NAME else 'first'}\n[{level} CI]"),
            Column(head=p, sacrifice=4),
            Column(head="place", sacrifice=3),
            Column(head="", numeric=False, emphasis="strong", sacrifice=2),
        ],
        rows=rows[:most],
        more=hint if left else None,
    )


def _side_cells(
    label: str, sides: dict[str, MetricSpread], pair: PairComparison | None, comparison: Comparison
) -> list[Cell]:
    side, place = sides[label], places(comparison).get(label)
    runs = number(str(side.n), side.n) if len({each.n for each in sides.values()}) > 1 else Cell("")
    placed = Cell(places_text(place.lowest, place.highest) if place else "")
    own = [Cell(label), runs, number(side_text(side, sides), side.spread.mean)]
    if pair is None:
        return [*own, Cell(""), Cell(""), placed, Cell("")]
    metric = main_metric(pair.metrics)
    digit = metric_place(side.decimals, *(each.spread.sd for each in sides.values()))
    effect = metric.contrast.difference.negated
    ends = f" {show_interval(effect.interval, digit)}" if effect.interval.known else ""
    return [
        *own,
        number(f"{show(effect.value, digit)}{ends}", effect.value),
        number(Numbers(pair.alpha).p(metric.p_adjusted), metric.p_adjusted),
        placed,
        Cell(row_word(metric, pair)),
    ]


# The sections of a screen.

#: Warnings on a screen of three or more sides, which has a row for each; it counts the others.
WARNINGS_OF_SEVERAL = 1


def screen_answer(comparison: Comparison) -> Section:
    """Say how the sides compare, without a title."""
    if len(comparison.pairs) > 1:
        return Section(slug="answer", blocks=[Answer(sentences=[several_headline(comparison), *_same(comparison)])])
    return Section(slug="answer", blocks=[Answer(sentences=answer_sentences(comparison), listed=True)])


def answer_sentences(comparison: Comparison) -> list[str]:
    """Say of one pair what is shown of what is claimed; the table below names what was not."""
    (pair,) = comparison.pairs
    return [no_claim(comparison)] if no_claim(comparison) else claimed_sentences(pair, comparison)


def _same(comparison: Comparison) -> Iterator[str]:
    for pair in comparison.pairs:
        if pair.same_trainings:
            yield from claimed_sentences(pair, comparison)


def screen_tables(comparison: Comparison) -> Section | None:
    """Return the metrics of one pair with its runs; of several pairs one row a side, on the main metric."""
    tables = main_tables(comparison, EXPLORED_ON_SCREEN)
    return Section(slug="verdicts", blocks=[*tables, *_runs_drawn(comparison)]) if tables else None


def main_tables(comparison: Comparison, most: int | None) -> list[Table]:
    """Return the table of the metrics of one pair, at most so many unclaimed ones, or of the sides of several."""
    if len(comparison.pairs) > 1:
        return telling([sides_table(comparison, MOST_ROWS)])
    (pair,) = comparison.pairs
    return [] if pair.same_trainings else telling([pair_table(pair, comparison, most)])


def _runs_drawn(comparison: Comparison) -> list[Block]:
    (pair, *others) = comparison.pairs
    drawn = None if others else runs_drawn(main_metric(pair.metrics), pair)
    return [drawn] if drawn else []


def screen_reasons(comparison: Comparison) -> Section | None:
    """Say of one pair how often a run of the better side wins, how many answers change, and what is open."""
    if len(comparison.pairs) > 1 or comparison.pairs[0].same_trainings:
        return None
    (pair,) = comparison.pairs
    main = main_metric(pair.metrics)
    claimed = [*superiority_sentence(main, pair), *short_reasons(main, pair, comparison)] if comparison.claimed else []
    said = Sentences(sentences=[*claimed, *screen_changed(pair)], listed=True, close=True)
    return Section(slug="reasons", blocks=[said]) if said.sentences else None


def warnings(comparison: Comparison, *, hinted: bool = True) -> Section | None:
    """List what casts doubt on the verdicts, what was asked for, and on a screen where there is more of it."""
    several = len(comparison.pairs) > 1
    caveats = comparison_caveats(comparison.comparability)
    # The answer on one pair has those on random numbers that only one side varies.
    shown = [each for each in caveats if several or each.slug != "draws-repeated"]
    most = WARNINGS_OF_SEVERAL if several else WARNINGS_ON_SCREEN
    blocks = [*warning_lines(shown, most), *(more_warnings(shown, comparison.command, most) if hinted else [])]
    return Section(slug="trust", blocks=blocks) if blocks else None


def what_next(comparison: Comparison) -> Section | None:
    """Say what to type next where a pair is not decided."""
    hints = next_hints(comparison.pairs[0], comparison) if len(comparison.pairs) == 1 else []
    return Section(slug="next", blocks=[*hints]) if hints else None


# With ``-v``: the same, and below it what it rests on.


def brief_answer(comparison: Comparison) -> Section:
    """Say how the sides compare, each pair in a sentence."""
    if len(comparison.pairs) == 1:
        return Section(slug="answer", blocks=[Answer(sentences=comparison_headline(comparison), listed=True)])
    pairs = [pair_sentence(main_metric(pair.metrics), pair, comparison) for pair in comparison.pairs]
    explored = [text for pair in comparison.pairs for text in explored_sentences(pair, comparison)]
    blocks: list[Block] = [
        Answer(sentences=[several_headline(comparison)]),
        Sentences(sentences=[*(pairs if comparison.claimed else []), *_same(comparison), *explored], listed=True),
    ]
    return Section(slug="answer", blocks=blocks)


def brief_tables(comparison: Comparison) -> Section:
    """Return the sides beside the first, and a table for each pair."""
    if len(comparison.pairs) == 1:
        # Two names of the same trainings have a table here, whatever the screen leaves out.
        tables = telling([pair_table(comparison.pairs[0], comparison, None)])
        return Section(slug="verdicts", blocks=[*tables, *_runs_drawn(comparison)])
    tables = telling([pair_table(pair, comparison, None) for pair in comparison.pairs])
    return Section(slug="verdicts", blocks=[*telling([sides_table(comparison)]), *tables])


def brief_tests(comparison: Comparison) -> Section:
    """Return all tests of what is claimed, and say what else is known of it."""
    blocks: list[Block] = []
    for pair in comparison.pairs:
        claimed = [metric for metric in pair.metrics if metric.name in comparison.claimed]
        for metric in claimed or [main_metric(pair.metrics)]:
            blocks += test_tables(metric, pair, every=False)
            sentences = [*superiority_sentence(metric, pair), *further_reasons(metric, pair, comparison)]
            blocks += [Sentences(sentences=sentences)] if sentences else []
    return Section(slug="reasons", blocks=blocks)


def remarks(comparison: Comparison) -> Section | None:
    """List the caveats without a title."""
    blocks = caveat_blocks(comparison_caveats(comparison.comparability))
    return Section(slug="trust", blocks=blocks) if blocks else None
