"""Everything that the files of an experiment say, read once, and the experiment that a user names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from deviate.core.errors import BadOption, some_of
from deviate.core.experiment import Direction, Experiment
from deviate.core.factors import find_variant, main_variant
from deviate.core.shell_words import typed_word
from deviate.facts.groups import NO_GROUPS, GroupOptions, with_groups
from deviate.facts.predictions import (
    Evaluation,
    EvaluationResult,
    damage_notes,
    evaluation_results,
    evaluations_by_variant,
    runs_with_predictions,
    with_inputs,
)
from deviate.facts.run import RunResult, run_result
from deviate.facts.samples import (
    DEFAULTS,
    Sample,
    SampleOptions,
    reach_metrics,
    reach_samples,
    samples_of,
    settle_options,
)
from deviate.facts.weights import RunWeights, weights_by_variant
from deviate.observe.events import (
    EnvironmentDifference,
    ReachedDraw,
    ReplacedSeed,
    RuntimeNote,
    Switch,
    WarnedOperation,
    environment,
    environment_differences,
    kept_seeds,
    notes,
    notes_left_out,
    reached_draws,
    replaced_seeds,
    switches,
    warned_operations,
)
from deviate.observe.headline import main_metric
from deviate.observe.identity import Identity, RunValues
from deviate.observe.metrics import Directions, MeasuredMetric, SampleRow, measured_metrics
from deviate.observe.observation import Printed
from deviate.observe.records import RunFiles, read_ended_runs
from deviate.observe.repetitions import Repetitions, repetitions
from deviate.observe.reported import ReportedNumber
from deviate.observe.surroundings import ChangedVariable, SharedFiles, changed_variables, shared_files
from deviate.observe.tables import Tables, open_tables, values_by_run
from deviate.runs.snapshot.manifest import Snapshot, read_snapshot
from deviate.runs.snapshot.survey import CHECKPOINT
from deviate.source.config import read_config
from deviate.stats.curves import REPORTS
from deviate.store.folders import ExperimentFolder, Workspace

DISTRIBUTION = "deviate-dl"

#: Files and folders left out that are named; `deviate show` lists all.
ABSENT_NAMED = 3


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one experiment."""

    experiment: Experiment
    #: Those that have ended, by variant and index.
    runs: list[RunResult]
    #: By variant, in the order of the experiment; times come last.
    samples: dict[str, list[Sample]]
    #: Names of metrics that were recorded, each with its index in the experiment (-1: unforeseen).
    names: list[tuple[str, int]] = []
    seeds: list[ReplacedSeed] = []
    seeds_kept: list[ReplacedSeed] = []
    #: Draws of the project's own files that were reached.
    draws: list[ReachedDraw] = []
    operations: list[WarnedOperation] = []
    #: How far the completed runs of a variant agree, by variant.
    identities: dict[str, Identity] = {}
    switches: list[Switch] = []
    notes: list[RuntimeNote] = []
    #: Notes of a slug that were left out, at least.
    notes_left_out: dict[str, int] = {}
    #: Of the first completed run of each variant that recorded one, nested as it was recorded.
    environments: dict[str, dict[str, Any]] = {}
    #: The same of the first run of all, as text.
    environment: dict[str, str] = {}
    differences: list[EnvironmentDifference] = []
    #: As they were settled: with metrics named as they were recorded.
    options: SampleOptions = DEFAULTS
    #: Which values are better of the metrics that the user says it of, now or before.
    directions: dict[str, Direction] = {}
    #: What completed runs recorded, by variant and index, for learning curves; None where it was not kept.
    recorded: dict[str, dict[int, RunValues]] | None = None
    #: The last reports of the main metric, by variant and run, see `remedies`.
    last_reports: dict[str, dict[int, list[float]]] = {}
    #: Version of Deviate.
    version: str = ""
    #: Every number that completed runs reported, by variant.
    reported: dict[str, list[ReportedNumber]] = {}
    #: Printed lines with numbers that were not searched, by variant.
    lines_left_out: dict[str, int] = {}
    #: What models predicted, by variant, see `evaluations_by_variant`.
    evaluations: dict[str, list[Evaluation]] = {}
    #: Weights that completed runs ended with, by variant and run; empty where they were not read.
    weights: dict[str, dict[str, RunWeights]] = {}
    #: How the commands that evaluate runs after their training ended.
    evaluated: list[EvaluationResult] = []
    #: What lies outside the project, and whether it was the same for all runs.
    shared: SharedFiles = SharedFiles()
    variables: list[ChangedVariable] = []
    #: How often completed runs reported each metric of the training, by variant, see `Tables.reports`.
    reports: dict[str, dict[str, list[int]]] = {}
    #: Variants whose runs counted iterations.
    looped: dict[str, int] = {}
    #: Random numbers that come again within runs.
    again: Repetitions = Repetitions()

    @property
    def variants(self) -> list[str]:
        """Variants that are planned or have runs, in their order."""
        return list(dict.fromkeys([*self.experiment.planned, *(run.variant for run in self.runs)]))

    def runs_of(self, variant: str) -> list[RunResult]:
        """Return the runs of a variant that have ended, by index."""
        return sorted((run for run in self.runs if run.variant == variant), key=lambda run: run.index)


