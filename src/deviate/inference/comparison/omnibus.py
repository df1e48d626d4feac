"""More than two sides: whether they differ at all, and which is best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from deviate.contrast.omnibus import kruskal_wallis, welch_anova
from deviate.contrast.ranking import Place, ranking
from deviate.contrast.results import Tested
from deviate.contrast.verdict import Verdict
from deviate.experiment import Direction, Kind
from deviate.inference.comparison.families import adjust_families, is_measured_time
from deviate.inference.comparison.match import Match, direction_of
from deviate.inference.comparison.options import ComparisonOptions

#: By the labels of the sides and the metric.
Verdicts = Mapping[tuple[str, str, str], Verdict]


class MetricOmnibus(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on more than two sides."""

    name: str
    kind: Kind
    welch_anova: Tested
    kruskal_wallis: Tested
    #: Of Welch's test, adjusted over the metrics of a family.
    p_adjusted: float | None
    #: Tests that were adjusted together, this one included.
    family: int
    #: Deviate measures it in every experiment; such times are a family of their own.
    measured_time: bool
    #: Best first; empty where it is not known which values are better.
    places: list[Place]


def metric_omnibus(
    labels: Sequence[str],
    matches: Sequence[Match],
    verdicts: Verdicts,
    claimed: Collection[str],
    options: ComparisonOptions,
) -> list[MetricOmnibus]:
    """Test each metric over all sides and rank the sides, in the order of `matches`."""
    welch = {(match[0].name,): welch_anova([sample.values for sample in match]) for match in matches}
    adjusted = adjust_families({key: tested.p for key, tested in welch.items()}, options.correction, claimed)
    return [
        MetricOmnibus(
            name=match[0].name,
            kind=match[0].kind,
            welch_anova=welch[(match[0].name,)],
            kruskal_wallis=kruskal_wallis([sample.values for sample in match]),
            p_adjusted=adjusted[(match[0].name,)].p,
            family=adjusted[(match[0].name,)].family,
            measured_time=is_measured_time(match[0].name),
            places=_places(labels, match, verdicts, direction_of(match, options)),
        )
        for match in matches
    ]


def _places(labels: Sequence[str], match: Match, verdicts: Verdicts, direction: Direction | None) -> list[Place]:
    if direction is None or any(not sample.values for sample in match):
        return []
    better = [
        (a, b) if verdict == "a better" else (b, a)
        for (a, b, metric), verdict in verdicts.items()
        if metric == match[0].name and verdict in ("a better", "b better")
    ]
    means = [sum(sample.values) / len(sample.values) for sample in match]
    return ranking(labels, means, direction, better)
