"""Which metric of one side is which of the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import structs

from deviate.errors import BadOption, some_of
from deviate.experiment import Direction
from deviate.inference.comparison.options import ComparisonOptions
from deviate.inference.comparison.side import Side
from deviate.results.names import same_name
from deviate.results.order import equals
from deviate.results.sample import Sample
from deviate.shell_words import typed_word

#: Percent is 100 times a fraction; the recipes may differ too, so ratios of means within a factor of two are taken
#: for it.
FEWEST_TIMES, MOST_TIMES = 50, 200

#: Metrics that stand alike and are named.
SHOWN = 5

#: One metric on every side, in the order of the sides.
Match = Sequence[Sample]


def match_metrics(sides: Sequence[Side], options: ComparisonOptions) -> list[Match]:
    """Find the metrics that all sides have.

    Returns
    -------
    list of Match
        In the order of the options, else of the first side.

    Raises
    ------
    BadOption
        If an option names a metric that is not there, no metric is common, or a metric has another aggregate on one
        side than on the other: a best value compared with a last one says nothing about the recipes.
    """
    _check_names(sides, options)
    names = options.metrics or [sample.name for sample in sides[0].samples]
    matches = [match for name in names if (match := _on_all(name, sides, options)) is not None]
    if not matches:
        metrics = "; ".join(f"{side.label}: {', '.join(sample.name for sample in side.samples)}" for side in sides)
        raise BadOption("the experiments have no metric in common", hint=f"--match A=B joins two names; {metrics}")
    for match in matches:
        _check_aggregates(match, sides)
    return matches


def settle_names(sides: Sequence[Side], options: ComparisonOptions) -> ComparisonOptions:
    """Write the metrics that the user names as the sides do; those that are on none stay as they are."""
    first = [sample.name for sample in sides[0].samples]
    others = [sample.name for side in sides[1:] for sample in side.samples]

    def settled(name: str, names: Sequence[str] = first) -> str:
        return same_name(name, names) or name

    return structs.replace(
        options,
        metrics=list(dict.fromkeys(map(settled, options.metrics))),
        matches={settled(name): settled(other, others) for name, other in options.matches.items()},
        margins={settled(name): margin for name, margin in options.margins.items()},
        samples=structs.replace(
            options.samples,
            directions={
                **{name: direction for name, direction in sides[0].directions.items() if name in first},
                **{settled(name): direction for name, direction in options.samples.directions.items()},
            },
        ),
    )


def direction_of(match: Match, options: ComparisonOptions) -> Direction | None:
    """Return which values are better: as the user says, or as the sides that know agree."""
    known = {sample.direction for sample in match if sample.direction is not None}
    return options.samples.directions.get(match[0].name) or (known.pop() if len(known) == 1 else None)


def main_of(samples: Iterable[Sample], *, in_order: bool) -> str:
    """Return the name of the main metric; `in_order`: see `equals`.

    Raises
    ------
    BadOption
        If several stand alike.
    """
    names = [each.name for each in equals(samples, in_order=in_order)]
    if len(names) > 1:
        raise BadOption(
            f"which metric is not said, and {len(names)} stand alike: {some_of(names, SHOWN)}",
            hint=f"type --metric {typed_word(names[0])}",
        )
    return names[0]


def unmatched_metrics(sides: Sequence[Side], matches: Sequence[Match]) -> dict[str, list[str]]:
    """Return, by label of the side, the metrics that are not compared."""
    left = {}
    for index, side in enumerate(sides):
        names = {match[index].name for match in matches}
        left[side.label] = [sample.name for sample in side.samples if sample.name not in names]
    return {label: names for label, names in left.items() if names}


def _on_all(name: str, sides: Iterable[Side], options: ComparisonOptions) -> Match | None:
    first, *others = sides
    other = options.matches.get(name, name)
    match = [next((sample for sample in first.samples if sample.name == name), None)]
    for side in others:
        by_name = {sample.name: sample for sample in side.samples}
        match.append(by_name.get(other) or by_name.get(name))
    return None if None in match else [sample for sample in match if sample is not None]


def _check_names(sides: Sequence[Side], options: ComparisonOptions) -> None:
    first, *others = sides
    for name, other in options.matches.items():
        first.sample(name, f"--match {name}={other}")
        if not any(sample.name == other for side in others for sample in side.samples):
            others[0].sample(other, f"--match {name}={other}")
    for name in options.metrics:
        first.sample(name, f"--metric {name}")
        for side in others:
            if _on_all(name, [first, side], options) is None:
                side.sample(options.matches.get(name, name), f"--metric {name}")
    for name in options.margins:
        first.sample(name, f"--margin {name}=...")


def _check_aggregates(match: Match, sides: Sequence[Side]) -> None:
    if len({sample.aggregate for sample in match}) == 1:
        return
    aggregates = ", ".join(f"{each.aggregate!r} in {side.label}" for each, side in zip(match, sides, strict=True))
    name = match[0].name
    raise BadOption(
        f"{name!r} is aggregated differently: {aggregates}",
        hint=f"choose one for all: --aggregate {typed_word(f'{name}={match[0].aggregate}')}",
    )


def units_differ(match: Match) -> tuple[int, int] | None:
    """Find two sides of which one gives fractions and the other percent.

    Returns
    -------
    (int, int) or None
        Indices of the side with fractions (all values in 0 to 1) and of the one with percent (all in 1 to 100, the mean
        50 to 200 times as large); None where there are none, or the metric is no quality.
    """
    if any(sample.kind != "quality" for sample in match):
        return None
    fractions = [index for index, sample in enumerate(match) if _within(sample.values, 0, 1)]
    percents = [index for index, sample in enumerate(match) if _within(sample.values, 1, 100)]
    pairs = ((fraction, percent) for fraction in fractions for percent in percents)
    return next((pair for pair in pairs if _is_hundredfold(*(match[index].values for index in pair))), None)


def _within(values: Sequence[float], low: float, high: float) -> bool:
    return bool(values) and low <= min(values) and max(values) <= high


def _is_hundredfold(fractions: Sequence[float], percents: Sequence[float]) -> bool:
    small, large = float(np.mean(fractions)), float(np.mean(percents))
    return FEWEST_TIMES * small <= large <= MOST_TIMES * small
