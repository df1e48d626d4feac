"""What the evaluations of runs recorded and printed, beside what their trainings did.

Where files of one of several passes over a run were damaged, the values that come of them are missing of all: a mean of
the others is another number than the one that was reported.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
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
    """One pass of an evaluation over the runs: those that it completed in, as far as no pass was damaged."""

    step: Step
    repeat: int
    #: What this pass left of every run, whatever came of it.
    every: list[RunFiles]
    runs: list[RunFiles]
    #: Place of each of these runs among all.
    places: list[int]
    #: The records of each.
    files: list[Path]
    #: Position of the evaluation's first metric among all of the experiment.
    offset: int
    observation: Observation
    #: Runs whose text was damaged in one of the passes.
    unread: frozenset[str] = frozenset()

    @property
    def series(self) -> list[ObservedSeries]:
        """The values of observed metrics, under their names in results."""
        return [
            ObservedSeries(each.run, self.places[each.place], self.step.prefix + each.metric, each.mined, self.repeat)
            for each in self.observation.series
            if each.run.name not in self.unread
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
        passes += _passes(step, runs, offset, spare)
        offset += len(step.metrics)
    return passes


def _passes(step: Step, runs: Sequence[RunFiles], offset: int, spare: Path) -> list[Evaluated]:
    passes = [[read_run(run.folder.step(step.name, repeat)) for run in runs] for repeat in range(step.repeat)]
    damaged = {place for every in passes for place, run in enumerate(every) if run.damage}
    made = [_pass(step, repeat, every, damaged, offset, spare) for repeat, every in enumerate(passes)]
    unread = frozenset(run for each in made for run in each.observation.damaged)
    return [replace(each, unread=unread) for each in made]


def _pass(
    step: Step, repeat: int, every: list[RunFiles], damaged: Collection[int], offset: int, spare: Path
) -> Evaluated:
    completed = {place: run for place, run in enumerate(every) if run.completed and place not in damaged}
    aside = spare / f"{step.name}-{repeat}"
    aside.mkdir()
    done = list(completed.values())
    files = [run_parquet(run.folder, [metric.name for metric in step.metrics], aside) for run in done]
    return Evaluated(step, repeat, every, done, list(completed), files, offset, observe(done, files, aside))
