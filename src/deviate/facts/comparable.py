"""What belongs together on two sides, and what may make them differ beside their recipes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations
from typing import Literal

import msgspec
from msgspec import structs

from deviate.core.errors import BadOption, some_of
from deviate.core.experiment import IMPORTED, Direction
from deviate.core.factors import DATA, DEFAULT_VARIANT, OTHER, SEEDED, find_variant, plain_name
from deviate.core.shell_words import typed_word
from deviate.facts.comparison_options import ComparisonOptions, PairingMode
from deviate.facts.metric import MetricSpread
from deviate.facts.samples import Sample
from deviate.facts.side import Side
from deviate.lexicon.words import same_name
from deviate.observe.fingerprints import (
    EXAMPLES,
    Fingerprint,
    agree,
    common_digests,
    count_example_sets,
    is_constant,
    is_replaced,
)
from deviate.observe.headline import equals
from deviate.stats.contrast import FEWEST_PAIRS, LEAST_PAIRED
from deviate.stats.spread import is_hundredfold

# A side whose runs all repeat one draw says nothing about other draws.


class RepeatedDraws(msgspec.Struct, frozen=True, kw_only=True):
    """Factors that one experiment draws alike in all of its runs."""

    #: Labels of the sides.
    a: str
    b: str
    #: Factors whose one draw is the same on both sides: a difference holds at that draw.
    shared: list[str] = []
    #: By label of an experiment that repeats one draw, the factors for which the other one draws otherwise: no verdict
    #: about recipes is possible.
    unshared: dict[str, list[str]] = {}
    #: Label of an imported side -> factors that have one draw in all runs of the other side. What varied in imported
    #: runs is unknown, so a difference may come from the recipes or from this draw.
    unknown: dict[str, list[str]] = {}

    @property
    def remedy(self) -> str:
        """What to type for runs that a verdict can be drawn from."""
        data = any(DATA in factors for factors in (*self.unshared.values(), *self.unknown.values()))
        return f"deviate run --vary {'algo,impl,data' if data else plain_name(DEFAULT_VARIANT)}"


def repeated_draws(a: Side, b: Side) -> RepeatedDraws:
    """Compare what the fingerprints of two sides show to have varied, whatever was meant to vary.

    n runs that repeat one draw of a factor are one observation of it: a test of their means calls one recipe better
    than itself in 21 to 82 % of simulated cases (``benchmarks/statistics/repeated.py``). Sides without fingerprints
    show nothing.
    """
    names = {side.label: [name for name in SEEDED if _is_repeated(_prints(side, name))] for side in (a, b)}
    shared = [name for name in names[a.label] if name in names[b.label] and _is_one_draw(name, a, b)]
    unshared = {label: [name for name in repeated if name not in shared] for label, repeated in names.items()}
    left = {label: factors for label, factors in unshared.items() if factors}
    imported = [side.label for side in (a, b) if side.variant == IMPORTED]
    if left and imported:
        return RepeatedDraws(a=a.label, b=b.label, shared=shared, unknown={imported[0]: next(iter(left.values()))})
    return RepeatedDraws(a=a.label, b=b.label, shared=shared, unshared=left)


def _prints(side: Side, name: str) -> list[Fingerprint]:
    return [prints[name] for _, prints in sorted(side.prints.items()) if name in prints]


def _is_repeated(prints: Sequence[Fingerprint]) -> bool:
    """Tell whether several runs drew, and all the same; content that was read from a file was not drawn."""
    if len(prints) < 2 or is_constant(prints) or is_replaced(prints):
        return False
    return all(agree(prints[0], each) is True for each in prints[1:])


def _is_one_draw(name: str, a: Side, b: Side) -> bool:
    """Tell whether both sides repeat the same draw. Equal seeds prove nothing: another model draws other numbers."""
    if name == DATA and _is_same(_prints(a, EXAMPLES), _prints(b, EXAMPLES)):
        return True
    return _is_same(_prints(a, name), _prints(b, name))


def _is_same(a: Sequence[Fingerprint], b: Sequence[Fingerprint]) -> bool:
    if not a or not b:
        return False
    if a[0].parts or b[0].parts:
        return agree(a[0], b[0]) is True
    first, second = common_digests(a[0], b[0])
    return a[0].digest == b[0].digest or (a[0].processes == b[0].processes and first == second)


# Do run k of one side and run k of the other belong together? Only if they provably drew the same.

#: Why runs are paired or not. ``off`` and ``on``: as the user says; ``few``: too few runs have a partner; ``proven``
#: and ``unproven``: fingerprints show that partners drew the same, or do not; ``alike``: those of all
#: runs did.
PairingReason = Literal["off", "on", "few", "proven", "unproven", "alike"]


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs of two sides belong together, and why."""

    #: Labels of the sides.
    a: str
    b: str
    reason: PairingReason
    #: Indices of the runs of the first side that are paired; empty where runs are not paired.
    indices: list[int] = []
    #: Factors for which runs of one index drew the same, and of different indices did not; ``alike``: for which
    #: all runs did.
    shared: list[str] = []
    #: Runs of the larger side, and those of them with a partner.
    runs: int
    partners: int
    #: Index on each side of the runs that belong together.
    pairs: list[tuple[int, int]] = []
    #: The name that two runs have in their sources, where partners were found by names; empty where by index.
    named: str = ""
    #: Runs that are in no pair, such as ``seed 4 of A``; empty where runs are not paired.
    alone: list[str] = []
    #: The user asked for pairs.
    asked: bool = False

    def positions(self, a: Sample, b: Sample) -> list[tuple[int, int]]:
        """Return the positions in the values of each side of the runs that belong together and have both values."""
        return self.places(a.runs, b.runs)

    def places(self, runs_a: Sequence[int], runs_b: Sequence[int]) -> list[tuple[int, int]]:
        """Return the places in two lists of indices of the runs that belong together and stand in both."""
        at_a, at_b = ({run: position for position, run in enumerate(runs)} for runs in (runs_a, runs_b))
        return [(at_a[i], at_b[j]) for i, j in self.pairs if i in at_a and j in at_b]


