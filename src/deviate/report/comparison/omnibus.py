"""More than two sides: whether they differ at all, and which is best."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.contrast.multiplicity import CORRECTION_NAMES, adjust
from deviate.contrast.omnibus import kruskal_wallis, welch_anova
from deviate.contrast.ranking import Place, ranking
from deviate.experiment import Direction
from deviate.report.comparison.inputs import Asked, Side
from deviate.report.comparison.match import Matched, direction_of
from deviate.report.comparison.parts import MetricOmnibus, PairComparison
from deviate.report.comparison.sentences import show_p


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
    adjusted = adjust([found.p for found in welch], asked.correction)
    return [
        MetricOmnibus(
            name=metrics[0].name,
            welch_anova=welch[place],
            kruskal_wallis=kruskal[place],
            p_adjusted=adjusted[place],
            places=_places(sides, metrics, pairs, place, direction_of(metrics, asked)),
            why=_why(welch[place].reason, adjusted[place], asked),
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


def _why(reason: str, p: float | None, asked: Asked) -> str:
    if p is None:
        return f"Welch's analysis of variance could not be made: {reason}."
    shown = "the means are not all equal" if p <= asked.alpha else "no difference shown between any of the means"
    simultaneous = (
        "All places hold together at that confidence"
        if asked.correction in ("holm", "bonferroni")
        else f"With {CORRECTION_NAMES[asked.correction]} the places do not hold all together"
    )
    return f"Welch's analysis of variance: p = {show_p(p)}, {shown}. {simultaneous}.".replace("= <", "< ")
