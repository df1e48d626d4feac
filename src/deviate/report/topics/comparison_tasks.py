"""Two sides over metrics that are tasks, in sentences."""

from __future__ import annotations

from itertools import combinations

from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.tasks import TaskComparison
from deviate.report.figures.figure import slug
from deviate.report.numbers import Numbers, last_place, show, show_interval, show_shares, significant
from deviate.report.page import Cell, Row, Section, Sentences, Table
from deviate.report.topics.metrics import columns, number, share_cell
from deviate.report.words import count, listed
from deviate.stats.results import Effect

#: Decimals of a probability.
_SHARE = -2


def over_tasks(comparison: Comparison) -> Section | None:
    """Say for each pair what holds over all tasks; nothing where no metrics were said to be tasks."""
    blocks = [
        Sentences(
            about=f"{pair.a} against {pair.b}" if len(comparison.pairs) > 1 else "",
            sentences=task_sentences(pair.tasks, pair),
        )
        for pair in comparison.pairs
        if pair.tasks
    ]
    blocks += [Sentences(sentences=ranked)] if (ranked := ranked_sentences(comparison)) else []
    return Section(slug="tasks", blocks=[*blocks]) if blocks else None


def task_tables(comparison: Comparison) -> Section | None:
    """Show the performance profiles of each pair; nothing where no metrics were said to be tasks."""
    blocks = [_profile(pair.tasks, pair) for pair in comparison.pairs if pair.tasks]
    return Section(slug="profiles", title="Over several tasks", blocks=[*blocks]) if blocks else None


def _profile(facts: TaskComparison, pair: PairComparison) -> Table:
    rows = [
        Row(
            cells=[
                Cell(f"> {significant(each.threshold, 3)}", each.threshold),
                *(cell for side in (each.a, each.b) for cell in _share_cells(side)),
            ]
        )
        for each in facts.profile
    ]
    return Table(
        caption=f"Share of the runs of all tasks above a value, {pair.a} and {pair.b}",
        slug=slug("profiles", f"{pair.a} {pair.b}"),
        titled=True,
        columns=columns("value", "A", "CI", "B", "CI"),
        rows=rows,
    )


def _share_cells(share: Effect) -> tuple[Cell, Cell]:
    return share_cell(share.value), number(show_shares(share.interval), share.interval.low)


def ranked_sentences(comparison: Comparison) -> list[str]:
    """Say whether sides rank differently over tasks, and which two; empty where they were not ranked."""
    facts = comparison.ranked
    if facts is None:
        return []
    p, labels = Numbers(comparison.omnibus_alpha).p, comparison.labels
    ranks = listed([f"{label} {rank:.2f}" for label, rank in zip(labels, facts.ranks, strict=True)])
    differ = facts.p < comparison.omnibus_alpha
    pairs = [(i, j) for i, j in combinations(range(len(labels)), 2) if facts.pairs[i][j] < comparison.omnibus_alpha]
    differing = listed([f"{labels[i]} and {labels[j]} (p {p(facts.pairs[i][j])})" for i, j in pairs])
    said = f"By Nemenyi's test {differing} rank differently." if pairs else "By Nemenyi's test no two rank differently."
    return [
        f"Mean ranks over {count(len(facts.tasks), 'task')}, 1 the best: {ranks}. Friedman's test: χ² "
        f"{facts.statistic:.2f}, p {p(facts.p)}.",
        *([said] if differ else []),
        "These tests are about other tasks like these; with ten tasks or fewer their p is rough.",
    ]


def _gaps(facts: TaskComparison, pair: PairComparison, place: int | None) -> list[str]:
    if facts.gap_a is None or facts.gap_b is None or facts.enough is None:
        return []
    return [
        f"The mean shortfall from {show(facts.enough)} (optimality gap) of {pair.a} is {_text(facts.gap_a, place)}, "
        f"that of {pair.b} {_text(facts.gap_b, place)}."
    ]


def task_sentences(facts: TaskComparison, pair: PairComparison) -> list[str]:
    """Give both interquartile means, their difference and the probability of improvement."""
    interval = facts.difference.interval
    place = last_place((interval.high or 0.0) - (interval.low or 0.0) or None)
    a, b, difference = (_text(effect, place) for effect in (facts.iqm_a, facts.iqm_b, facts.difference))
    better = "is better" if facts.direction else "has the higher value"
    return [
        f"Over {count(len(facts.tasks), 'task')} the interquartile mean of {pair.a} is {a}, that of {pair.b} {b}; "
        f"B − A {difference}.",
        f"A run of {pair.b} {better} than one of {pair.a} with probability {_text(facts.improvement, _SHARE)}, mean "
        "over the tasks.",
        *_gaps(facts, pair, place),
        "These intervals are about other runs on the same tasks, and with few runs of each task they are too narrow.",
    ]


def _text(effect: Effect, place: int | None) -> str:
    return f"{show(effect.value or 0.0, place)} {show_interval(effect.interval, place)}"
