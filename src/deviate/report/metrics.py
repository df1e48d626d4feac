"""From samples to metric reports: which runs count, what they measured, what was left out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from deviate.collect.measured import TIMES, MeasuredMetric, measured_metrics, missing_metrics
from deviate.experiment import Metric
from deviate.measure.bootstrap import bootstrap_mean_intervals, bootstrap_sd_intervals
from deviate.measure.intervals import mean_interval, sd_interval
from deviate.measure.resolution import Resolution, finite_test, resolution
from deviate.measure.sample import split_finite
from deviate.measure.spread import Spread, spread
from deviate.report.inputs import ReportInputs, RunFacts, Series
from deviate.report.parts import Excluded, MetricReport
from deviate.report.reach import FIRST
from deviate.report.weak import weak_runs
from deviate.report.words import ENDED

#: Kinds of metrics with a true zero: times, rates and amounts.
RATIO_SCALES = ("speed", "resource")

#: (metric, aggregate) -> run -> value, in the order in which metrics are listed.
Samples = dict[tuple[str, str], dict[int, float]]


def variant_metrics(inputs: ReportInputs, variant: str, runs: list[RunFacts]) -> list[MetricReport]:
    """Measure every metric of one variant.

    Returns
    -------
    list of MetricReport
        In the order of the experiment; `order.ordered` gives the one for readers.
    """
    samples = variant_samples(inputs, variant)
    weak = _weak(samples, runs, inputs)
    reports = [
        _without_weak(identify(name, inputs), aggregate, values, runs, inputs, weak)
        for (name, aggregate), values in samples.items()
    ]
    return _bootstrapped(reports, inputs)


def _weak(samples: Samples, runs: list[RunFacts], inputs: ReportInputs) -> dict[int, str]:
    """Return the completed runs that the user's rules call weak, each with the rule."""
    if not inputs.weak:
        return {}
    completed = {run.index for run in runs if run.status == "completed"}
    values = {
        name: {run: value for run, value in found.items() if run in completed} for (name, _), found in samples.items()
    }
    return weak_runs(inputs.weak, values, {name: identify(name, inputs).direction for name in values})


def _without_weak(
    known: MeasuredMetric, aggregate: str, values: Mapping[int, float], runs: list[RunFacts], inputs: ReportInputs,
    weak: Mapping[int, str],
) -> MetricReport:  # fmt: skip
    """Measure a metric without weak runs; where there are some, also with them."""
    whole = _measured(known, aggregate, values, runs, inputs)
    lost = [run for run in whole.runs if run in weak]
    if not lost:
        return whole
    kept = {run: value for run, value in values.items() if run not in lost}
    left = [
        Excluded(
            run=run, status="completed", value=values[run], reported=repr(values[run]), reason=weak[run], weak=True
        )
        for run in lost
    ]
    without = _measured(known, aggregate, kept, [run for run in runs if run.index not in lost], inputs)
    return msgspec.structs.replace(without, excluded=[*without.excluded, *left], including_weak=whole)


def _bootstrapped(reports: list[MetricReport], inputs: ReportInputs) -> list[MetricReport]:
    """Add the bootstrap intervals; all metrics of the same number of runs share their resamples."""
    samples = [report.values for report in reports]
    # Seeded by the experiment, so that the same results always give the same report.
    means = bootstrap_mean_intervals(samples, np.random.default_rng(inputs.experiment.seed), inputs.level)
    sds = bootstrap_sd_intervals(samples, np.random.default_rng(inputs.experiment.seed), inputs.level)
    return [
        msgspec.structs.replace(report, ci_mean_bootstrap=mean, ci_sd_bootstrap=sd)
        for report, mean, sd in zip(reports, means, sds, strict=True)
    ]


