"""The first sentences of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.metric import MetricComparison
from deviate.measure.spread import Spread
from deviate.report.numbers import Numbers, finest, show
from deviate.report.text.comparison.cells import failures_text, one_draw, verdict_text
from deviate.report.text.comparison.looks import limit_text
from deviate.report.text.words import count, listed
from deviate.results.order import main_metric
from deviate.shell_words import typed_word


def comparison_headline(comparison: Comparison, *, brief: bool = False) -> list[str]:
    """Say in a sentence or two per pair how its sides compare; of several pairs each sentence names its own.

    The `brief` ones leave the means to the table.
    """
    several = len(comparison.pairs) > 1
    return [sentence for pair in comparison.pairs for sentence in _pair(pair, comparison, several=several, brief=brief)]


def no_claim(comparison: Comparison) -> str:
    """Say that no metric stands before the others, so that nothing is claimed; empty where something is."""
    if comparison.claimed:
        return ""
    metrics = [metric for metric in comparison.pairs[0].metrics if metric.kind != "speed"]
    return (
        f"Nothing is claimed: no metric stands before the others ({listed([each.name for each in metrics])}), and none "
        f"was named. --metric {typed_word(metrics[0].name)} claims one."
    )


def _pair(pair: PairComparison, comparison: Comparison, *, several: bool, brief: bool) -> list[str]:
    main = main_metric(pair.metrics)
    than = {pair.a: f" than {pair.b}", pair.b: f" than {pair.a}"} if several else {pair.a: "", pair.b: ""}
    claimed = [metric for metric in pair.metrics if metric.name in comparison.claimed and metric is not main]
    explored = [metric for metric in pair.metrics if metric.name not in comparison.claimed]
    claims = _which(pair, than, "better", claimed)
    beside = [*_fails_more(pair, main, comparison), *_which(pair, than, "better", explored)]
    beside += _which(pair, than, "noisier", [metric for metric in pair.metrics if metric.kind != "speed"])
    return [
        no_claim(comparison) or _main(pair, main, comparison, brief=brief),
        *([f"{'; '.join(claims)}."] if claims else []),
        *([f"Exploratory: {'; '.join(beside)}."] if beside else []),
    ]


def verdict_headline(comparison: Comparison) -> str:
    """Say in one sentence which of several experiments are better in the main metric, without numbers."""
    if nothing := no_claim(comparison):
        return nothing
    verdicts = [pair_verdict(pair, main_metric(pair.metrics)) for pair in comparison.pairs]
    main = main_metric(comparison.pairs[0].metrics)
    return f"{main.name} ({main.aggregate}): {'; '.join(verdicts)}."


def pair_verdict(pair: PairComparison, metric: MetricComparison) -> str:
    """Write the verdict on two of several experiments with both names."""
    better = {"a better": f"{pair.a} is better than {pair.b}", "b better": f"{pair.b} is better than {pair.a}"}
    word = verdict_text(metric, pair)
    if pair.draws.unshared or metric.verdict not in better:
        return f"{word} between {pair.a} and {pair.b}" if word.startswith("no ") else f"{pair.a} and {pair.b}: {word}"
    return better[metric.verdict]


def _which(
    pair: PairComparison,
    than: Mapping[str, str],
    word: Literal["better", "noisier"],
    metrics: Sequence[MetricComparison],
) -> list[str]:
    """Say of each side in which of the metrics it is better, or noisier."""
    verdicts = {metric.name: metric.verdict if word == "better" else metric.noisier for metric in metrics}
    return [
        f"{label} is {word}{than[label]} in {listed(names)}"
        for letter, label in (("a", pair.a), ("b", pair.b))
        if (names := [name for name, verdict in verdicts.items() if verdict == f"{letter} {word}"])
    ]


def _fails_more(pair: PairComparison, metric: MetricComparison, comparison: Comparison) -> list[str]:
    """Say which side fails more often, where that is shown."""
    failures = metric.failures
    if failures.fisher.p is None or failures.fisher.p > pair.alpha:
        return []
    more_in_a = failures.failed_a * failures.runs_b > failures.failed_b * failures.runs_a
    return [f"{pair.a if more_in_a else pair.b} fails more often: {failures_text(metric, pair)}"]


def _main(pair: PairComparison, metric: MetricComparison, comparison: Comparison, *, brief: bool) -> str:
    a, b = metric.a.spread, metric.b.spread
    place = finest((a.sd, b.sd))
    unit = f" {metric.unit}" if metric.unit else ""
    means = f"{_mean(a, place)} in {pair.a}, {_mean(b, place)}{unit} in {pair.b}"
    tested = metric.verdict != "too few runs" and metric.p_adjusted is not None
    p = Numbers(pair.alpha).equal_p(metric.deciding_p, comparison.correction, metric.family)
    p += f" as claim {metric.claim} of these runs" if metric.claim > 1 else ""
    basis = f"{a.n} and {count(b.n, 'run')}{f'; {p}{limit_text(pair, comparison)}' if tested else ''}"
    verdict, far = _verdict(pair, metric), _far(pair, metric, place)
    sentences = [f"{verdict} ({basis})", *far] if brief else [verdict, *far, f"{means} (mean ± SD, {basis})"]
    return f"{metric.name} ({metric.aggregate}): {'. '.join(sentences)}."


def _far(pair: PairComparison, metric: MetricComparison, place: int | None) -> list[str]:
    """Say before any mean which runs lie far from the others of their side; nothing where none does."""
    return [
        f"{count(len(side.far), 'run')} of {label} {'lies' if len(side.far) == 1 else 'lie'} far from the others: mean "
        f"and SD describe no typical run; the median is {show(side.spread.median, place)}"
        for label, side in ((pair.a, metric.a), (pair.b, metric.b))
        if side.far
    ]


def _mean(spread: Spread, place: int | None) -> str:
    return f"{show(spread.mean, place)} ± {show(spread.sd, place)}"


def _verdict(pair: PairComparison, metric: MetricComparison) -> str:
    a, b = pair.a, pair.b
    if pair.draws.unshared:
        return f"no verdict: {one_draw(pair)}"
    if metric.verdict == "too few runs":
        return f"too few runs to compare {a} and {b}"
    if metric.verdict == "not compared" and metric.a.spread.identical and metric.b.spread.identical:
        return f"all runs of {a} gave one value and all runs of {b} another: that is no noise, and nothing to test"
    left = " among the runs that gave a value" if metric.a.lost or metric.b.lost else ""
    sentences = {
        "a better": f"{a} is better than {b}{left}",
        "b better": f"{b} is better than {a}{left}",
        "equivalent": f"{a} and {b} are equivalent within the margin",
    }
    usual = verdict_text(metric, pair).replace("differs", f"{a} and {b} differ")
    if metric.survivors:
        usual += left
    same = f", with the same {listed(pair.draws.shared)} in all runs" if pair.draws.shared else ""
    return f"{sentences.get(metric.verdict, usual)}{same}"
