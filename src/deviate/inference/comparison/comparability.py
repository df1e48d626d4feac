"""What may make sides differ beside their recipes: lost runs, environments, units, how they were measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from deviate.collect.fingerprints import EXAMPLES, agree, count_example_sets
from deviate.experiment import Direction
from deviate.factors import DATA, find_variant
from deviate.inference.comparison.draws import RepeatedDraws
from deviate.inference.comparison.match import units_differ, unmatched_metrics
from deviate.inference.comparison.pairing import Pairing
from deviate.inference.comparison.side import Side
from deviate.inference.metric import MetricSpread


class SideSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One side, without its values."""

    label: str
    experiment: str
    variant: str
    #: The variant was not typed, and the experiment has several.
    assumed: bool
    completed: int
    ended: int
    #: Runs left out by the user's rule, each with it, by index.
    weak: dict[int, str]
    #: Sets of examples that its runs had although data were held fixed; 1 where nothing shows that there were more.
    example_sets: int = 1


class EnvironmentDiffers(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the environment that is not the same on all sides."""

    name: str
    #: By label of the side.
    values: dict[str, str]


class UnitsDiffer(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that looks like a fraction on one side and like percent on another: labels of the sides."""

    metric: str
    fraction: str
    percent: str


class Comparability(msgspec.Struct, frozen=True, kw_only=True):
    """What to know before a difference between sides is taken for one between recipes."""

    sides: list[SideSummary]
    #: Each metric that is compared on every side, in the order of the sides.
    metrics: list[list[MetricSpread]]
    pairings: list[Pairing]
    environments: list[EnvironmentDiffers]
    units: list[UnitsDiffer]
    #: Metrics that are not on every side, by label; empty where the user chose the metrics.
    unmatched: dict[str, list[str]] = {}
    #: Of every two sides.
    draws: list[RepeatedDraws] = []
    #: Fingerprints show one set of examples in all completed runs of all sides.
    same_examples: bool = False
    #: Times that differ between runs that were not made in turn, each with the direction of its better values.
    confounded: dict[str, Direction] = {}


def comparability(
    sides: Sequence[Side],
    metrics: Sequence[list[MetricSpread]],
    pairings: Sequence[Pairing],
    draws: Sequence[RepeatedDraws],
    *,
    chosen: bool,
    confounded: Mapping[str, Direction] | None = None,
) -> Comparability:
    """Find what may mislead; `chosen`: the user named the metrics, so that those left out are no surprise.

    `confounded`: see `Comparability`.
    """
    units = ((match[0].name, units_differ(match)) for match in metrics)
    labels = [side.label for side in sides]
    return Comparability(
        sides=[_summary(side) for side in sides],
        metrics=list(metrics),
        pairings=list(pairings),
        environments=_environments(sides),
        units=[
            UnitsDiffer(metric=name, fraction=labels[indices[0]], percent=labels[indices[1]])
            for name, indices in units
            if indices is not None
        ],
        unmatched={} if chosen else unmatched_metrics(sides, metrics),
        draws=list(draws),
        same_examples=_same_examples(sides),
        confounded=dict(confounded or {}),
    )


def _summary(side: Side) -> SideSummary:
    weak = {left.run: left.reason for sample in side.samples for left in sample.excluded if left.weak}
    return SideSummary(
        label=side.label,
        experiment=side.experiment,
        variant=side.variant,
        assumed=side.assumed,
        completed=side.completed,
        ended=side.ended,
        weak=weak,
        example_sets=_example_sets(side),
    )


def _example_sets(side: Side) -> int:
    variant = find_variant(side.variant)
    if variant is None or not variant.controlled or variant.disturbed or DATA in variant.varying:
        return 1
    return max(1, count_example_sets(side.prints.values()))


def _same_examples(sides: Sequence[Side]) -> bool:
    prints = [each[EXAMPLES] for side in sides for each in side.prints.values() if EXAMPLES in each]
    if len(prints) < sum(side.completed for side in sides):
        return False
    return all(agree(prints[0], each) is True for each in prints)


def _environments(sides: Sequence[Side]) -> list[EnvironmentDiffers]:
    if not all(side.environment for side in sides):
        return []
    by_name = {name: {side.label: side.environment.get(name) for side in sides} for name in sides[0].environment}
    return [
        EnvironmentDiffers(name=name, values={label: str(value) for label, value in values.items()})
        for name, values in by_name.items()
        if len(set(values.values())) > 1 and None not in values.values()
    ]
