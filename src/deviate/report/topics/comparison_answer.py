"""What a comparison answers, in sentences: which side is better and by how much, and how several stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from deviate.core.shell_words import typed_word
from deviate.facts.compared_metric import MetricComparison, round_below
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.metric import MetricSpread
from deviate.observe.headline import main_metric
from deviate.report.numbers import (
    Numbers,
    difference_text,
    difference_unit,
    metric_place,
    show,
    show_interval,
    show_percent,
)
from deviate.report.page import Hint
from deviate.report.topics.reasons import detectable_text
from deviate.report.topics.verdicts import (
    failures_text,
    last_digit,
    limit_text,
    most_decimals,
    one_draw,
    places,
    side_spread,
)
from deviate.report.words import compared_runs, count, joined, listed
from deviate.stats.factorial import Place

# One pair.

#: What differences of percent are written with: they are points of a metric, and others are in it.
POINTS = difference_unit("%")


def comparison_headline(comparison: Comparison) -> list[str]:
    """Say of each pair which side is better in what is claimed, and in which of the other metrics."""
    if nothing := no_claim(comparison):
        return [nothing, *(text for pair in comparison.pairs for text in explored_sentences(pair, comparison))]
    return [
        sentence
        for pair in comparison.pairs
        for sentence in (*claimed_sentences(pair, comparison), *explored_sentences(pair, comparison))
    ]


def no_claim(comparison: Comparison) -> str:
    """Say that no metric stands before the others, so that nothing is claimed; empty where something is."""
    if comparison.claimed:
        return ""
    metrics = [metric for metric in comparison.pairs[0].metrics if metric.kind != "speed"]
    return (
        f"Nothing is claimed: no metric stands before the others ({listed([each.name for each in metrics])}), and none "
        f"was named. --metric {typed_word(metrics[0].name)} claims one."
    )


def claimed_sentences(pair: PairComparison, comparison: Comparison) -> list[str]:
    """Say what is shown of each metric that is claimed, the main one first."""
    if pair.same_trainings:
        runs = count(pair.same_trainings, "training")
        return [f"{pair.a} and {pair.b} are the same {runs}: same seeds, same results."]
    main = main_metric(pair.metrics)
    others = [metric for metric in pair.metrics if metric.name in comparison.claimed and metric is not main]
    return [
        " ".join([pair_sentence(metric, pair, comparison), *_far(metric, pair), *_unseen(metric)])
        for metric in (main, *others)
    ]


def pair_sentence(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> str:
    """Say which side is better in a metric by how much, or why that is not said."""
    a, b, name = pair.a, pair.b, metric.name
    if pair.draws.unshared:
        return f"No verdict: {one_draw(pair)}."
    if metric.verdict == "too few runs":
        n, m = metric.contrast.runs_compared
        return f"Too few runs to compare {a} and {b}: {n} against {m}, a verdict takes {metric.fewest_runs} of each."
    if metric.verdict == "not compared" and metric.contrast.difference.value is None:
        return f"{a} and {b} are not compared in {name}: the difference is {metric.contrast.difference.reason}."
    if metric.verdict == "not compared" and _never_differs(metric):
        return f"All runs of {a} gave one value and all runs of {b} another: that is no noise, and nothing to test."
    if metric.verdict == "not compared" and metric.p_adjusted is not None:
        return f"Not compared: {name} looks like a fraction on one side and like percent on the other."
    if _never_differs(metric):
        return f"{name} is the same in all runs of {a} and of {b}."
    if metric.p_adjusted is None:
        reason = metric.contrast.decides.reason if metric.verdict == "not compared" else ""
        return f"{a} and {b}: {metric.verdict} in {name}{f', as {reason}' if reason else ''}."
    left = " that gave a value" if metric.a.lost or metric.b.lost else ""
    basis = f"{_p(metric, pair, comparison)}, {runs_text(metric)}"
    if metric.verdict in ("a better", "b better"):
        word = "better" if metric.verdict == "b better" else "worse"
        return f"{b} is {word} than {a} by {_size(metric)}, {basis}{left}."
    if metric.verdict == "differs":
        return f"{b} and {a} differ by {_size(metric)}, {basis}{left}; neither is called better."
    if metric.verdict == "equivalent":
        margin = difference_text(f"{metric.contrast.margin:g}", metric.unit)
        return f"{b} and {a} are equivalent within ± {margin}: {_signed(metric)}, {basis}{left}."
    return f"Not shown: {b} against {a}, {_signed(metric)}, {basis}{left}."


def _never_differs(metric: MetricComparison) -> bool:
    return metric.a.spread.identical and metric.b.spread.identical


def runs_text(metric: MetricComparison) -> str:
    """Write how many runs are compared."""
    return compared_runs(*metric.contrast.runs_compared, paired=metric.contrast.paired)


def _p(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> str:
    p = Numbers(pair.alpha).equal_p(metric.deciding_p, comparison.correction, metric.family)
    claim = f" as claim {metric.claim} of these runs" if metric.claim > 1 else ""
    return f"{p}{claim}{limit_text(pair, comparison)}"


def _size(metric: MetricComparison) -> str:
    value, place = metric.contrast.difference.value or 0.0, last_digit(metric)
    interval = metric.contrast.difference.interval
    unit = difference_unit(metric.unit)
    ends = f" {show_interval(interval if value > 0 else interval.negated, place)}" if interval.known else ""
    name = f"{'of' if unit == POINTS else 'in'} {metric.name}{_share(abs(value), metric)}"
    return f"{show(abs(value), place)}{unit} {name}{ends}"


def _share(value: float, metric: MetricComparison) -> str:
    """Write a difference of times as a part of the first side's: seconds are as long as the machine makes them."""
    mean = metric.a.spread.mean if metric.kind == "speed" else None
    return f" ({show_percent(value / mean)})" if mean else ""


