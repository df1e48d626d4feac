"""The facts about one experiment: how much its runs differ in each metric, what varied, and what is proven."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from deviate.core.experiment import SCHEMA, Experiment, ObservedWish
from deviate.core.shell_words import typed_line
from deviate.facts.metric import metric_spreads, ordered
from deviate.facts.remedies import Remedies, remedies
from deviate.facts.run import Timeline, timeline_of
from deviate.facts.samples import reach_names
from deviate.facts.side import run_command
from deviate.facts.sources import SpreadAcross, held_prices, spread_across
from deviate.facts.stability import EvaluationFacts, Stability, evaluation_facts, stabilities
from deviate.facts.stored import Results
from deviate.facts.variant import (
    FEW_RUNS,
    SdPrecision,
    VariantFacts,
    sd_precision,
    stopped_by,
    variant_facts,
    with_stopped,
)
from deviate.facts.weights import RepresentationFacts, WeightFacts, representation_facts, weight_facts
from deviate.lexicon.words import find_name
from deviate.observe.events import (
    EnvironmentDifference,
    ReachedDraw,
    ReplacedSeed,
    RuntimeNote,
    Switch,
    WarnedOperation,
)
from deviate.observe.metrics import with_times
from deviate.observe.repetitions import Repetitions
from deviate.observe.reported import ReportedNumber
from deviate.observe.surroundings import ChangedInput, ChangedVariable, KeptState
from deviate.observe.trackers import SENDERS
from deviate.stats.effects import HeldPrice
from deviate.stats.intervals import DEFAULT_LEVEL


class Completeness(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the numbers that the runs of a variant reported, and that differed between them, are measured."""

    variant: str
    #: Numbers that runs reported, each place of a template and each name of a tracker once. What a tracker stored of a
    #: metric that another number shows does not count again.
    reported: int
    #: Those whose values differed between runs.
    differing: int
    #: Those of them that are values of a metric.
    measured: int
    #: Names of metrics that were seen in what was reported alone, not in the source.
    observed: list[str]
    #: Numbers that differed between runs and are not measured.
    left: list[ReportedNumber]
    #: Printed lines with numbers that were not searched: too many of other forms came before them.
    lines_left_out: int = 0
    #: Trackers that the program loaded and that left no file to read: what it reported to them alone is not known.
    unread_trackers: list[str] = []
    #: Names that the user says something of, and that no run reported a number under.
    missing: list[str] = []


def completeness(
    reported: Mapping[str, Sequence[ReportedNumber]],
    compared: Mapping[str, int],
    lines_left_out: Mapping[str, int],
    libraries: Mapping[str, Collection[str]],
    wishes: Sequence[ObservedWish] = (),
) -> list[Completeness]:
    """Return how much of what was reported is measured, by variant.

    Parameters
    ----------
    reported : mapping of str to sequence of ReportedNumber
        By variant.
    compared : mapping of str to int
        Completed runs by variant; with fewer than two nothing can differ, and the variant is passed over.
    lines_left_out : mapping of str to int
        By variant, printed lines that were not searched.
    libraries : mapping of str to collection of str
        By variant, packages that the program loaded, trackers among them.
    wishes : sequence of ObservedWish
        What the user says of numbers by their names.
    """
    return [
        _completeness(variant, numbers, lines_left_out.get(variant, 0), libraries.get(variant, ()), wishes)
        for variant, numbers in reported.items()
        if compared.get(variant, 0) > 1 and numbers
    ]


def missing_wishes(numbers: Iterable[ReportedNumber], wishes: Iterable[ObservedWish]) -> list[str]:
    """Return the names in `wishes` under which no number was reported."""
    reported = {name for each in numbers for name in (each.name, each.metric)}
    return [wish.name for wish in wishes if reported.isdisjoint({wish.name, wish.rename} - {""})]


def _completeness(
    variant: str,
    numbers: Sequence[ReportedNumber],
    lines_left_out: int,
    libraries: Collection[str],
    wishes: Sequence[ObservedWish],
) -> Completeness:
    counted = _once(numbers)
    differing = [each for each in counted if each.varies]
    left = [each for each in differing if not each.metric]
    sources = {each.source for each in numbers if each.logged}
    return Completeness(
        variant=variant,
        reported=len(counted),
        differing=len(differing),
        measured=len(differing) - len(left),
        observed=list(dict.fromkeys(each.metric for each in numbers if each.observed)),
        left=left,
        lines_left_out=lines_left_out,
        unread_trackers=[name for name, source in SENDERS.items() if name in libraries and source not in sources],
        missing=missing_wishes(numbers, wishes),
    )


