"""What the evaluations of runs recorded and printed, beside what their trainings did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from deviate.collect.measured import MeasuredMetric
from deviate.collect.observation import Observation, ObservedSeries, observe
from deviate.collect.parquet import run_parquet
from deviate.collect.reported import ReportedNumber
from deviate.collect.runs import RunFiles, read_run
from deviate.experiment import Experiment, Step


@dataclass(frozen=True)
class Evaluated:
    """One pass of an evaluation over the runs: those that it completed in."""

    step: Step
    repeat: int
    runs: list[RunFiles]
    #: Place of each of these runs among all.
    places: list[int]
    #: The records of each.
    files: list[Path]
    #: Position of the evaluation's first metric among all of the experiment.
    offset: int
    observation: Observation

    @property
    def series(self) -> list[ObservedSeries]:
        """The values of observed metrics, under their names in results."""
        return [
            ObservedSeries(each.run, self.places[each.place], self.step.prefix + each.metric, each.mined, self.repeat)
            for each in self.observation.series
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
    def numbers(self) -> dict[str, list[ReportedNumber]]:
        """What it printed, by variant, with metrics under their names in results."""
        return {
            variant: [
                msgspec.structs.replace(each, metric=self.step.prefix + each.metric) if each.metric else each
                for each in numbers
            ]
            for variant, numbers in self.observation.numbers.items()
        }


def read_evaluated(experiment: Experiment, runs: Sequence[RunFiles], spare: Path) -> list[Evaluated]:
    """Read the evaluations of `runs`; `spare` is the folder to write to where a run's folder cannot be written."""
    passes, offset = [], len(experiment.metrics)
    for step in experiment.evaluations:
        passes += [_pass(step, repeat, runs, offset, spare) for repeat in range(step.repeat)]
        offset += len(step.metrics)
    return passes


def _pass(step: Step, repeat: int, runs: Sequence[RunFiles], offset: int, spare: Path) -> Evaluated:
    read = [(place, read_run(run.folder.step(step.name, repeat))) for place, run in enumerate(runs)]
    completed = [(place, run) for place, run in read if run.completed]
    aside = spare / f"{step.name}-{repeat}"
    aside.mkdir()
    done = [run for _, run in completed]
    files = [run_parquet(run.folder, [metric.name for metric in step.metrics], aside) for run in done]
    return Evaluated(step, repeat, done, [place for place, _ in completed], files, offset, observe(done, files, aside))