def variant_samples(inputs: ReportInputs, variant: str) -> Samples:
    """Read the samples of one variant off the frame, in their order."""
    samples: Samples = {}
    rows = inputs.samples[inputs.samples["variant"] == variant]
    for name, aggregate, run, value in zip(rows["metric"], rows["aggregate"], rows["run"], rows["value"], strict=True):
        samples.setdefault((str(name), str(aggregate)), {})[int(run)] = float(value)
    return samples


def identify(name: str, inputs: ReportInputs) -> MeasuredMetric:
    """Find out what is known about a recorded name."""
    time = next((time for time in TIMES if time.name == name), None)
    if time is not None:
        return time
    series = next((series for series in inputs.series if series.name == name), Series(name=name))
    source = -1 if series.metric is None else series.metric
    found = measured_metrics(inputs.experiment, [(name, source)])[0]
    return msgspec.structs.replace(
        found,
        unit=series.unit or found.unit,
        kind=series.kind or found.kind,
        direction=series.direction or found.direction,
    )


def silent_metrics(inputs: ReportInputs, recorded: Iterable[str]) -> list[Metric]:
    """List the selected metrics from which none of the `recorded` names came."""
    sources = ((name, identify(name, inputs).source) for name in recorded)
    return missing_metrics(inputs.experiment, [(name, -1 if source is None else source) for name, source in sources])


def _measured(
    known: MeasuredMetric, aggregate: str, values: Mapping[int, float], runs: list[RunFacts], inputs: ReportInputs
) -> MetricReport:
    completed = [run.index for run in runs if run.status == "completed" and run.index in values]
    parted = split_finite([values[index] for index in completed])
    found = spread(parted.finite, ratio_scale=known.kind in RATIO_SCALES)
    undirected = aggregate == "best" and known.direction is None
    excluded = (_excluded(run, values.get(run.index), undirected, aggregate) for run in runs)
    # An average over iterations is no share of correct answers of one model.
    averaged = aggregate in ("mean", "area")
    resolved = None if averaged else _resolution(found, inputs.test_sizes.get(known.name))
    return MetricReport(
        name=known.name,
        aggregate=aggregate,
        spread=found,
        ci_mean=mean_interval(parted.finite, inputs.level),
        ci_sd=sd_interval(parted.finite, inputs.level),
        values=parted.finite.tolist(),
        runs=[completed[place] for place in parted.kept],
        excluded=[left_out for left_out in excluded if left_out],
        unit=known.unit,
        kind=known.kind,
        direction=known.direction,
        site=_site(known, inputs),
        resolution=resolved,
        finite_test=finite_test(found.sd, resolved) if resolved and found.sd is not None else None,
    )


def _site(known: MeasuredMetric, inputs: ReportInputs) -> str:
    metric = None if known.source is None else inputs.experiment.metrics[known.source]
    return f"{metric.file}:{metric.line}" if metric and metric.file else ""


def _excluded(run: RunFacts, value: float | None, undirected: bool, aggregate: str) -> Excluded | None:
    finite = value is not None and math.isfinite(value)
    if run.status == "completed" and finite:
        return None
    return Excluded(
        run=run.index,
        status=run.status,
        value=value if finite else None,
        reported="" if value is None or undirected else repr(value),
        reason=_why_excluded(run, value, undirected, aggregate),
    )


def _why_excluded(run: RunFacts, value: float | None, undirected: bool, aggregate: str) -> str:
    if run.status != "completed":
        return f"the run {ENDED[run.status]}"
    if value is None:
        return "no record of this metric"
    if undirected:
        return "no direction is known, so no value is the best"
    if aggregate == FIRST and math.isnan(value):
        return "it never got there"
    return "the value is NaN" if math.isnan(value) else "the value is infinite"


def _resolution(found: Spread, examples: int | None) -> Resolution | None:
    """Resolve an accuracy whose test size is known; one with values above 1 is read as a percentage."""
    if examples is None or found.mean is None or found.min is None or found.max is None:
        return None
    full = 1.0 if found.max <= 1 else 100.0
    return resolution(found.mean, examples, full) if found.min >= 0 and found.max <= full else None
