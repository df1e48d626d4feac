"""The first sentences of a comparison."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deviate.experiment import Direction, Kind
from deviate.report.comparison.inputs import SideMetric
from deviate.report.comparison.parts import MetricComparison, PairComparison
from deviate.report.comparison.sentences import show_p
from deviate.report.shown import last_place, show
from deviate.report.words import count, listed

#: What a reader wants to know first: how good the models are, on data they were not trained on.
_KINDS = {"quality": 0, "loss": 1, "resource": 3, "speed": 4}
_UNFORESEEN = 2
_SPLITS = (r"(?<![a-z])test", r"(?<![a-z])(val|eval|dev|held)", r"", r"(?<![a-z])tr(ai)?n")


def main_metric(metrics: Sequence[MetricComparison]) -> MetricComparison:
    """Choose the metric a reader asks for first: quality before loss, test before validation before training."""
    return min(metrics, key=lambda metric: _order(metric.name_a, metric.kind, metric.direction))


def main_name(metrics: Sequence[SideMetric]) -> str:
    """Choose the metric a reader asks for first among those of one side."""
    return min(metrics, key=lambda metric: _order(metric.name, metric.kind, metric.direction)).name


def headline(pairs: Sequence[PairComparison]) -> list[str]:
    """Say in a sentence or two per pair how its sides compare."""
    return [sentence for pair in pairs for sentence in _pair(pair)]


def _pair(pair: PairComparison) -> list[str]:
    main = main_metric(pair.metrics)
    others = [metric for metric in pair.metrics if metric is not main]
    better = {
        label: [metric.name for metric in others if metric.verdict == verdict]
        for label, verdict in ((pair.a, "a better"), (pair.b, "b better"))
    }
    also = [f"{label} is better in {listed(names)}" for label, names in better.items() if names]
    measured = [metric for metric in pair.metrics if metric.kind != "speed"]
    noisy = {
        label: [metric.name for metric in measured if metric.noisier == verdict]
        for label, verdict in ((pair.a, "a noisier"), (pair.b, "b noisier"))
    }
    more = [*also, *(f"{label} is noisier in {listed(names)}" for label, names in noisy.items() if names)]
    return [_main(pair, main), *([f"{'; '.join(more)}."] if more else [])]


def _main(pair: PairComparison, metric: MetricComparison) -> str:
    a, b = metric.spread_a, metric.spread_b
    place = last_place(min((sd for sd in (a.sd, b.sd) if sd), default=0.0))
    unit = f" {metric.unit}" if metric.unit else ""
    means = f"{_mean(a.mean, a.sd, place)} in {pair.a}, {_mean(b.mean, b.sd, place)}{unit} in {pair.b}"
    runs = f"{a.n} and {count(b.n, 'run')}"
    p = f"; p = {show_p(metric.p_adjusted)}".replace("= <", "< ") if metric.verdict != "too few runs" else ""
    return f"{metric.name_a} ({metric.aggregate}): {_said(pair, metric)}. {means} (mean ± SD, {runs}{p})."


def _mean(mean: float | None, sd: float | None, place: int | None) -> str:
    return f"{show(mean, place)} ± {show(sd, place)}"


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


def _order(name: str, kind: Kind, direction: Direction | None) -> tuple[int, int]:
    return _KINDS[kind] if direction else max(_KINDS[kind], _UNFORESEEN), _split(name)


def _split(name: str) -> int:
    found = (place for place, pattern in enumerate(_SPLITS) if pattern and re.search(pattern, name, re.IGNORECASE))
    return next(found, _SPLITS.index(""))
