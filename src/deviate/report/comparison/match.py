"""Which metric of one side is which of the other."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from deviate.errors import BadOption
from deviate.experiment import Direction
from deviate.report.comparison.gather import side_metric
from deviate.report.comparison.inputs import Asked, Side, SideMetric
from deviate.report.names import same_name

#: One metric on every side, in the order of the sides.
Matched = list[SideMetric]


def match_metrics(sides: Sequence[Side], asked: Asked) -> list[Matched]:
    """Find the metrics that all sides have.

    Returns
    -------
    list of list of SideMetric
        In the order of the first side.

    Raises
    ------
    BadOption
        If an option names a metric that is not there, no metric is common, or a metric has another aggregate on one
        side than on the other: a best value compared with a last one says nothing about the recipes.
    """
    first = sides[0]
    _check_names(sides, asked)
    wanted = asked.metrics or [metric.name for metric in first.metrics]
    matched = [found for name in wanted if (found := _on_all(name, sides, asked)) is not None]
    if not matched:
        names = "; ".join(f"{side.label}: {', '.join(metric.name for metric in side.metrics)}" for side in sides)
        raise BadOption("the experiments have no metric in common", hint=f"--match A=B joins two names; {names}")
    for metrics in matched:
        _check_aggregates(metrics, sides)
    return matched


def settle_names(sides: Sequence[Side], asked: Asked) -> Asked:
    """Write the metrics that the user names as the sides do; those that are on none stay as they are."""
    first = [metric.name for metric in sides[0].metrics]
    others = [metric.name for side in sides[1:] for metric in side.metrics]
    return structs.replace(
        asked,
        metrics=list(dict.fromkeys(_meant(name, first) for name in asked.metrics)),
        matches={_meant(name, first): _meant(other, others) for name, other in asked.matches.items()},
        margins={_meant(name, first): margin for name, margin in asked.margins.items()},
        directions={_meant(name, first): direction for name, direction in asked.directions.items()},
    )


def _meant(name: str, names: Sequence[str]) -> str:
    return same_name(name, names) or name


def direction_of(metrics: Matched, asked: Asked) -> Direction | None:
    """Say which values are better: as asked, or as the sides that know agree."""
    chosen = asked.directions.get(metrics[0].name)
    known = {metric.direction for metric in metrics if metric.direction is not None}
    return chosen or (known.pop() if len(known) == 1 else None)


def unmatched(sides: Sequence[Side], matched: Sequence[Matched]) -> dict[str, list[str]]:
    """Return, by label of the side, the metrics that were not compared."""
    left = {}
    for place, side in enumerate(sides):
        names = {metrics[place].name for metrics in matched}
        left[side.label] = [metric.name for metric in side.metrics if metric.name not in names]
    return {label: names for label, names in left.items() if names}


def _on_all(name: str, sides: Sequence[Side], asked: Asked) -> Matched | None:
    found = [next((metric for metric in sides[0].metrics if metric.name == name), None)]
    other = asked.matches.get(name, name)
    for side in sides[1:]:
        by_name = {metric.name: metric for metric in side.metrics}
        found.append(by_name.get(other) or by_name.get(name))
    return None if any(metric is None for metric in found) else [metric for metric in found if metric is not None]


def _check_names(sides: Sequence[Side], asked: Asked) -> None:
    first = sides[0]
    for name, other in asked.matches.items():
        side_metric(first, name, f"--match {name}={other}")
        if not any(metric.name == other for side in sides[1:] for metric in side.metrics):
            side_metric(sides[1], other, f"--match {name}={other}")
    for name in asked.metrics:
        side_metric(first, name, f"--metric {name}")
        for side in sides[1:]:
            if _on_all(name, [first, side], asked) is None:
                side_metric(side, asked.matches.get(name, name), f"--metric {name}")
    for name in asked.margins:
        side_metric(first, name, f"--margin {name}=...")
    for name in asked.directions:
        side_metric(first, name, f"--direction {name}=...")


def _check_aggregates(metrics: Matched, sides: Sequence[Side]) -> None:
    if len({metric.aggregate for metric in metrics}) == 1:
        return
    found = ", ".join(f"{metric.aggregate!r} in {side.label}" for metric, side in zip(metrics, sides, strict=True))
    name = metrics[0].name
    raise BadOption(
        f"{name!r} is aggregated differently: {found}",
        hint=f"choose one for all: --aggregate '{name}={metrics[0].aggregate}'",
    )
