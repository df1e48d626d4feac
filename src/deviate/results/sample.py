"""One number per run: which runs count, what they measured, and what was excluded and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from deviate.collect.measured import MeasuredMetric
from deviate.experiment import Direction, Experiment, Kind, Status
from deviate.measure.weak import WeakRuns, weak_beyond, weak_by_mad
from deviate.results.options import Bar, SampleOptions
from deviate.results.reach import FIRST
from deviate.results.run import RunResult

if TYPE_CHECKING:
    import pandas as pd

#: How a run ended, in the words of a reason.
_ENDED: dict[Status, str] = {
    "failed": "failed",
    "timed-out": "timed out",
    "cancelled": "was cancelled",
    "not-instrumented": "was not instrumented",
}


class Excluded(msgspec.Struct, frozen=True, kw_only=True):
    """A run that does not enter the statistics of a metric, and why."""

    run: int
    status: Status
    #: The finite value of a run that did not complete; None where there is none.
    value: float | None = None
    #: The value as text, also for NaN and infinities; empty where nothing was recorded.
    reported: str = ""
    reason: str
    #: It completed with a value, and is left out because the user's rule calls it weak.
    weak: bool = False

    @property
    def not_finite(self) -> bool:
        """Whether the run completed with a value that is NaN or infinite."""
        return self.status == "completed" and self.reported in ("nan", "inf", "-inf")


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One metric under one aggregate over the runs of one variant."""

    name: str
    aggregate: str
    #: Finite values of the completed runs, in the order of `runs`.
    values: list[float]
    #: Index of the run of each value.
    runs: list[int]
    excluded: list[Excluded] = []
    unit: str = ""
    kind: Kind = "quality"
    direction: Direction | None = None
    #: ``file:line`` where the program reports it; empty where a framework or the clock does.
    site: str = ""
    #: Index of the metric in the experiment; None for times and for what was not foreseen.
    source: int | None = None
    #: Whether it was seen in what runs print and write alone, and not in the source.
    observed: bool = False
    #: Number of test examples, where the user gave it.
    test_size: int | None = None
    #: The difference between recipes that the user sets the spread beside, above 0.
    difference: float | None = None
    #: The same with weak runs; None where none was left out.
    including_weak: Sample | None = None

    @property
    def n(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def without_value(self) -> int:
        """Number of completed runs that gave no finite value."""
        return sum(left.status == "completed" and not left.weak for left in self.excluded)


#: Values of a metric by run index.
Values = Mapping[int, float]


def samples_of(
    rows: pd.DataFrame,
    runs: Sequence[RunResult],
    metrics: Mapping[str, MeasuredMetric],
    experiment: Experiment,
    options: SampleOptions,
) -> list[Sample]:
    """Return the samples of one variant, in the order of `rows`.

    Parameters
    ----------
    rows : DataFrame
        Columns ``metric``, ``aggregate``, ``run`` and ``value``: one number per completed run of the variant and
        metric, not finite ones included.
    runs, metrics, experiment, options
        All runs of the variant that have ended; what is known of each name in `rows`; where metrics are reported; and
        options in which metrics are named as they were recorded.
    """
    values: dict[tuple[str, str], dict[int, float]] = {}
    for name, aggregate, run, value in zip(rows["metric"], rows["aggregate"], rows["run"], rows["value"], strict=True):
        values.setdefault((str(name), str(aggregate)), {})[int(run)] = float(value)
    completed = {run.index for run in runs if run.status == "completed"}
    finished = {
        name: {run: value for run, value in each.items() if run in completed} for (name, _), each in values.items()
    }
    weak = weak_runs(options.weak, finished, {name: metrics[name].direction for name in finished})
    return [
        _sample(metrics[name], aggregate, each, runs, experiment, options, weak)
        for (name, aggregate), each in values.items()
    ]


def _sample(
    metric: MeasuredMetric, aggregate: str, values: Values, runs: Sequence[RunResult], experiment: Experiment,
    options: SampleOptions, weak: Mapping[int, str],
) -> Sample:  # fmt: skip
    """Make the sample without weak runs; where there are some, also with them."""
    included = {
        run.index: values[run.index]
        for run in runs
        if run.status == "completed" and math.isfinite(values.get(run.index, math.nan))
    }
    undirected = aggregate == "best" and metric.direction is None
    whole = Sample(
        name=metric.name,
        aggregate=aggregate,
        values=list(included.values()),
        runs=list(included),
        excluded=[
            _excluded(run, values.get(run.index), undirected, aggregate) for run in runs if run.index not in included
        ],
        unit=metric.unit,
        kind=metric.kind,
        direction=metric.direction,
        site=_site(metric, experiment),
        source=metric.source,
        observed=metric.observed,
        test_size=options.test_sizes.get(metric.name),
        difference=options.differences.get(metric.name),
    )
    lost = [run for run in whole.runs if run in weak]
    if not lost:
        return whole
    kept = {run: value for run, value in included.items() if run not in lost}
    left = [
        Excluded(
            run=run, status="completed", value=values[run], reported=repr(values[run]), reason=weak[run], weak=True
        )
        for run in lost
    ]
    return msgspec.structs.replace(
        whole,
        values=list(kept.values()),
        runs=list(kept),
        excluded=[*whole.excluded, *left],
        including_weak=whole,
    )


def _site(metric: MeasuredMetric, experiment: Experiment) -> str:
    reported = None if metric.source is None else experiment.all_metrics[metric.source]
    return f"{reported.file}:{reported.line}" if reported and reported.file else ""


def _excluded(run: RunResult, value: float | None, undirected: bool, aggregate: str) -> Excluded:
    return Excluded(
        run=run.index,
        status=run.status,
        value=value if value is not None and math.isfinite(value) else None,
        reported="" if value is None or undirected else repr(value),
        reason=_reason(run, value, undirected, aggregate),
    )


def _reason(run: RunResult, value: float | None, undirected: bool, aggregate: str) -> str:
    if run.status != "completed":
        return f"the run {_ENDED[run.status]}"
    if value is None:
        return "no record of this metric"
    if undirected:
        return "no direction is known, so no value is the best"
    if aggregate == FIRST and math.isnan(value):
        return "it never got there"
    return "the value is NaN" if math.isnan(value) else "the value is infinite"


def weak_runs(
    bars: Iterable[Bar], samples: Mapping[str, Values], directions: Mapping[str, Direction | None]
) -> dict[int, str]:
    """Return the indices of weak runs, each with the user's rule that says so.

    `samples` are by metric the completed runs' values, by index. A run without one is not judged by it.
    """
    reasons: dict[int, str] = {}
    for bar in bars:
        values = samples.get(bar.metric, {})
        indices = list(values)
        weak = _weak(bar, [values[index] for index in indices], directions.get(bar.metric))
        for position in weak.places:
            no_number = bar.bar is None and not math.isfinite(values[indices[position]])
            rule = "its value is no number" if no_number else weak.rule
            reasons.setdefault(indices[position], f"weak by {bar.metric}: {rule}")
    return reasons


def _weak(bar: Bar, values: list[float], direction: Direction | None) -> WeakRuns:
    if bar.sign is None or bar.bar is None:
        return weak_by_mad(np.array(values), direction)
    return weak_beyond(np.array(values), bar.sign, bar.bar)