def pair_runs(a: Side, b: Side, mode: PairingMode) -> Pairing:
    """Find the runs that belong together.

    Partners are runs of one name where both sides were imported and share names, and runs of one index elsewhere.
    ``auto`` pairs them if fingerprints prove that for at least one factor they drew the same while runs of
    different pairs drew differently. Equal seeds alone prove nothing: another model, data set or batch size turns the
    same seed into other draws.
    """
    by_name = _namesakes(a, b)
    # No two runs belong together where both sides tell their seeds and have none in common.
    seeded = all(side.labels and all(label.startswith("seed ") for label in side.labels.values()) for side in (a, b))
    partners = by_name or [(index, index) for index in sorted(a.prints.keys() & b.prints.keys()) if not seeded]
    runs = max(len(a.prints), len(b.prints))
    shared = [] if mode == "off" else [name for name in SEEDED if _is_shared(name, a, b, partners)]
    reason = _reason(
        mode, few=len(partners) < (FEWEST_PAIRS if mode == "on" else LEAST_PAIRED * runs), shared=bool(shared)
    )
    alike = repeated_draws(a, b).shared if reason == "unproven" else []
    pairs = partners if reason in ("on", "proven") else []
    return Pairing(
        a=a.label,
        b=b.label,
        reason="alike" if alike else reason,
        indices=[i for i, _ in pairs],
        shared=alike or shared,
        runs=runs,
        partners=len(partners),
        pairs=pairs,
        named=a.labels[by_name[0][0]] if by_name and pairs else "",
        alone=[*_alone(a, {i for i, _ in pairs}), *_alone(b, {j for _, j in pairs})] if pairs else [],
        asked=mode == "on",
    )


def _namesakes(a: Side, b: Side) -> list[tuple[int, int]]:
    """Return the runs of two imported sides that have one name; those of a name that comes twice have no partner."""
    first, second = (_by_name({run: side.labels[run] for run in side.prints if run in side.labels}) for side in (a, b))
    return sorted((first[name], second[name]) for name in first.keys() & second.keys())


def _by_name(labels: Mapping[int, str]) -> dict[tuple[str, ...], int]:
    """Map each run's distinguishing part of its name to the run: ``("4",)`` of ``base_s4.log``.

    >>> _by_name({0: "base_s4.log", 1: "base_s10.log"})
    {('4',): 0, ('10',): 1}
    >>> _by_name({0: "seed 1", 1: "seed 1", 2: "seed 2"})
    {('2',): 2}
    """
    parts = {run: tuple(re.findall(r"\d+|\D+", label)) for run, label in labels.items()}
    alike = len({len(each) for each in parts.values()}) == 1
    places = (
        [place for place, column in enumerate(zip(*parts.values(), strict=True)) if len(set(column)) > 1]
        if alike
        else []
    )
    names = {run: tuple(each[place] for place in places) or each for run, each in parts.items()}
    counted = Counter(names.values())
    return {name: run for run, name in names.items() if counted[name] == 1}


def _alone(side: Side, paired: Collection[int]) -> list[str]:
    return [f"{side.labels.get(run, f'run {run}')} of {side.label}" for run in side.prints if run not in paired]


