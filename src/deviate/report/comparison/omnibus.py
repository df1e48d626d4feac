"""More than two sides: whether they differ at all, and which is best."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.contrast.omnibus import kruskal_wallis, welch_anova
from deviate.contrast.ranking import Place, ranking
from deviate.experiment import Direction
from deviate.report.comparison.families import adjust_families, is_measured_time
from deviate.report.comparison.inputs import Asked, Side
from deviate.report.comparison.match import Matched, direction_of
from deviate.report.comparison.numbers import show_equal_p
from deviate.report.comparison.parts import MetricOmnibus, PairComparison


def metric_omnibus(
    sides: Sequence[Side], matched: Sequence[Matched], pairs: Sequence[PairComparison], asked: Asked
) -> list[MetricOmnibus]:
    """Test each metric over all sides and rank the sides.

    Returns
    -------
    list of MetricOmnibus
        In the order of `matched`.
    """
    welch = [welch_anova([metric.values for metric in metrics]) for metrics in matched]
    kruskal = [kruskal_wallis([metric.values for metric in metrics]) for metrics in matched]
    names = [metrics[0].name for metrics in matched]
    adjusted = adjust_families(names, [found.p for found in welch], asked.correction)
    return [
        MetricOmnibus(
            name=metrics[0].name,
            welch_anova=welch[place],
            kruskal_wallis=kruskal[place],
            p_adjusted=adjusted.ps[place],
            family=adjusted.sizes[place],
            places=_places(sides, metrics, pairs, place, direction_of(metrics, asked)),
            why=_why(names[place], welch[place].reason, adjusted.ps[place], adjusted.sizes[place], asked),
        )
        for place, metrics in enumerate(matched)
    ]


def _places(
    sides: Sequence[Side],
    metrics: Matched,
    pairs: Sequence[PairComparison],
    place: int,
    direction: Direction | None,
) -> list[Place]:
    if direction is None or any(not metric.values for metric in metrics):
        return []
    shown = []
    for pair in pairs:
        verdict = pair.metrics[place].verdict
        if verdict == "a better":
            shown.append((pair.a, pair.b))
        elif verdict == "b better":
            shown.append((pair.b, pair.a))
    means = [sum(metric.values) / len(metric.values) for metric in metrics]
    return ranking([side.label for side in sides], means, direction, shown)


def _why(name: str, reason: str, p: float | None, family: int, asked: Asked) -> str:
    if p is None:
        return f"Welch's analysis of variance could not be made: {reason}."
    shown = "the means are not all equal" if p <= asked.alpha else "no difference shown between any of the means"
    what = "measured times" if is_measured_time(name) else "metrics of the training"
    simultaneous = (
        f"The places in all {what} hold together at that confidence"
        if asked.correction in ("holm", "bonferroni")
        else f"With {CORRECTION_NAMES[asked.correction]} the places do not hold all together"
    )
    tested = show_equal_p(p, asked.correction, family, asked.alpha)
    return f"Welch's analysis of variance: {tested}, {shown}. {simultaneous}."
