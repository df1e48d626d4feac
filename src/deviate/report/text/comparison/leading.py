"""The experiment that leads among three or more, and how the others stand beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from deviate.contrast.ranking import Place
from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.metric import MetricComparison
from deviate.inference.metric import MetricSpread
from deviate.measure.intervals import Interval
from deviate.report.text.comparison.cells import verdict_text
from deviate.report.text.comparison.headline import no_claim, pair_verdict
from deviate.report.text.words import joined, listed
from deviate.results.order import main_metric

_BETTER = ("a better", "b better")

#: Experiments beside the first that a sentence names one by one.
NAMED_BESIDE = 3


class Beside(NamedTuple):
    """One experiment beside the one that leads."""

    label: str
    metric: MetricComparison
    pair: PairComparison

    @property
    def is_a(self) -> bool:
        """Whether the experiment is the first of the pair."""
        return self.pair.a == self.label

    @property
    def difference(self) -> float | None:
        """Its mean less that of the one that leads."""
        value = self.metric.contrast.difference.value
        return value if self.is_a or value is None else -value

    @property
    def interval(self) -> Interval:
        """The interval of that difference."""
        interval = self.metric.contrast.difference.interval
        if self.is_a or interval.low is None or interval.high is None:
            return interval
        return msgspec.structs.replace(interval, low=-interval.high, high=-interval.low)


def places(comparison: Comparison) -> dict[str, Place]:
    """Return the places in the main metric, the best mean first; empty where none is ranked."""
    name = main_metric(comparison.pairs[0].metrics).name
    ranked = next((each.places for each in comparison.omnibus if each.name == name), [])
    return {place.name: place for place in ranked}


def main_sides(comparison: Comparison) -> dict[str, MetricSpread]:
    """Return the main metric of each experiment: in the order of their places, else as they were named."""
    sides: dict[str, MetricSpread] = {}
    for pair in comparison.pairs:
        metric = main_metric(pair.metrics)
        sides |= {pair.a: metric.a, pair.b: metric.b}
    return {label: sides[label] for label in places(comparison) or comparison.labels}


def sides_beside(comparison: Comparison) -> list[Beside]:
    """Return the other experiments beside the first of them."""
    first, *others = main_sides(comparison)
    pairs = {frozenset((pair.a, pair.b)): pair for pair in comparison.pairs}
    beside = [(label, pairs[frozenset((first, label))]) for label in others]
    return [Beside(label, main_metric(pair.metrics), pair) for label, pair in beside]


def row_verdict(beside: Beside) -> str:
    """Write the verdict on one experiment beside the one that leads."""
    word = _word(beside.pair)
    if word != "better":
        return "no diff. shown" if word == "no difference shown" else word
    return "better" if beside.metric.verdict == ("a better" if beside.is_a else "b better") else "worse"


def _word(pair: PairComparison) -> str:
    metric = main_metric(pair.metrics)
    return "better" if metric.verdict in _BETTER and not pair.draws.unshared else verdict_text(metric, pair)


def leading_headline(comparison: Comparison) -> str:
    """Say of the main metric how the experiment that leads compares with the others, and of the rest how many differ.

    Examples
    --------
    ``test acc (last): wide is better than all 3 others; among the others, one is better in 2 of 3 pairs.``
    ``test acc (last): wide is better than 2 of 5 others; no difference shown between it and 3.``
    """
    if nothing := no_claim(comparison):
        return nothing
    main = main_metric(comparison.pairs[0].metrics)
    words = {_word(pair) for pair in comparison.pairs}
    if len(words) == 1 and "better" not in words:
        return f"{main.name} ({main.aggregate}): {words.pop()}, in all {len(comparison.pairs)} pairs."
    first, beside = next(iter(main_sides(comparison))), sides_beside(comparison)
    if len(beside) > NAMED_BESIDE:
        parts = [*_counted_beside(first, beside), *_better_elsewhere(comparison, first)]
        return f"{main.name} ({main.aggregate}): {'; '.join(parts)}."
    parts = [part for word in ("worse", "better") if (part := _better(first, beside, word))]
    parts += [
        f"{word} between {first} and {_any_of(labels, beside)}"
        for word in dict.fromkeys(_word(each.pair) for each in beside if _word(each.pair) != "better")
        if (labels := [each.label for each in beside if _word(each.pair) == word])
    ]
    return f"{main.name} ({main.aggregate}): {'; '.join([*parts, *_rest(comparison, first)])}."


def _counted_beside(first: str, beside: Sequence[Beside]) -> list[str]:
    """Count the experiments with each verdict beside the first; the table names them."""
    verdicts = [row_verdict(each) for each in beside]
    better, worse, all_of_them = verdicts.count("better"), verdicts.count("worse"), len(beside)
    parts = [f"{better} of {all_of_them} others {'is' if better == 1 else 'are'} better than {first}"] if better else []
    if worse:
        than = f"all {all_of_them} others" if worse == all_of_them else f"{worse} of {all_of_them} others"
        parts.append(f"{'it' if parts else first} is better than {than}")
    words = [word for each in beside if (word := _word(each.pair)) != "better"]
    for word in dict.fromkeys(words):
        others = words.count(word)
        parts.append(f"{word} between it and {others}" if parts else f"{word} between {first} and {others} others")
    return parts


def _better_elsewhere(comparison: Comparison, first: str) -> list[str]:
    """Count the pairs without the first experiment in which one is better."""
    words = [_word(pair) for pair in comparison.pairs if first not in (pair.a, pair.b)]
    better = words.count("better")
    return [f"among the others, one is better in {better} of {len(words)} pairs"] if better else []


def _better(first: str, beside: Sequence[Beside], word: str) -> str:
    labels = [each.label for each in beside if row_verdict(each) == word]
    if not labels:
        return ""
    if word == "better":
        return f"{joined(labels)} {'is' if len(labels) == 1 else 'are'} better than {first}"
    return f"{first} is better than {_others(labels, beside)}"


def _others(labels: Sequence[str], beside: Sequence[Beside]) -> str:
    """Name the experiments, but not one by one where they are many and all that are beside the first."""
    return f"all {len(labels)} others" if len(labels) == len(beside) > 2 else listed(labels)


def _any_of(labels: Sequence[str], beside: Sequence[Beside]) -> str:
    """Name the experiments that one is set beside, each alone."""
    return f"either {labels[0]} or {labels[1]}" if len(labels) == 2 else _others(labels, beside)


def _rest(comparison: Comparison, first: str) -> list[str]:
    """Say the verdict on the one pair without the experiment that leads, and count those on several."""
    pairs = [pair for pair in comparison.pairs if first not in (pair.a, pair.b)]
    if len(pairs) == 1:
        return [pair_verdict(pairs[0], main_metric(pairs[0].metrics))]
    words = [_word(pair) for pair in pairs]
    ordered = sorted(dict.fromkeys(words), key=lambda word: word != "better")
    counts = ["one is better" if word == "better" else word for word in ordered]
    parts = [f"{text} in {words.count(word)}" for text, word in zip(counts, ordered, strict=True)]
    return [f"among the others, {joined(parts)} of {len(words)} pairs"]
