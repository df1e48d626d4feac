"""The facts about experiments beside each other, and how the runs of each were made."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import IMPORTED, SCHEMA
from deviate.core.shell_words import typed_line
from deviate.facts.comparable import (
    Comparability,
    Pairing,
    RepeatedDraws,
    comparability,
    direction_of,
    main_of,
    match_metrics,
    pair_runs,
    repeated_draws,
    same_trainings,
    settle_names,
    units_differ,
)
from deviate.facts.compared_metric import (
    Adjusted,
    Claimed,
    MetricComparison,
    MetricOmnibus,
    adjust_families,
    compare_metric,
    contrast_metric,
    family_of,
    family_sizes,
    intervals_of_difference,
    is_measured_time,
    metric_omnibus,
    paired_samples,
)
from deviate.facts.compared_predictions import ChangedPredictions, changed_predictions, judged_groups
from deviate.facts.comparison_options import ComparisonOptions, check_options, comparison_command
from deviate.facts.experiment import ExperimentFacts, experiment_facts
from deviate.facts.groups import GroupOptions
from deviate.facts.looks import (
    Key,
    Labels,
    PairLook,
    claimed_when,
    claims_before,
    new_claims,
    pair_look,
    read_pair_looks,
    record_looks,
    recorded_name,
)
from deviate.facts.metric import MetricSpread, measured_sample, with_common_collapses
from deviate.facts.samples import FIRST, Sample
from deviate.facts.side import Side, command_for, read_sides, remember_typed
from deviate.facts.stored import read_results
from deviate.facts.tasks import TaskComparison, compare_tasks, rank_tasks
from deviate.observe.headline import equals, ranks
from deviate.stats.contrast import Contrast
from deviate.stats.multiplicity import claim_factor
from deviate.stats.results import fewest_runs
from deviate.stats.tasks import RankedTasks
from deviate.store.folders import Workspace
from deviate.store.locks import locked_looks
from deviate.store.looks import RecordedLooks

if TYPE_CHECKING:
    from deviate.facts.comparison_options import ComparisonOptions


class PairComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics on two sides."""

    a: str
    b: str
    variant_a: str
    variant_b: str
    metrics: list[MetricComparison]
    pairing: Pairing
    draws: RepeatedDraws
    look: PairLook
    #: None where one side has no predictions.
    predictions: ChangedPredictions | None = None
    #: None unless the metrics are tasks, or where runs repeat one draw.
    tasks: TaskComparison | None = None
    #: Runs that are the same trainings under two names: all draws and all values are equal, one by one; 0 elsewhere.
    same_trainings: int = 0
    #: What to type for as many runs as a verdict takes, of each side that has fewer.
    add_runs: list[str] = []

    @property
    def alpha(self) -> float:
        """What p must be below at this look; that of the comparison where it is the first."""
        return self.look.alpha

    @property
    def level(self) -> float:
        """Confidence level of the intervals."""
        return 1 - self.alpha

    def __repr__(self) -> str:
        return f"<{self.a!r} against {self.b!r}: {', '.join(map(repr, self.metrics))}>"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about sides beside each other."""

    schema: int = SCHEMA
    labels: list[str]
    alpha: float
    correction: str
    #: Tests of means of what is claimed, which were adjusted together; of times where nothing else is compared.
    family: int
    #: Those of times that Deviate measures, which were adjusted together and apart from the others.
    times_family: int
    #: Those of the other metrics of the training, which are explored, likewise.
    explored_family: int
    #: Names of the metrics that verdicts are claimed for: those that the user named, or the main one; empty where
    #: several stand alike, and none is the main one.
    claimed: list[str]
    pairs: list[PairComparison]
    #: Only with more than two sides, and where verdicts are possible on every two.
    omnibus: list[MetricOmnibus]
    comparability: Comparability
    #: What to type for the same.
    command: str
    #: None unless three sides or more are compared over tasks.
    ranked: RankedTasks | None = None

    @property
    def level(self) -> float:
        """Confidence level of the intervals at a first look."""
        return 1 - self.alpha

    @property
    def omnibus_alpha(self) -> float:
        """What p of a test over all sides must be below: the strictest of what holds for two."""
        return min(pair.alpha for pair in self.pairs)

    @property
    def open_pairs(self) -> list[PairComparison]:
        """Those of ``--until decided`` in which nothing is decided yet, and runs are left to be made."""
        return [pair for pair in self.pairs if pair.look.most and not (pair.look.ended or self._is_decided(pair))]

    def _is_decided(self, pair: PairComparison) -> bool:
        claims = [metric for metric in pair.metrics if metric.name in self.claimed]
        shown = bool(claims) and all(metric.differs or metric.verdict == "equivalent" for metric in claims)
        return shown or pair.look.settled is not None


def read_comparison(workspace: Workspace, names: Sequence[str], options: ComparisonOptions) -> Comparison:
    """Compare two or more experiments of a workspace, each ``EXPERIMENT`` or ``EXPERIMENT:VARIANT``.

    Raises UnknownExperiment if a name is none. Raises BadOption if the options do not fit each other or the
    experiments.
    """
    check_options(options)
    if len(names) < 2:
        raise BadOption("a comparison needs two experiments or variants", hint=_second_side(workspace, names))
    with locked_looks(workspace):
        sides = read_sides(workspace, names, options.samples, GroupOptions(sources=options.groups))
        looks = read_pair_looks(workspace, sides, options)
        command = typed_line(comparison_command(names, options))
        before = claims_before(workspace, sides)
        comparison = compare_sides(sides, options, command, looks, before)
        unrecorded = record_looks(workspace, sides, looks, new_claims(_tested_claims(comparison), looks, before))
    remember_typed(workspace, sides, options.samples)
    pairs = [
        msgspec.structs.replace(
            pair, look=msgspec.structs.replace(pair.look, unrecorded=unrecorded.get((pair.a, pair.b), ""))
        )
        for pair in comparison.pairs
    ]
    return msgspec.structs.replace(comparison, pairs=pairs)


def _tested_claims(comparison: Comparison) -> dict[Labels, list[str]]:
    return {
        (pair.a, pair.b): [
            recorded_name((metric.a.name, metric.b.name))
            for metric in pair.metrics
            if family_of(metric.name, comparison.claimed) == "claimed" and metric.contrast.p is not None
        ]
        for pair in comparison.pairs
    }


def compare_sides(
    sides: Sequence[Side],
    options: ComparisonOptions,
    command: str = "",
    looks: Mapping[Labels, RecordedLooks] | None = None,
    before: int = 0,
) -> Comparison:
    """Compare two or more sides in every metric they have in common.

    `command` is what to type for the same; `looks` are the comparisons of every two sides before this one, by their
    labels; `before` is how many comparisons of any of them claimed something new.

    Raises BadOption if options and metrics do not fit; see `match_metrics`.
    """
    options = settle_names(sides, options)
    named = options.metrics
    options = _with_reached(sides, options)
    matches = match_metrics(sides, options)
    # One side may know which values are better where another does not.
    directed = (msgspec.structs.replace(match[0], direction=direction_of(match, options)) for match in matches)
    firsts = {first.name: first for first in directed}
    rank = ranks(firsts.values())
    matches = sorted(matches, key=lambda match: rank(firsts[match[0].name]))
    claimed = named or _main([firsts[match[0].name] for match in matches], sides, options)
    metrics = [[measured_sample(each, options.level) for each in match] for match in matches]
    indices = list(combinations(range(len(sides)), 2))
    pairings = [pair_runs(sides[i], sides[j], options.pairing) for i, j in indices]
    draws = [repeated_draws(sides[i], sides[j]) for i, j in indices]
    names = {
        (each.a, each.b, match[0].name): recorded_name((match[i].name, match[j].name))
        for (i, j), each in zip(indices, pairings, strict=True)
        for match in metrics
    }
    claims = claimed_when(names, claimed, looks or {}, before)
    latest = claim_factor(max((each.number for each in claims.values()), default=1))
    looked = {
        (each.a, each.b): pair_look(
            sides[i],
            sides[j],
            (looks or {}).get((each.a, each.b)),
            [(match[i], match[j]) for match in metrics if match[0].name in claimed],
            each,
            options,
            shares=len(indices) * latest,
        )
        for (i, j), each in zip(indices, pairings, strict=True)
    }
    pairs = _pairs(sides, metrics, pairings, draws, looked, claimed, claims, options)
    ps = {_key(pair, each): each.contrast.p for pair in pairs for each in pair.metrics}
    families = family_sizes(ps, claimed)
    only_times = all(is_measured_time(match[0].name) for match in matches)
    labels = [side.label for side in sides]
    verdicts = {_key(pair, each): each.verdict for pair in pairs for each in pair.metrics}
    ranked = len(sides) > 2 and not any(each.unshared for each in draws)
    return Comparison(
        labels=labels,
        alpha=options.alpha,
        correction=options.correction,
        family=families["times" if only_times else "claimed"],
        times_family=0 if only_times else families["times"],
        explored_family=families["explored"],
        claimed=claimed,
        pairs=pairs,
        omnibus=metric_omnibus(labels, metrics, verdicts, claimed, options) if ranked else [],
        comparability=comparability(
            sides,
            metrics,
            pairings,
            draws,
            chosen=bool(options.metrics),
            confounded={
                each.name: each.direction or "lower"
                for pair in pairs
                for each in pair.metrics
                if each.confounded and each.differs
            },
        ),
        command=command,
        ranked=rank_tasks(metrics, {name: first.direction for name, first in firsts.items()}, options)
        if ranked
        else None,
    )


def _main(samples: Sequence[Sample], sides: Sequence[Side], options: ComparisonOptions) -> list[str]:
    """Return the metric that is claimed where the user names none; none where several stand alike."""
    in_order = not all(side.variant == IMPORTED for side in sides)
    if options.until:
        return [main_of(samples, in_order=in_order)]
    alike = equals(samples, in_order=in_order)
    return [alike[0].name] if len(alike) == 1 else []


def _with_reached(sides: Sequence[Side], options: ComparisonOptions) -> ComparisonOptions:
    """Compare what was asked for by its own option even where only some metrics are named."""
    if not options.metrics:
        return options
    reached = [sample.name for sample in sides[0].samples if sample.aggregate == FIRST]
    return msgspec.structs.replace(options, metrics=[*options.metrics, *reached])


def _key(pair: PairComparison, metric: MetricComparison) -> Key:
    return pair.a, pair.b, metric.name


def _pairs(
    sides: Sequence[Side],
    metrics: Sequence[list[MetricSpread]],
    pairings: Sequence[Pairing],
    draws: Sequence[RepeatedDraws],
    looks: Mapping[Labels, PairLook],
    claimed: Collection[str],
    claims: Mapping[Key, Claimed],
    options: ComparisonOptions,
) -> list[PairComparison]:
    """Compare every two sides; the tests of all pairs and metrics of a family are adjusted together."""
    by_label = {side.label: index for index, side in enumerate(sides)}
    matches: dict[Key, tuple[MetricSpread, MetricSpread]] = {
        (each.a, each.b, match[0].name): (match[by_label[each.a]], match[by_label[each.b]])
        for each in pairings
        for match in metrics
    }
    pairing = {(each.a, each.b): each for each in pairings}
    compared = {key: paired_samples(a, b, pairing[key[:2]], options.level) for key, (a, b) in matches.items()}
    repeated = {(each.a, each.b): each for each in draws}
    judged = {labels: msgspec.structs.replace(options, alpha=look.alpha) for labels, look in looks.items()}
    contrasts = {key: contrast_metric(a, b, pairing[key[:2]], judged[key[:2]]) for key, (a, b) in compared.items()}
    means, spreads, margins = _adjusted(contrasts, claimed, claims, options)
    directions = {match[0].name: direction_of(match, options) for match in metrics}
    experiments = {side.label: side.experiment for side in sides}
    apart = [(each.a, each.b) for each in pairings if experiments[each.a] != experiments[each.b]]
    verdicts = {
        key: compare_metric(
            *compared[key],
            contrasts[key],
            tried=with_common_collapses(a, b, directions[key[2]]),
            direction=directions[key[2]],
            confounded=key[:2] in apart and _is_timed(a, options),
            undecided=bool(repeated[key[:2]].unknown),
            other_unit=units_differ((a, b)) is not None,
            means=means[key],
            spreads=spreads[key],
            margins=margins[key],
            one_draw=bool(repeated[key[:2]].unshared),
            options=judged[key[:2]],
            ci_levels=intervals_of_difference(*compared[key], pairing[key[:2]], options.levels),
            planned=key[2] in claimed and len(sides) == 2,
            held=all(sides[by_label[label]].variant == "control" for label in key[:2]),
        )
        for key, (a, b) in matches.items()
    }
    predictions = _changed_predictions(sides, metrics, pairings, draws, judged)
    fewest = fewest_runs(options.alpha)
    return [
        PairComparison(
            a=each.a,
            b=each.b,
            variant_a=sides[by_label[each.a]].variant,
            variant_b=sides[by_label[each.b]].variant,
            metrics=[metric for key, metric in verdicts.items() if key[:2] == (each.a, each.b)],
            pairing=each,
            draws=repeated[each.a, each.b],
            predictions=predictions[each.a, each.b],
            tasks=None
            if repeated[each.a, each.b].unshared
            else compare_tasks(
                [match for key, match in matches.items() if key[:2] == (each.a, each.b)],
                directions,
                judged[each.a, each.b],
            ),
            look=looks[each.a, each.b],
            same_trainings=same_trainings(sides[by_label[each.a]], sides[by_label[each.b]], each),
            add_runs=[
                command for label in (each.a, each.b) if (command := command_for(sides[by_label[label]], fewest))
            ],
        )
        for each in pairings
    ]


def _changed_predictions(
    sides: Sequence[Side],
    metrics: Sequence[list[MetricSpread]],
    pairings: Sequence[Pairing],
    draws: Sequence[RepeatedDraws],
    judged: Mapping[Labels, ComparisonOptions],
) -> dict[Labels, ChangedPredictions | None]:
    """Compare the predictions of every two sides; the tests of the groups of all pairs are adjusted together."""
    changed: dict[Labels, ChangedPredictions | None] = {}
    for (i, j), pairing in zip(combinations(range(len(sides)), 2), pairings, strict=True):
        names = {match[i].name: match[j].name for match in metrics}
        options = judged[pairing.a, pairing.b]
        changed[pairing.a, pairing.b] = changed_predictions(sides[i], sides[j], names, options.level, pairing)
    groups = judged_groups(
        {labels: each.groups for labels, each in changed.items() if each is not None},
        next(iter(judged.values())).correction,
        {labels: options.alpha for labels, options in judged.items()},
        [(each.a, each.b) for each in draws if each.unshared],
    )
    return {labels: each and msgspec.structs.replace(each, groups=groups[labels]) for labels, each in changed.items()}


def _is_timed(metric: MetricSpread, options: ComparisonOptions) -> bool:
    """Tell whether it is a time that the user did not say which values of are better."""
    return metric.kind == "speed" and metric.name not in options.samples.directions


def _adjusted(
    contrasts: Mapping[Key, Contrast],
    claimed: Collection[str],
    claims: Mapping[Key, Claimed],
    options: ComparisonOptions,
) -> list[dict[Key, Adjusted]]:
    """Adjust each question by itself: of the means, of the spread, of equivalence."""
    questions = (
        {key: each.p for key, each in contrasts.items()},
        {key: each.tests[each.spread.test].p for key, each in contrasts.items()},
        {key: each.equivalence.p if each.equivalence else None for key, each in contrasts.items()},
    )
    return [adjust_families(ps, options.correction, claimed, claims) for ps in questions]


def _second_side(workspace: Workspace, names: Sequence[str]) -> str:
    experiments = ", ".join(workspace.names())
    if not experiments:
        return "no experiment here yet; make one with: deviate run"
    return f"type: deviate compare {typed_line(names) or 'A'} B; experiments here: {experiments}"


def side_facts(
    workspace: Workspace, compared: Comparability, options: ComparisonOptions, now: datetime
) -> dict[str, ExperimentFacts]:
    """Read the facts about the compared metrics and runs of each side, by its label."""
    facts: dict[str, ExperimentFacts] = {}
    for index, side in enumerate(compared.sides):
        results = read_results(workspace.find_experiment(side.experiment), options.samples, partial=True)
        metrics = [match[index] for match in compared.metrics]
        # When runs reach a value is reported on anyhow.
        names = [metric.name for metric in metrics if metric.aggregate != FIRST]
        whole = experiment_facts(results, now, level=options.level, metrics=names)
        # In one order on all sides, so that what is so for each is said once.
        places = {name: place for place, name in enumerate(names)}
        variants = [
            msgspec.structs.replace(
                each, metrics=sorted(each.metrics, key=lambda metric: places.get(metric.name, len(places)))
            )
            for each in whole.variants
            if each.variant == side.variant
        ]
        facts[side.label] = msgspec.structs.replace(whole, variants=variants)
    return facts