def _signed(metric: MetricComparison) -> str:
    effect, place = metric.contrast.difference.negated, last_digit(metric)
    ends = f" {show_interval(effect.interval, place)}" if effect.interval.known else ""
    share = _share(effect.value or 0.0, metric)
    return f"{metric.name} {show(effect.value, place)}{difference_unit(metric.unit)}{share}{ends}"


def _far(metric: MetricComparison, pair: PairComparison) -> Iterator[str]:
    for label, side in ((pair.a, metric.a), (pair.b, metric.b)):
        if side.far:
            place, values = last_digit(metric), dict(zip(side.runs, side.values, strict=True))
            runs, lie = count(len(side.far), "run"), "lies" if len(side.far) == 1 else "lie"
            these = listed([show(values[run], place) for run in side.far])
            yield (
                f"{runs} of {label} ({these}) {lie} far from the others: mean and SD describe no typical run; the "
                f"median is {show(side.spread.median, place)}."
            )


def _unseen(metric: MetricComparison) -> Iterator[str]:
    known = metric.sensitivity
    if metric.verdict == "no difference shown" and known is not None:
        yield f"A difference of {detectable_text(known, metric)} would have been seen with probability 80%."


def explored_sentences(pair: PairComparison, comparison: Comparison) -> list[str]:
    """Say in which of the metrics that were not claimed beforehand a side is better, noisier, or fails more often."""
    if pair.same_trainings:
        return []
    main = main_metric(pair.metrics)
    metrics = [metric for metric in pair.metrics if metric.name not in comparison.claimed]
    also = "also " if main.verdict == "b better" and main.name in comparison.claimed else ""
    between = f" ({pair.b} against {pair.a})" if len(comparison.pairs) > 1 else ""
    words = {
        f"{also}better": [metric.name for metric in metrics if metric.verdict == "b better"],
        "worse": [metric.name for metric in metrics if metric.verdict == "a better"],
        **{
            f"{label} noisier": [metric.name for metric in pair.metrics if metric.noisier == verdict]
            for label, verdict in ((pair.a, "a noisier"), (pair.b, "b noisier"))
        },
    }
    said = [f"{word}: {listed(names)}" for word, names in words.items() if names]
    said += _fails_more(pair, main)
    return [f"Not claimed beforehand{between}, {'; '.join(said)}."] if said else []


def _fails_more(pair: PairComparison, metric: MetricComparison) -> list[str]:
    failures = metric.failures
    if failures.fisher.p is None or failures.fisher.p > pair.alpha:
        return []
    more_in_a = failures.failed_a * failures.runs_b > failures.failed_b * failures.runs_a
    return [f"{pair.a if more_in_a else pair.b} fails more often: {failures_text(metric, pair)}"]


def next_hints(pair: PairComparison, comparison: Comparison) -> list[Hint]:
    """Return what to type next: the runs that are lacking, a table, and a gate for what is better or was there."""
    if pair.same_trainings:
        return []
    main = main_metric(pair.metrics)
    paper = [Hint(text="for a paper:", command=f"{comparison.command} -o comparison.tex")] if comparison.claimed else []
    if main.verdict in ("a better", "b better"):
        return [*paper, *_keep(main, pair.b if main.verdict == "b better" else pair.a, pair)] if paper else []
    differing = [metric for metric in pair.metrics if metric.kind != "speed" and not _never_differs(metric)]
    if _never_differs(main) and differing:
        other = typed_word(main_metric(differing).name)
        return [Hint(text="by another metric:", command=f"{comparison.command} --metric {other}"), *paper]
    if main.verdict == "too few runs" and not pair.draws.unshared:
        return [Hint(text="add runs:", command=command) for command in pair.add_runs]
    known = main.sensitivity
    if main.verdict != "no difference shown":
        return []
    if known is None or not (known.smaller and known.runs_for_smaller) or _below_the_digits(known.smaller, main):
        return paper
    alpha = "" if known.alpha == 0.05 else f" --set alpha={known.alpha:.3g}"
    named = f" --metric {typed_word(main.name)}" if comparison.claimed else ""
    command = f"deviate plan {typed_word(pair.a)} --against {typed_word(pair.b)}{named} --difference {known.smaller:g}"
    size = difference_text(f"{known.smaller:g}", main.unit)
    return [Hint(text=f"for {size}, {known.runs_for_smaller} runs of each:", command=f"{command}{alpha}"), *paper]