def _once(numbers: Sequence[ReportedNumber]) -> list[ReportedNumber]:
    """Return the numbers, what trackers stored of a metric only where no text shows it, or shows that it differed."""
    by_metric: dict[str, list[ReportedNumber]] = {}
    for each in numbers:
        if each.metric:
            by_metric.setdefault(each.metric, []).append(each)
    counted = {metric: _counted(shown) for metric, shown in by_metric.items()}
    return [each for each in numbers if not each.metric or each in counted[each.metric]]


def _counted(shown: Sequence[ReportedNumber]) -> list[ReportedNumber]:
    """Return those that count of the numbers that show one metric."""
    printed = [each for each in shown if not each.logged]
    logged = [each for each in shown if each.logged]
    if not logged or (printed and any(each.varies for each in printed) >= any(each.varies for each in logged)):
        return printed
    return [max(logged, key=lambda each: each.varies)]


class Reproduce(msgspec.Struct, frozen=True, kw_only=True):
    """What someone else needs to do the same again."""

    #: One line for a shell.
    command: str
    folder: str
    seed: int
    source: str
    #: Versions of the tool, the interpreter and the libraries; other properties of the machine.
    environment: dict[str, str]


class ExperimentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about one experiment."""

    schema: int = SCHEMA
    experiment: str
    command: list[str]
    variants: list[VariantFacts]
    level: float
    created: str
    generated: str
    #: As it was asked for: metrics, seed, criterion, where results were imported from.
    definition: Experiment
    reproduce: Reproduce
    seeds_replaced: list[ReplacedSeed] = []
    #: Seeds of data that is held fixed: left as the program gives them.
    seeds_kept: list[ReplacedSeed] = []
    #: Draws in the project's own files that belong to no other factor and so vary with ``other``.
    draws_left: list[ReachedDraw] = []
    #: Draws whose factor names in the source alone tell.
    draws_by_name: list[ReachedDraw] = []
    switches: list[Switch] = []
    #: What the runtime and the set-up could not do.
    notes: list[RuntimeNote] = []
    #: Notes of a slug that were left out, at least: what is not noted may have been left out.
    notes_left_out: dict[str, int] = {}
    #: Operations without a deterministic form.
    operations: list[WarnedOperation] = []
    differences: list[EnvironmentDifference] = []
    #: Files outside the project, and variables, that were not the same for all completed runs.
    inputs_changed: list[ChangedInput] = []
    variables_changed: list[ChangedVariable] = []
    #: Files outside the project by which one run goes on from another.
    state_kept: list[KeptState] = []
    #: One a metric, where there are several variants.
    across: list[SpreadAcross] = []
    #: How well `FEW_RUNS` runs determine an SD.
    enough_runs: SdPrecision
    timeline: Timeline
    #: Names of the metrics that were chosen; empty: all.
    metrics_chosen: list[str] = []
    #: Names of all metrics that were measured, chosen or not.
    metrics_measured: list[str] = []
    #: Version of Deviate.
    version: str = ""
    #: How much predictions differ, evaluation by evaluation, in the order of the variants; of each the main one first.
    stabilities: list[Stability] = []
    #: How far final weights lie apart, by variant, where they were kept.
    weights: list[WeightFacts] = []
    #: How much of what the program reported is measured, by variant.
    reported: list[Completeness] = []
    #: How alike runs represent the same examples, by variant, where that was kept.
    representations: list[RepresentationFacts] = []
    #: Commands that were run after each training.
    evaluations: list[EvaluationFacts] = []
    #: Random numbers that come again within runs.
    again: Repetitions = Repetitions()
    #: What it costs to hold the implementation, where some runs hold it and others do not.
    prices: list[HeldPrice] = []
    #: What would lower the spread, by variant, where what was kept tells something of it.
    remedies: list[Remedies] = []

    def main_stability(self, variant: str) -> Stability | None:
        """Return the evaluation of a variant to show first."""
        return next((each for each in self.stabilities if each.variant == variant), None)


def experiment_facts(
    results: Results, now: datetime, *, level: float = DEFAULT_LEVEL, metrics: Sequence[str] = ()
) -> ExperimentFacts:
    """Infer how much the runs of an experiment differ, at a confidence level in (0, 1); by default in all metrics.

    Raises BadOption if a metric is named that was not recorded.
    """
    chosen = _chosen(results, metrics)
    variants = _variants(results, chosen, level)
    experiment = results.experiment
    stable = [
        each
        for variant in variants
        for each in stabilities(
            results.evaluations.get(variant.variant, []),
            results.samples.get(variant.variant, []),
            experiment.seed,
            level,
        )
    ]
    return ExperimentFacts(
        experiment=experiment.name,
        command=experiment.command,
        variants=variants,
        level=level,
        created=experiment.created,
        generated=now.isoformat(timespec="seconds"),
        definition=experiment,
        reproduce=_reproduce(results),
        seeds_replaced=results.seeds,
        seeds_kept=results.seeds_kept,
        draws_left=[draw for draw in results.draws if draw.factor == "other"],
        draws_by_name=[draw for draw in results.draws if draw.by_name and draw.factor != "other"],
        switches=results.switches,
        notes=results.notes,
        notes_left_out=results.notes_left_out,
        operations=results.operations,
        differences=results.differences,
        inputs_changed=results.shared.changed,
        variables_changed=results.variables,
        state_kept=results.shared.kept,
        across=spread_across(variants, level),
        enough_runs=sd_precision(FEW_RUNS, level),
        timeline=timeline_of(run for variant in variants for run in variant.runs if not run.same_as),
        metrics_chosen=chosen,
        metrics_measured=list(dict.fromkeys(sample.name for each in results.samples.values() for sample in each)),
        version=results.version,
        stabilities=stable,
        weights=[
            weight_facts(variant.variant, results.weights[variant.variant], level)
            for variant in variants
            if variant.variant in results.weights
        ],
        reported=completeness(
            results.reported,
            {variant.variant: variant.completed for variant in variants},
            results.lines_left_out,
            {name: each.get("libraries", {}) for name, each in results.environments.items()},
            results.experiment.observed,
        ),
        representations=[
            known
            for name, evaluations in results.evaluations.items()
            if (known := representation_facts(evaluations, results.samples.get(name, []), level)) is not None
        ],
        evaluations=evaluation_facts(results.evaluated),
        again=results.again,
        prices=held_prices(
            experiment,
            {variant.variant: variant.runs for variant in variants},
            results.samples,
            {variant.variant: variant.without_noise for variant in variants},
            level,
        ),
        remedies=[
            each for variant in variants if (each := _remedies(variant, results, stable, chosen, level)) is not None
        ],
    )


def _remedies(
    facts: VariantFacts, results: Results, stable: Sequence[Stability], chosen: Sequence[str], level: float
) -> Remedies | None:
    variant = facts.variant
    first = next((each for each in stable if each.variant == variant), None)
    samples = [each for each in results.samples.get(variant, []) if not chosen or each.name in chosen]
    reports = {} if facts.trainings.several else results.last_reports.get(variant, {})
    return remedies(variant, samples, reports, results.evaluations.get(variant, []), first, level)


def _chosen(results: Results, metrics: Sequence[str]) -> list[str]:
    """Return the metrics to report on; none: all. What was asked for by its own option is among them."""
    if not metrics:
        return []
    names = sorted(set(with_times(name for name, _ in results.names)))
    reached = [name for bar in results.options.reach for name in reach_names(bar)]
    return list(dict.fromkeys([*(find_name(metric, names) for metric in metrics), *reached]))


def _variants(results: Results, chosen: Sequence[str], level: float) -> list[VariantFacts]:
    """Return all variants, with the metrics that are chosen, in one order."""
    seed, until = results.experiment.seed, results.experiment.until
    measured = {name: metric_spreads(results.samples.get(name, []), level, seed) for name in results.variants}
    # The metric that decided how many runs were made need not be one that is chosen.
    stops = {name: stopped_by(until, metrics, len(results.runs_of(name))) for name, metrics in measured.items()}
    kept = {
        name: [metric for metric in metrics if not chosen or metric.name in chosen]
        for name, metrics in measured.items()
    }
    if len(chosen) == 1:
        kept = {
            name: [msgspec.structs.replace(metric, main=True) for metric in metrics] for name, metrics in kept.items()
        }
    return [
        variant_facts(results, name, with_stopped(metrics, until, stops[name]), stops[name], level, every=not chosen)
        for name, metrics in ordered(kept).items()
    ]


def _reproduce(results: Results) -> Reproduce:
    experiment = results.experiment
    versions = {"deviate": results.version} if results.version else {}
    return Reproduce(
        command=typed_line(experiment.command)
        if experiment.imported
        else run_command(experiment, "--name", experiment.name),
        folder=experiment.folder,
        seed=experiment.seed,
        source=experiment.source,
        environment={**versions, **results.environment},
    )
