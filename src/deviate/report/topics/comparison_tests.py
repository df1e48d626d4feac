"""The tests and effects of one metric of a pair by their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from deviate.facts.compared_metric import MetricComparison
from deviate.facts.comparison import PairComparison
from deviate.report.numbers import UNKNOWN, Numbers, show, show_factor, show_interval, show_percent, show_ratio
from deviate.report.page import Block, Cell, Column, Row, Table
from deviate.report.topics.metrics import number
from deviate.report.topics.verdicts import turned_effects
from deviate.stats.contrast import EFFECTS, TESTS, Contrast
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

#: Tests of the spread.
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
    """Say what pairs rest on, and how far runs of a pair go together."""
    if not metric.contrast.paired:
        return []
    why = "same seeds on both sides" if pair.pairing.reason == "proven" else "as asked"
    r, interval = metric.contrast.correlation, metric.contrast.correlation_interval
    together = "" if r is None else f"; correlation {show(r, -2)} {show_interval(interval, -2)}"
    return [f"Pairs: {why}{together}."]
