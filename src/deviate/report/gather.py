"""Gather what is known about an experiment from its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

import pandas as pd

from deviate.collect.aggregates import check_aggregate
from deviate.collect.agreement import identities
from deviate.collect.events import (
    RuntimeNote,
    environment,
    environment_differences,
    kept_seeds,
    notes,
    reached_draws,
    replaced_seeds,
    switches,
    turned_bit,
    used_gpu,
)
from deviate.collect.fingerprints import fingerprints
from deviate.collect.measured import TIMES, measured_metrics
from deviate.collect.tables import recorded_names, records, samples
from deviate.collect.warned import warned_operations
from deviate.experiment import Experiment
from deviate.replicate.outcome import Outcome, Unfinished
from deviate.replicate.snapshot import Snapshot, read_snapshot
from deviate.replicate.survey import CHECKPOINT
from deviate.replicate.workspace import ExperimentFolder, RunFolder
from deviate.report.asked import NOTHING, Asked, settle_asked
from deviate.report.inputs import (
    ReportInputs,
    RunFacts,
    Series,
)
from deviate.report.names import find_name
from deviate.report.reach import reach_names, reach_samples, reach_series

DISTRIBUTION = "deviate-dl"

#: Files and folders left out that are named; `deviate show` lists all.
ABSENT_SHOWN = 3


def gather(
    folder: ExperimentFolder,
    *,
    level: float = 0.95,
    aggregates: Mapping[str, str] | None = None,
    asked: Asked = NOTHING,
) -> ReportInputs:
    """Read the files of an experiment.

    Parameters
    ----------
    folder : ExperimentFolder
        Where they are.
    level : float, optional
        Confidence level of the intervals, in (0, 1).
    aggregates : mapping of str to str, optional
        Aggregates by metric, where they should differ from the experiment's.

    asked : Asked, optional
        Metrics, weak runs, sizes of test sets, times to get somewhere.

    Raises
    ------
    BadOption
        If an aggregate is unknown, or is given to a metric that has no records.
    """
    experiment = folder.read_experiment()
    ended = [(run, outcome) for run in folder.runs() if (outcome := run.read_outcome()) is not None]
    runs = [run for run, _ in ended]
    names = recorded_names(folder)
    aggregates = settle_aggregates(aggregates or {}, sorted({name for name, _ in names}))
    asked = settle_asked(asked, [name for name, _ in names] + [time.name for time in TIMES])
    return ReportInputs(
        experiment=experiment,
        runs=[_facts(run, outcome) for run, outcome in ended],
        samples=_samples(folder, aggregates, asked, names),
        series=[*_series(names), *reach_series(asked.reach)],
        metrics=_chosen(asked),
        weak=asked.weak,
        test_sizes=asked.test_sizes,
        seeds=replaced_seeds(runs),
        seeds_kept=kept_seeds(runs),
        draws=reached_draws(runs, experiment.draws),
        operations=warned_operations(runs),
        identities=identities(folder, names),
        switches=switches(runs),
        notes=[*_setup_notes(experiment, read_snapshot(folder)), *notes(runs)],
        environment=_environment(runs),
        differences=environment_differences(runs),
        level=level,
        version=version(DISTRIBUTION),
    )


def _chosen(asked: Asked) -> tuple[str, ...]:
    """Return the metrics to tell of; none: all. What was asked for by its own option is among them."""
    reached = [name for bar in asked.reach for name in reach_names(bar)]
    return (*asked.metrics, *reached) if asked.metrics else ()


def _samples(
    folder: ExperimentFolder, aggregates: Mapping[str, str] | None, asked: Asked, names: list[tuple[str, int]]
) -> pd.DataFrame:
    """Return the samples of all metrics, and those of how long it took to get somewhere."""
    found = samples(folder, aggregates)
    if not asked.reach:
        return found
    known = measured_metrics(folder.read_experiment(), names)
    reached = reach_samples(records(folder), asked.reach, {metric.name: metric.direction for metric in known})
    return pd.concat([part for part in (found, reached) if len(part)], ignore_index=True)


def _setup_notes(experiment: Experiment, snapshot: Snapshot) -> list[RuntimeNote]:
    """Say what was not wrapped, and what runs do not find although the project has it."""
    skipped = [RuntimeNote(slug="not-instrumented-value", message=note) for note in experiment.notes]
    if experiment.imported:
        skipped += [RuntimeNote(slug="imported", message=note) for note in experiment.imported.notes]
    absent = [f"{item.path} ({item.reason})" for item in snapshot.left_out if item.reason == CHECKPOINT]
    absent += [f"{item.path} (looks like results outside the project)" for item in snapshot.outside if not item.linked]
    more = f" and {len(absent) - ABSENT_SHOWN} more" if len(absent) > ABSENT_SHOWN else ""
    message = f"Left out of the runs: {', '.join(absent[:ABSENT_SHOWN])}{more}. --include PATH brings it."
    return [*skipped, *([RuntimeNote(slug="left-out", message=message)] if absent else [])]


def settle_aggregates(aggregates: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Write the metrics that aggregates are chosen for as they were recorded.

    Raises
    ------
    BadOption
        If there is no such aggregate or metric.
    """
    for aggregate in aggregates.values():
        check_aggregate(aggregate)
    return {find_name(name, names): aggregate for name, aggregate in aggregates.items()}


def _facts(run: RunFolder, outcome: Outcome) -> RunFacts:
    info = run.read_info()
    unfinished = outcome if isinstance(outcome, Unfinished) else None
    hints = [unfinished.hint] if unfinished and unfinished.hint else []
    return RunFacts(
        variant=run.run.variant,
        index=run.run.index,
        status=outcome.status,
        seconds=outcome.seconds,
        reason=unfinished.reason if unfinished else "",
        stderr_tail=unfinished.stderr if unfinished else [],
        seeds=(info.seeds or {}) if info else {},
        prints=fingerprints(run),
        warnings=[*outcome.warnings, *hints],
        threads=info.threads if info else None,
        cores=(info.cores or []) if info else [],
        platform=(info.platform or "") if info else "",
        has_gpu=used_gpu(run),
        bit=turned_bit(run),
        started=info.started if info else "",
        host=info.host if info else "",
        slot=info.slot if info else None,
    )


def _series(names: list[tuple[str, int]]) -> list[Series]:
    recorded = [Series(name=name, metric=source if source >= 0 else None) for name, source in names]
    return [*recorded, *(Series(name=time.name, unit=time.unit) for time in TIMES)]


def _environment(runs: list[RunFolder]) -> dict[str, str]:
    """Return the environment of the first run that told it; where runs differ is told apart."""
    for run in runs:
        if found := environment(run):
            return {key: _text(value) for key, value in found.items()}
    return {}


def _text(value: object) -> str:
    return ", ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)
