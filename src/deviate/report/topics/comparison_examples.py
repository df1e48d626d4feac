"""The difference of two recipes for other runs on other examples, in sentences."""

from __future__ import annotations

from deviate.facts.compared_predictions import ChangedPredictions
from deviate.report.numbers import Numbers, last_place, show, show_interval
from deviate.report.words import count
from deviate.stats.crossed import Crossed
from deviate.stats.intervals import Interval
from deviate.stats.results import Tested


def example_sentences(facts: ChangedPredictions, a: str, b: str, *, alpha: float, one_draw: bool) -> list[str]:
    """Say what the difference is where the test set is a sample as the runs are; nothing where runs repeat one draw."""
    if facts.mcnemar is not None:
        return _single(facts.mcnemar, a, b, Numbers(alpha))
    if facts.crossed is None or facts.crossed.se is None or one_draw:
        return []
    return _crossed(facts.crossed, facts.score, a, b)


def _crossed(crossed: Crossed, score: str, a: str, b: str) -> list[str]:
    scale, unit = (100.0, " points") if score == "accuracy" else (1.0, "")
    effect = crossed.difference.negated
    errors = [scale * each for each in (crossed.se or 0.0, crossed.se_runs or 0.0, crossed.se_examples or 0.0)]
    place = last_place(errors[0] or None)
    value = (
        f"{show(scale * (effect.value or 0.0), place)}{unit} {show_interval(_scaled(effect.interval, scale), place)}"
    )
    runs, examples = (f"{show(each, place)}{unit}" for each in errors[1:])
    return [
        f"For other runs on other test examples, {b} less {a} in {score}: {value}.",
        f"Its standard error is {runs} from the runs alone and {examples} from the "
        f"{count(crossed.examples, 'example')} alone.",
    ]


def _scaled(interval: Interval, scale: float) -> Interval:
    low, high = interval.low or 0.0, interval.high or 0.0
    return Interval(low=scale * low, high=scale * high, level=interval.level, method=interval.method)


def _single(tested: Tested, a: str, b: str, numbers: Numbers) -> list[str]:
    p = f"p {numbers.compared_p(tested.p)} ({tested.method})" if tested.p is not None else f"no p: {tested.reason}"
    return [
        f"McNemar's test of these two models, one run of {a} and one of {b}: {p}.",
        "It says nothing about the recipes: other runs of them are other models.",
    ]
