"""The metrics that runs reported and that no metric of the source explains, as records beside the others.

Also how far the completed runs of each variant agree in what they reported.

What the evaluations of runs recorded and printed, beside what their trainings did.

Where files of one of several passes over a run were damaged, the values that come of them are missing of all: a mean of
the others is another number than the one that was reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from deviate.core.experiment import Experiment, Metric, ObservedWish, Step
from deviate.lexicon.words import meaning_of
from deviate.observe.derived import RunRecords
from deviate.observe.identity import Identity, RunValues, Series, compare_runs, table_series
from deviate.observe.iterations import STREAMS
from deviate.observe.metrics import MACHINES, OBSERVED, MeasuredMetric, measured_metrics
from deviate.observe.output.judge import load_slots
from deviate.observe.records import RunFiles, read_run, run_table
from deviate.observe.reported import (
    Key,
    MinedRun,
    ReportedNumber,
    RunSeries,
    Values,
    digits,
    judged_together,
    mined_run,
    observed_metric,
    reported_numbers,
)
from deviate.store.folders import RunFolder


@dataclass(frozen=True, eq=False)
class ObservedSeries:
    """The values of an observed metric in one run."""

    run: RunFiles
    #: Of the run among all that were read.
    place: int
    metric: str
    mined: RunSeries
    #: Of an evaluation, the how many-th time it was run, from 0.
    repeat: int = 0

    @property
    def recorded(self) -> Series:
        """The values as those of a record file are read."""
        slot, values = self.mined.series.slot, self.mined.series.values
        positions = np.arange(len(values), dtype=np.int32)
        placed = slot.exact or slot.source in STREAMS
        return Series(self.mined.iterations.astype(np.int32), values, positions, placed, counted=False)


#: A number printed more than so many times as large or as small as it was recorded is a hundredfold or a hundredth.
_SCALED = 10.0


class Printed(NamedTuple):
    """How a program writes a metric: digits behind the point, and ``%`` where that follows."""

    decimals: int
    unit: str


@dataclass(frozen=True, eq=False)
class Observation:
    """What runs reported, seen from outside.

    Attributes
    ----------
    numbers : dict of str to list of ReportedNumber
        By variant, every number that its completed runs reported, with what became of it.
    series : list of ObservedSeries
        The values of observed metrics, run by run.
    left_out : dict of str to int
        By variant, lines with numbers that were not searched: their templates came after too many others.
    damaged : dict of str to list of str
        By run, how its text differs from what it was when the run ended; it is not searched.
    """

    numbers: dict[str, list[ReportedNumber]]
    series: list[ObservedSeries]
    left_out: dict[str, int]
    #: How files of a run differ from what they were when it ended, by run.
    damaged: dict[str, list[str]]
    #: By name, how metrics of the source that are printed as they are recorded are written.
    printed: dict[str, Printed]
    #: By completed run and name, the values of the other metrics, which were read to tell which are observed.
    recorded: dict[str, RunValues]

    def values_of(self, run: str) -> RunValues:
        """Return the values of a completed run by name: of the metrics in its records, and of observed ones."""
        return {**self.recorded[run], **self._observed.get(run, {})}

    @cached_property
    def _observed(self) -> dict[str, dict[str, Series]]:
        by_run: dict[str, dict[str, Series]] = {}
        for each in self.series:
            by_run.setdefault(each.run.name, {})[each.metric] = each.recorded
        return by_run

    @cached_property
    def metrics(self) -> dict[str, MeasuredMetric]:
        """The observed metrics by name; as the first variant has it that has it."""
        numbers = [each for every in self.numbers.values() for each in every if each.observed]
        return {each.metric: observed_metric(each) for each in reversed(numbers)}

    @property
    def names(self) -> list[tuple[str, int]]:
        """Names of the observed metrics, each with `OBSERVED`."""
        return sorted((name, OBSERVED) for name in self.metrics)


def observe(
    runs: Sequence[RunFiles], records: Sequence[RunRecords], wishes: Sequence[ObservedWish] = (),
    keys: Sequence[str] = (), metrics: Sequence[Metric] = (),
) -> Observation:  # fmt: skip
    """Read what runs reported.

    Parameters
    ----------
    runs, records
        Runs in their order, and the records of each; runs that did not complete are passed over.
    wishes : sequence of ObservedWish
        What the user says of numbers in text.
    keys : sequence of str
        What tells the runs apart; their names by default.
    metrics : sequence of Metric
        Those of the source.
    """
    named = dict(zip(keys or [run.name for run in runs], zip(runs, records, strict=True), strict=True))
    by_variant: dict[str, dict[str, MinedRun]] = {}
    recorded: dict[str, RunValues] = {}
    for key, (run, recording) in named.items():
        if run.completed:
            by_variant.setdefault(run.variant, {})[key] = mined_run(run.folder)
            recorded[key] = recording.series
    reported = {
        variant: (
            {key: each.series for key, each in mined.items()},
            {key: {name: series.values for name, series in recorded[key].items()} for key in mined},
        )
        for variant, mined in by_variant.items()
    }
    machines = {metric.name for metric in metrics if metric.kind in MACHINES}
    loads = {key for series, values in reported.values() for key in _loads(series, values, machines)}
    judged = judged_together({variant: series for variant, (series, _) in reported.items()})
    numbers = {
        variant: reported_numbers(series, values, wishes, loads, judged[variant])
        for variant, (series, values) in reported.items()
    }
    series = [
        ObservedSeries(run, place, metric, each)
        for place, (key, (run, _)) in enumerate(named.items())
        if run.completed
        for each, metric in _observed(by_variant[run.variant][key].series, numbers[run.variant])
    ]
    left_out = {variant: sum(each.left_out for each in mined.values()) for variant, mined in by_variant.items()}
    damaged = {run: each.damaged for mined in by_variant.values() for run, each in mined.items() if each.damaged}
    printed = {
        name: each
        for variant, (mined, values) in reversed(reported.items())
        for name, each in _printed(numbers[variant], mined, values)
    }
    return Observation(numbers, series, left_out, damaged, printed, recorded)


def _printed(
    numbers: Sequence[ReportedNumber],
    mined: Mapping[str, Sequence[RunSeries]],
    recorded: Mapping[str, Mapping[str, Values]],
) -> Iterator[tuple[str, Printed]]:
    """Yield metrics of the source with how they are written; the first way comes last.

    A share that is recorded as a fraction and printed in percent is another number.
    """
    run, series = next(iter(mined.items()))
    values = {each.series.slot.key: each.series.values for each in series}
    for number in reversed(numbers):
        shown, own = values.get(number.key), recorded[run].get(number.metric)
        if number.decimals is None or number.observed or shown is None or own is None:
            continue
        if _largest(own) < _SCALED * _largest(shown) < _SCALED**2 * _largest(own):
            yield number.metric, Printed(number.decimals, "%" if number.unit == "%" else "")


def _largest(values: Values) -> float:
    return float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0))


def _loads(
    mined: Mapping[str, Sequence[RunSeries]], recorded: Mapping[str, Mapping[str, Values]], machines: Collection[str]
) -> set[Key]:
    return load_slots({run: [each.series for each in series] for run, series in mined.items()}, recorded, machines)


def reports_metric(folder: RunFolder) -> bool:
    """Tell whether a run that has ended reported a number that looks like a metric."""
    mined = {folder.run.folder: mined_run(folder).series}
    return any(each.metric for each in reported_numbers(mined, {}))


def _observed(mined: Sequence[RunSeries], numbers: Sequence[ReportedNumber]) -> list[tuple[RunSeries, str]]:
    """Return the series of observed metrics; of those that were reported twice, the one with most digits."""
    by_key = {each.series.slot.key: each for each in mined}
    chosen: dict[str, RunSeries] = {}
    # The same one of all runs, which may show more digits of a share or of its percentage.
    for each in sorted(numbers, key=lambda each: -digits(each)):
        if each.observed and each.key in by_key:
            chosen.setdefault(each.metric, by_key[each.key])
    return [(series, metric) for metric, series in chosen.items()]


def record_tables(experiment: Experiment, runs: Iterable[RunFiles]) -> list[RunRecords]:
    """Return the records of runs."""
    names = [metric.name for metric in experiment.metrics]
    return [RunRecords(run.folder, names) for run in runs]


def recorded_names(records: Iterable[RunRecords]) -> list[tuple[str, int]]:
    """Return the names of metrics that have records, each with its index in the experiment (-1: unforeseen)."""
    return sorted({pair for each in records for pair in each.names})


def identities(
    experiment: Experiment, runs: Sequence[RunFiles], recorded: Iterable[tuple[str, int]], observation: Observation
) -> dict[str, Identity]:
    """Return, by variant, how far its runs agree; variants with fewer than two have no entry.

    `runs` have completed; `recorded` are the `recorded_names` of their tables, and `observation` has their values.
    """
    measured = measured_metrics(experiment, [*recorded, *observation.names], observation.metrics)
    passed_over = {metric.name for metric in measured if metric.kind in MACHINES}
    by_variant: dict[str, dict[str, RunValues]] = {}
    for run in runs:
        by_variant.setdefault(run.variant, {})[run.name] = observation.values_of(run.name)
    return {
        name: compare_runs(values, passed_over, experiment.word)
        for name, values in by_variant.items()
        if len(values) > 1
    }


def repeatable_series(folder: RunFolder, metrics: Sequence[Metric]) -> dict[str, Series]:
    """Return the values that a run recorded so far by metric, without those that measure the machine."""
    series = table_series(run_table(folder, [metric.name for metric in metrics]))
    return {name: each for name, each in series.items() if is_repeatable(name, metrics)}


def is_repeatable(name: str, metrics: Sequence[Metric]) -> bool:
    """Tell whether runs that do the same report the same under a name: it measures neither time nor the machine."""
    meaning = meaning_of(name)
    kind = next((metric.kind for metric in metrics if metric.name == name), None)
    return (kind or (meaning.kind if meaning is not None else "quality")) not in MACHINES


@dataclass(frozen=True)
class Pass:
    """One pass of an evaluation over one run, which completed."""

    repeat: int
    run: RunFiles
    #: Of the run among all.
    place: int
    records: RunRecords

    @property
    def key(self) -> str:
        """What tells it from other passes over any run."""
        return f"{self.run.name}/{self.repeat}"


@dataclass(frozen=True)
class Evaluated:
    """An evaluation and its completed passes; a run with a damaged pass is left out."""

    step: Step
    #: Files of each pass over every run, completed or not.
    every: list[list[RunFiles]]
    passes: list[Pass]
    #: Position of the evaluation's first metric among all of the experiment.
    offset: int
    #: Of all passes together: what a number is shows where it varies.
    observation: Observation

    @property
    def damaged(self) -> list[tuple[Pass, list[str]]]:
        """Passes whose text was damaged, with how."""
        return [
            (each, self.observation.damaged[each.key]) for each in self.passes if each.key in self.observation.damaged
        ]

    @property
    def series(self) -> list[ObservedSeries]:
        """The values of observed metrics, under their names in results."""
        unread = {each.place for each, _ in self.damaged}
        placed = [(each, self.passes[each.place]) for each in self.observation.series]
        return [
            ObservedSeries(each.run, one.place, self.step.prefix + each.metric, each.mined, one.repeat)
            for each, one in placed
            if one.place not in unread
        ]

    @property
    def observed(self) -> dict[str, MeasuredMetric]:
        """The observed metrics, under their names in results."""
        return {
            name: msgspec.structs.replace(metric, name=name)
            for each, metric in self.observation.metrics.items()
            for name in [self.step.prefix + each]
        }

    @property
    def printed(self) -> dict[str, Printed]:
        """How its metrics are written, under their names in results."""
        return {self.step.prefix + name: each for name, each in self.observation.printed.items()}

    @property
    def numbers(self) -> dict[str, list[ReportedNumber]]:
        """What it printed, by variant, with metrics under their names in results."""
        return {
            variant: [
                msgspec.structs.replace(each, metric=self.step.prefix + each.metric) if each.metric else each
                for each in numbers
            ]
            for variant, numbers in self.observation.numbers.items()
        }


def read_evaluated(experiment: Experiment, runs: Sequence[RunFiles]) -> list[Evaluated]:
    """Read the evaluations of `runs`."""
    evaluated, offset = [], len(experiment.metrics)
    for step in experiment.evaluations:
        evaluated.append(_evaluated(step, runs, offset))
        offset += len(step.metrics)
    return evaluated


def _evaluated(step: Step, runs: Sequence[RunFiles], offset: int) -> Evaluated:
    every = [[read_run(run.folder.step(step.name, repeat)) for run in runs] for repeat in range(step.repeat)]
    harmed = {place for each in every for place, run in enumerate(each) if run.damage}
    passes = [one for repeat, each in enumerate(every) for one in _passes(step, repeat, each, harmed)]
    observation = observe(
        [each.run for each in passes],
        [each.records for each in passes],
        keys=[each.key for each in passes],
        metrics=step.metrics,
    )
    return Evaluated(step, every, passes, offset, observation)


def _passes(step: Step, repeat: int, runs: list[RunFiles], harmed: Collection[int]) -> list[Pass]:
    names = [metric.name for metric in step.metrics]
    return [
        Pass(repeat, run, place, RunRecords(run.folder, names))
        for place, run in enumerate(runs)
        if run.completed and place not in harmed
    ]