def _reason(mode: PairingMode, *, few: bool, shared: bool) -> PairingReason:
    if mode == "off" or not (shared or mode == "on"):
        return "off" if mode == "off" else "unproven"
    if few:
        return "few"
    return "on" if mode == "on" else "proven"


def _is_shared(name: str, a: Side, b: Side, partners: Sequence[tuple[int, int]]) -> bool:
    first, second = [a.prints[i].get(name) for i, _ in partners], [b.prints[j].get(name) for _, j in partners]
    if len(partners) < 2 or not _varies(first) or not _varies(second):
        return False
    return all(agree(left, right) is True for left, right in zip(first, second, strict=True))


def _varies(prints: Sequence[Fingerprint | None]) -> bool:
    known = [fingerprint.first for fingerprint in prints if fingerprint is not None]
    return len(known) == len(prints) == len(set(known))


def same_trainings(a: Side, b: Side, pairing: Pairing) -> int:
    """Return how many runs two sides have where each is the training of its partner; 0 where one is not.

    Both drew the same, and every number that the program reported is equal, times apart.
    """
    if pairing.reason != "proven" or not len(pairing.pairs) == a.completed == b.completed:
        return 0
    first, second = (_reported(side) for side in (a, b))
    if not first or first.keys() != second.keys():
        return 0
    equal = all(first[name].get(i) == second[name].get(j) for name in first for i, j in pairing.pairs)
    return len(pairing.pairs) if equal and all(_drew_alike(a.prints[i], b.prints[j]) for i, j in pairing.pairs) else 0


def _reported(side: Side) -> dict[str, dict[int, float]]:
    """Return the values of each run by metric, without times."""
    return {
        sample.name: dict(zip(sample.runs, sample.values, strict=True))
        for sample in side.samples
        if sample.kind != "speed"
    }


def _drew_alike(a: Mapping[str, Fingerprint], b: Mapping[str, Fingerprint]) -> bool:
    """Tell whether nothing shows that two runs drew otherwise."""
    return all(agree(one, b.get(name)) is not False for name, one in a.items())


# Which metric of one side is which of the other.

#: Metrics that stand alike and are named.
SHOWN = 5

#: One metric on every side, in the order of the sides.
Match = Sequence[Sample]


def match_metrics(sides: Sequence[Side], options: ComparisonOptions) -> list[Match]:
    """Find the metrics that all sides have.

    They come in the order of the options, else of the first side.

    Raises BadOption if an option names a metric that is not there, no metric is common, or a metric has another
    aggregate on one side than on the other: a best value compared with a last one says nothing about the recipes.
    """
    _check_names(sides, options)
    names = options.metrics or [sample.name for sample in sides[0].samples]
    matches = [match for name in names if (match := _on_all(name, sides, options)) is not None]
    if not matches:
        metrics = "; ".join(f"{side.label}: {', '.join(sample.name for sample in side.samples)}" for side in sides)
        raise BadOption("the experiments have no metric in common", hint=f"--set match=A=B joins two names; {metrics}")
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

    Raises BadOption if several stand alike.
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
        first.sample(name, f"--set match={name}={other}")
        if not any(sample.name == other for side in others for sample in side.samples):
            others[0].sample(other, f"--set match={name}={other}")
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
        hint=f"choose one for all: --set {typed_word(f'aggregate={name}={match[0].aggregate}')}",
    )


def units_differ(match: Match) -> tuple[int, int] | None:
    """Find two experiments where one gives fractions and the other percent.

    Indices of the side with fractions (all values in 0 to 1) and of the one with percent (all in 1 to 100, the mean 50
    to 200 times as large); None where there are none, or the metric is no quality.
    """
    if any(sample.kind != "quality" for sample in match):
        return None
    pairs = permutations(range(len(match)), 2)
    return next((pair for pair in pairs if is_hundredfold(*(match[index].values for index in pair))), None)


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


#: The part of an environment that names the GPUs that were started.
GPU_NAMES = "gpu.names"


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
    if variant.varying and any(OTHER in each for each in side.prints.values()):
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
    names = dict.fromkeys([GPU_NAMES, *(name for side in sides for name in side.environment)])
    by_name = {name: {side.label: _part(side, name) for side in sides} for name in names}
    return [
        EnvironmentDiffers(name=name, values={label: str(value) for label, value in values.items()})
        for name, values in by_name.items()
        if len(set(values.values())) > 1 and None not in values.values()
    ]


def _part(side: Side, name: str) -> str | None:
    """Return a part of a side's environment; where no GPU was started, that is known too."""
    nothing = "none" if name == GPU_NAMES and "gpu" in side.environment else None
    return side.environment.get(name, nothing)