def _below_the_digits(size: float, metric: MetricComparison) -> bool:
    """Whether a difference is too small for the digits that are shown, as where only rounding differs."""
    place = last_digit(metric)
    return place is not None and size < 0.5 * 10.0**place


def _keep(main: MetricComparison, better: str, pair: PairComparison) -> list[Hint]:
    """Return the gate that lets later recipes be worse by less than an SD."""
    drop = round_below((main.a if better == pair.a else main.b).spread.sd or 0.0)
    metric = f"--metric {typed_word(main.name)}"
    command = f"deviate check NAME --against {typed_word(better)} {metric} --max-drop {drop:g}" if drop else ""
    return [Hint(text="gate:", command=command)] if command else []


# Three or more.

#: Sides that a sentence names one by one.
NAMED = 4


def several_headline(comparison: Comparison) -> str:
    """Say of the main metric which of three or more sides is best, and which are not shown to differ.

    ``Best: c, test acc 96.08 ± 0.76. a and b are not shown to differ.``
    """
    if nothing := no_claim(comparison):
        return nothing
    main = main_metric(comparison.pairs[0].metrics)
    sides, ranked = main_sides(comparison), list(places(comparison).values())
    if not ranked:
        return f"{main.name}: {joined(list(dict.fromkeys(_pair_words(comparison))))}."
    top = [place for place in ranked if place.lowest == 1]
    what = f"{main.name} {side_text(sides[ranked[0].name], sides)}"
    rest = _rest(ranked, top, comparison)
    if len(top) == len(ranked):
        return f"No difference shown between any of the {len(ranked)}: best mean {ranked[0].name}, {what}."
    if len(top) > 1:
        return f"{_names(top)} are not shown to differ, best mean {ranked[0].name}, {what}.{rest}"
    return f"Best: {top[0].name}, {what}.{rest}"


def _rest(ranked: Sequence[Place], top: Sequence[Place], comparison: Comparison) -> str:
    rest = [place for place in ranked if place not in top]
    labels = {place.name for place in rest}
    shown = [
        main_metric(pair.metrics).verdict in ("a better", "b better")
        for pair in comparison.pairs
        if {pair.a, pair.b} <= labels
    ]
    worse = f" {_names(rest)} {'is' if len(rest) == 1 else 'are'} worse" if len(top) > 1 else ""
    if len(rest) == 1:
        return f"{worse}." if worse else ""
    if any(shown):
        between = f"one of two is better in {sum(shown)} of {count(len(shown), 'pair')}"
        return f"{worse}; among them {between}." if worse else f" Among the others {between}."
    apart = "not shown to differ from each other"
    return f"{worse}, and {apart}." if worse else f" {_names(rest)} are not shown to differ."


def _names(ranked: Sequence[Place]) -> str:
    return joined([place.name for place in ranked]) if len(ranked) <= NAMED else f"{len(ranked)} others"


def _pair_words(comparison: Comparison) -> Iterator[str]:
    """Yield what is shown of every two sides, where they have no order."""
    for pair in comparison.pairs:
        metric = main_metric(pair.metrics)
        verdict = "no verdict" if pair.draws.unshared else metric.verdict
        yield f"{verdict} between {pair.a} and {pair.b}" if len(comparison.pairs) <= NAMED else verdict


def main_sides(comparison: Comparison) -> dict[str, MetricSpread]:
    """Return the main metric of each side, in the order in which they were named."""
    sides: dict[str, MetricSpread] = {}
    for pair in comparison.pairs:
        metric = main_metric(pair.metrics)
        sides |= {pair.a: metric.a, pair.b: metric.b}
    return {label: sides[label] for label in comparison.labels}


def side_text(side: MetricSpread, sides: Mapping[str, MetricSpread]) -> str:
    """Write mean and SD of a side, to the digit of all of them."""
    decimals = most_decimals(sides.values())
    place = metric_place(decimals, *(each.spread.sd for each in sides.values()))
    return side_spread(side.spread, place)
