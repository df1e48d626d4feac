"""What the evaluations of runs recorded and printed, beside what their trainings did.

Where files of one of several passes over a run were damaged, the values that come of them are missing of all: a mean of
the others is another number than the one that was reported.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec

from deviate.core.experiment import Experiment, Step
from deviate.observe.derived import RunRecords
from deviate.observe.metrics import MeasuredMetric
from deviate.observe.observation import Observation, ObservedSeries, Printed, observe
from deviate.observe.records import RunFiles, read_run
from deviate.observe.reported import ReportedNumber


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