def read_results(
    folder: ExperimentFolder,
    options: SampleOptions = DEFAULTS,
    *,
    curves: bool = False,
    weights: bool = False,
    partial: bool = False,
    groups: GroupOptions = NO_GROUPS,
    inputs: str = "",
) -> Results:
    """Read the files of an experiment; with `curves` every value as well, with `weights` these.

    `partial` passes over options on metrics that have no records here: another experiment may have them. `inputs` is a
    file or folder of the inputs of the evaluated examples.

    Raises BadOption if an aggregate is unknown, an option names a metric that has no records, or the inputs are not
    those of an evaluation. Raises BadGroups if the groups cannot be read, or fit no evaluation.
    """
    experiment = folder.read_experiment()
    runs = read_ended_runs(folder)
    with open_tables(folder, runs=runs, experiment=experiment) as tables:
        names = tables.names
        usual = read_config(folder.project).statistics
        options = settle_options(options, (name for name, _ in names), partial=partial, usual=usual)
        directions = tables.directions(options.directions)
        metrics = known_metrics(experiment, names, options, tables.observed, directions, tables.printed)
        ended = [run_result(run, experiment) for run in runs]
        samples = samples_by_variant(_rows(tables, options, metrics), ended, metrics, experiment, options)
        last_reports = {
            variant: tables.last_reports(variant, main_metric(each).name, max(REPORTS))
            for variant, each in samples.items()
            if each
        }
        identities = tables.identities()
        predicted = runs_with_predictions(runs)
        evaluations = evaluations_by_variant(predicted, tables)
        evaluated = (
            evaluation_results(tables.evaluated, tables.repeats(options.aggregates, options.directions))
            if experiment.evaluations
            else []
        )
        reported, observation = tables.reported, tables.observation
        values = values_by_run(tables) if curves else None
        reports, looped = tables.reports(), tables.looped
    first = next((recorded for run in runs if (recorded := environment(run))), {})
    evaluations = with_groups(evaluations, samples, runs, groups) if groups.sources else evaluations
    evaluations = with_inputs(evaluations, samples, inputs) if inputs else evaluations
    return Results(
        experiment=experiment,
        runs=ended,
        samples=samples,
        names=names,
        seeds=replaced_seeds(runs),
        seeds_kept=kept_seeds(runs),
        draws=reached_draws(runs, experiment.draws),
        operations=warned_operations(runs),
        identities=identities,
        switches=switches(runs),
        notes=[
            *_setup_notes(experiment, read_snapshot(folder)),
            *notes(runs),
            *_growth_notes(runs),
            *damage_notes(predicted),
            *_damaged_texts(tables),
        ],
        notes_left_out=notes_left_out(runs),
        environments=_environments(run for run in runs if run.completed),
        environment={key: _text(value) for key, value in first.items()},
        differences=environment_differences(runs),
        options=options,
        directions=directions,
        recorded=values,
        last_reports=last_reports,
        version=version(DISTRIBUTION),
        evaluations=evaluations,
        reported=reported,
        lines_left_out=observation.left_out,
        weights=weights_by_variant(runs) if weights else {},
        evaluated=evaluated,
        shared=shared_files(run for run in runs if run.completed),
        variables=changed_variables(folder, (run for run in runs if run.completed)),
        reports=reports,
        looped=looped,
        again=repetitions(run for run in runs if run.completed),
    )


def known_metrics(
    experiment: Experiment,
    names: list[tuple[str, int]],
    options: SampleOptions,
    observed: Mapping[str, MeasuredMetric] | None = None,
    directions: Directions | None = None,
    printed: Mapping[str, Printed] | None = None,
) -> dict[str, MeasuredMetric]:
    """Return what is known of each name that samples may have."""
    metrics = [*measured_metrics(experiment, names, observed, directions), *reach_metrics(options.reach)]
    return {metric.name: _as_written(metric, (printed or {}).get(metric.name)) for metric in metrics}


def _as_written(metric: MeasuredMetric, printed: Printed | None) -> MeasuredMetric:
    """Return a metric whose source leaves open how it is written as it is seen in what runs printed."""
    if printed is None or metric.decimals is not None:
        return metric
    return msgspec.structs.replace(metric, decimals=printed.decimals, unit=metric.unit or printed.unit)


