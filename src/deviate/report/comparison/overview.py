"""The first sentences of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.report.comparison.numbers import show_equal_p, show_signed
from deviate.report.comparison.parts import MetricComparison, PairComparison
from deviate.report.order import first_asked
from deviate.report.shown import last_place
from deviate.report.words import count, listed


def headline(pairs: Sequence[PairComparison], correction: str) -> list[str]:
    """Say in a sentence or two per pair how its sides compare; of several pairs each sentence names its own."""
    return [sentence for pair in pairs for sentence in _pair(pair, correction, several=len(pairs) > 1)]


def _pair(pair: PairComparison, correction: str, *, several: bool) -> list[str]:
    main = first_asked(pair.metrics)
    others = [metric for metric in pair.metrics if metric is not main]
    better = {
        label: [metric.name for metric in others if metric.verdict == verdict]
        for label, verdict in ((pair.a, "a better"), (pair.b, "b better"))
    }
    than = {pair.a: f" than {pair.b}", pair.b: f" than {pair.a}"} if several else {pair.a: "", pair.b: ""}
    also = [f"{label} is better{than[label]} in {listed(names)}" for label, names in better.items() if names]
    measured = [metric for metric in pair.metrics if metric.kind != "speed"]
    noisy = {
        label: [metric.name for metric in measured if metric.noisier == verdict]
        for label, verdict in ((pair.a, "a noisier"), (pair.b, "b noisier"))
    }
    more = [*also, *(f"{label} is noisier{than[label]} in {listed(names)}" for label, names in noisy.items() if names)]
    return [_main(pair, main, correction), *([f"{'; '.join(more)}."] if more else [])]


def _main(pair: PairComparison, metric: MetricComparison, correction: str) -> str:
    a, b = metric.spread_a, metric.spread_b
    place = last_place(min((sd for sd in (a.sd, b.sd) if sd), default=0.0))
    unit = f" {metric.unit}" if metric.unit else ""
    means = f"{_mean(a.mean, a.sd, place)} in {pair.a}, {_mean(b.mean, b.sd, place)}{unit} in {pair.b}"
    runs = f"{a.n} and {count(b.n, 'run')}"
    tested = metric.verdict != "too few runs" and metric.p_adjusted is not None
    p = f"; {show_equal_p(metric.p_adjusted, correction, metric.family)}" if tested else ""
    return f"{metric.name_a} ({metric.aggregate}): {_said(pair, metric)}. {means} (mean ± SD, {runs}{p})."


def _mean(mean: float | None, sd: float | None, place: int | None) -> str:
    return f"{show_signed(mean, place)} ± {show_signed(sd, place)}"


def _said(pair: PairComparison, metric: MetricComparison) -> str:
    if metric.verdict == "a better":
        return f"{pair.a} is better than {pair.b}"
    if metric.verdict == "b better":
        return f"{pair.b} is better than {pair.a}"
    if metric.verdict == "equivalent":
        return f"{pair.a} and {pair.b} are equivalent within the margin"
    if metric.verdict == "too few runs":
        return f"too few runs to tell {pair.a} from {pair.b}"
    return shown_verdict(metric, pair).replace("differs", f"{pair.a} and {pair.b} differ")


def shown_verdict(metric: MetricComparison, pair: PairComparison) -> str:
    """Write a verdict with the names of the sides."""
    if metric.verdict == "no difference shown" and metric.differs:
        return "differs, better unknown"
    if metric.verdict in ("a better", "b better"):
        return f"{pair.a if metric.verdict == 'a better' else pair.b} better"
    return metric.verdict
