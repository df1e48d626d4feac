"""The facts about one experiment: how much its runs differ in each metric, what varied, and what is proven."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from deviate.collect.events import EnvironmentDifference, ReachedDraw, ReplacedSeed, RuntimeNote, Switch
from deviate.collect.inherited import ChangedVariable
from deviate.collect.measured import with_times
from deviate.collect.repetitions import Repetitions
from deviate.collect.shared_files import ChangedInput, KeptState
from deviate.collect.warned import WarnedOperation
from deviate.experiment import SCHEMA, Experiment
from deviate.inference.evaluations import EvaluationFacts, evaluation_facts
from deviate.inference.metric import metric_spreads
from deviate.inference.order import ordered
from deviate.inference.price import HeldPrice, held_prices
from deviate.inference.reported import Completeness, completeness
from deviate.inference.representations import RepresentationFacts, representation_facts
from deviate.inference.sources import SpreadAcross, spread_across
from deviate.inference.stability import Stability, stabilities
from deviate.inference.timeline import Timeline, timeline_of
from deviate.inference.until import stopped_by, with_stopped
from deviate.inference.variant import FEW_RUNS, SdPrecision, VariantFacts, sd_precision, variant_facts
from deviate.inference.weights import WeightFacts, weight_facts
from deviate.measure.intervals import DEFAULT_LEVEL
from deviate.results.names import find_name
from deviate.results.reach import reach_names
from deviate.results.reproduce import run_command
from deviate.results.results import Results
from deviate.shell_words import typed_line


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
    switches: list[Switch] = []
    #: What the runtime and the set-up could not do.
    notes: list[RuntimeNote] = []
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


def experiment_facts(
    results: Results, now: datetime, *, level: float = DEFAULT_LEVEL, metrics: Sequence[str] = ()
) -> ExperimentFacts:
    """Infer how much the runs of an experiment differ, at a confidence level in (0, 1); by default in all metrics.

    Raises
    ------
    BadOption
        If a metric is named that was not recorded.
    """
    chosen = _chosen(results, metrics)
    variants = _variants(results, chosen, level)
    experiment = results.experiment
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
        switches=results.switches,
        notes=results.notes,
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
        stabilities=[
            each
            for variant in variants
            for each in stabilities(
                results.evaluations.get(variant.variant, []),
                results.samples.get(variant.variant, []),
                experiment.seed,
                level,
            )
        ],
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
    )


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