def samples_by_variant(
    rows: Sequence[SampleRow],
    runs: list[RunResult],
    metrics: Mapping[str, MeasuredMetric],
    experiment: Experiment,
    options: SampleOptions,
) -> dict[str, list[Sample]]:
    """Return the samples of each variant that has ended runs, see `samples_of`."""
    return {
        variant: samples_of(
            (row for row in rows if row.variant == variant),
            sorted((run for run in runs if run.variant == variant), key=lambda run: run.index),
            metrics,
            experiment,
            options,
        )
        for variant in dict.fromkeys(run.variant for run in runs)
    }


def _rows(tables: Tables, options: SampleOptions, metrics: Mapping[str, MeasuredMetric]) -> list[SampleRow]:
    """Return one number per run and metric, with those of when runs reached a value."""
    rows = tables.samples(options.aggregates, options.directions)
    if not options.reach:
        return rows
    records = tables.records_of({bar.metric for bar in options.reach})
    return [*rows, *reach_samples(records, options.reach, {name: each.direction for name, each in metrics.items()})]


def _setup_notes(experiment: Experiment, snapshot: Snapshot) -> list[RuntimeNote]:
    """Say what was not wrapped, and what runs do not find although the project has it."""
    noted = [*experiment.notes, *(step.prefix + note for step in experiment.steps for note in step.notes)]
    skipped = [RuntimeNote(slug="not-instrumented-value", message=note) for note in noted]
    if experiment.imported:
        skipped += [RuntimeNote(slug="imported", message=note) for note in experiment.imported.notes]
    absent = [f"{item.path} ({item.reason})" for item in snapshot.left_out if item.reason == CHECKPOINT]
    absent += [f"{item.path} (looks like results outside the project)" for item in snapshot.outside if not item.linked]
    message = f"Left out of the runs: {some_of(absent, ABSENT_NAMED)}. --set include=PATH brings it."
    return [*skipped, *([RuntimeNote(slug="left-out", message=message)] if absent else [])]


def _growth_notes(runs: Iterable[RunFiles]) -> list[RuntimeNote]:
    """Say which runs were written to after they had ended."""
    return [
        RuntimeNote(
            slug="written-since",
            message="A process went on after the run had ended; what it wrote since is left out: "
            f"{', '.join(run.grown)}.",
            runs=[run.name],
        )
        for run in runs
        if run.grown
    ]


def _damaged_texts(tables: Tables) -> Iterator[RuntimeNote]:
    """Say which text was not searched, of trainings and of evaluations."""
    yield from _text_notes(tables.observation.damaged)
    for each in tables.evaluated:
        for one, reasons in each.damaged:
            yield from _text_notes({one.run.name: reasons}, f"steps/{each.step.name}-{one.repeat}/")


def _text_notes(damaged: Mapping[str, list[str]], place: str = "") -> list[RuntimeNote]:
    """Say which text was not searched, so that its runs have no value of the metrics that are seen in it alone.

    `place` is the folder of an evaluation in that of its run.
    """
    return [
        RuntimeNote(slug="text-damaged", message=f"Text that is not searched for metrics: {place}{reason}.", runs=[run])
        for run, reasons in damaged.items()
        for reason in reasons
    ]


def _environments(runs: Iterable[RunFiles]) -> dict[str, dict[str, Any]]:
    """Return the environment of the first run of each variant that recorded one."""
    by_variant: dict[str, dict[str, Any]] = {}
    for run in runs:
        if not by_variant.get(run.variant):
            by_variant[run.variant] = environment(run)
    return by_variant


def _text(value: object) -> str:
    return ", ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)


# The experiment and the variant that a user names.


def find_experiment(workspace: Workspace, name: str) -> tuple[ExperimentFolder, str]:
    """Return the experiment of ``EXPERIMENT`` or ``EXPERIMENT:VARIANT``, and the variant; empty where none is named.

    A name as a whole is an experiment's first: names may hold colons.

    Raises UnknownExperiment if there is no such experiment.
    """
    before, colon, after = name.rpartition(":")
    names = workspace.names()
    if name in names or not colon or before not in names:
        return workspace.find_experiment(name if name in names or not colon else before), ""
    return workspace.find_experiment(before), after


def choose_variant(folder: ExperimentFolder, variants: Sequence[str], name: str = "") -> str:
    """Return the variant that is meant: the one named, else the only one there is, else the default one.

    Raises BadOption with the variants there are, if none is meant.
    """
    typed = find_variant(name) if name else None
    variant = typed.name if typed and name not in variants else name or _default(folder, variants)
    if variant not in variants:
        raise BadOption(
            f"{folder.name} has no variant {variant!r}", hint=f"type one of: {', '.join(variants) or 'none'}"
        )
    return variant


def _default(folder: ExperimentFolder, variants: Sequence[str]) -> str:
    if main := main_variant(variants):
        return main
    raise BadOption(
        f"experiment {folder.name!r} has {len(variants)} variants: {', '.join(variants) or 'none yet'}",
        hint=f"name one: {typed_word(f'{folder.name}:{variants[0]}')}" if variants else "make runs with: deviate run",
    )
