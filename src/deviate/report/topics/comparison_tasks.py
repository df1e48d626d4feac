"""Two sides over metrics that are tasks, in sentences."""

from __future__ import annotations

from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.tasks import TaskComparison
from deviate.report.numbers import last_place, show, show_interval
from deviate.report.page import Section, Sentences
from deviate.report.words import count
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
    return Section(slug="tasks", blocks=[*blocks]) if blocks else None


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
        "These intervals are about other runs on the same tasks, and with few runs of each task they are too narrow.",
    ]


def _text(effect: Effect, place: int | None) -> str:
    return f"{show(effect.value or 0.0, place)} {show_interval(effect.interval, place)}"
