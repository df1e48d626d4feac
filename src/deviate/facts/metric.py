"""How much the runs of one variant differ in one metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from deviate.core.experiment import Direction
from deviate.facts.run import RunResult
from deviate.facts.samples import Sample
from deviate.facts.stored import Results
from deviate.observe.headline import group, main_metric
from deviate.observe.metrics import TIME_PER_ITERATION, TIME_PER_RUN
from deviate.stats.failures import collapsed_runs, far_from_others
from deviate.stats.intervals import (
    Interval,
    bootstrap_mean_intervals,
    bootstrap_sd_intervals,
    cautious_sd_interval,
    mean_interval,
)
from deviate.stats.power import Misranking, misranking
from deviate.stats.spread import FiniteTest, Floats, Resolution, Spread, finite_test, resolution, spread

#: Kinds of metrics with a true zero: times, rates and amounts.
RATIO_SCALES = ("speed", "resource")


class MetricSpread(Sample, frozen=True, kw_only=True):
    """A sample with its spread."""

    spread: Spread
    ci_mean: Interval
    ci_sd: Interval
    resolution: Resolution | None = None
    #: The spread beside what the finite test set does by itself; None where its size is not known.
    finite_test: FiniteTest | None = None
    #: The spread beside the difference that the user gave; None where none was given, the SD is unknown, or it
    #: describes no run since some are far from the others.
    misranking: Misranking | None = None
    #: Bootstrap intervals, which assume no distribution.
    ci_mean_bootstrap: Interval | None = None
    ci_sd_bootstrap: Interval | None = None
    #: The same with weak runs; None where none was left out.
    including_weak: MetricSpread | None = None
    #: Runs whose values are far from the others, by index.
    far: Sequence[int] = ()
    #: Runs whose values are far from the others on the worse side; on both where no side is known to be worse.
    collapsed: Sequence[int] = ()

    @property
    def lost(self) -> list[int]:
        """Runs that failed, gave no finite value or were left out as weak; none of those that the user stopped."""
        return [left.run for left in self.excluded if left.status != "cancelled"]

    @property
    def unsuccessful(self) -> list[int]:
        """Runs that were lost or collapsed."""
        return [*self.lost, *self.collapsed]

    @property
    def tried(self) -> int:
        """Number of runs that ended, but for those that the user stopped."""
        return self.n + len(self.lost)


def metric_spreads(samples: Sequence[Sample], level: float, seed: int) -> list[MetricSpread]:
    """Measure the samples of one variant, in their order; `level` is the confidence level, in (0, 1).

    `seed` is of the bootstrap: the experiment's, so that the same results always give the same report.
    """
    measured = [measured_sample(sample, level) for sample in samples]
    values = [metric.values for metric in measured]
    # All metrics of the same number of runs share their resamples.
    means = bootstrap_mean_intervals(values, np.random.default_rng(seed), level)
    sds = bootstrap_sd_intervals(values, np.random.default_rng(seed), level)
    return [
        msgspec.structs.replace(metric, ci_mean_bootstrap=mean, ci_sd_bootstrap=sd)
        for metric, mean, sd in zip(measured, means, sds, strict=True)
    ]


def measured_sample(sample: Sample, level: float) -> MetricSpread:
    """Measure one sample, without bootstrap intervals; `level` is the confidence level, in (0, 1)."""
    spread_ = spread(sample.values, ratio_scale=sample.kind in RATIO_SCALES)
    # An average over iterations is no share of correct answers of one model.
    averaged = sample.aggregate in ("mean", "area")
    resolved = None if averaged else _resolution(spread_, sample.test_size)
    fields = {name: getattr(sample, name) for name in Sample.__struct_fields__}
    ci_sd = cautious_sd_interval(sample.values, level)
    fields["including_weak"] = measured_sample(sample.including_weak, level) if sample.including_weak else None
    far, collapsed = _far(sample, spread_.median)
    return MetricSpread(
        **fields,
        spread=spread_,
        far=[sample.runs[place] for place in far],
        collapsed=[sample.runs[place] for place in collapsed],
        ci_mean=mean_interval(sample.values, level),
        ci_sd=ci_sd,
        misranking=misranking(sample.difference, spread_.sd, ci_sd)
        if sample.difference and spread_.sd is not None and not far
        else None,
        resolution=resolved,
        finite_test=finite_test(spread_.sd, resolved) if resolved and spread_.sd is not None else None,
    )


def _far(sample: Sample, median: float | None) -> tuple[list[int], list[int]]:
    """Return the positions of the values that are far from the others, and of those that are collapsed."""
    if sample.direction is None or median is None:
        far = far_from_others(sample.values)
        return far, far
    (behind,) = collapsed_runs([sample.values], sample.direction)
    far = behind or far_from_others(sample.values)
    sign = 1 if sample.direction == "lower" else -1
    return far, behind or [place for place in far if (sample.values[place] - median) * sign > 0]


def with_common_collapses(
    a: MetricSpread, b: MetricSpread, direction: Direction | None
) -> tuple[MetricSpread, MetricSpread]:
    """Return both with the runs that are collapsed beside those of the other side, too.

    A run that is no better than one that collapsed, on either side, has collapsed: left in on one side alone, the tail
    that both have would be a difference. A side that lies behind all of the other is worse, and judged by itself.
    """
    if direction is None:
        return a, b
    sign = 1 if direction == "higher" else -1
    values = [sign * np.array(side.values) for side in (a, b)]
    behind = collapsed_runs(values, "higher")
    lost = [_behind(side, each, places) for side, each, places in zip((a, b), values, behind, strict=True)]
    if values[0].size and values[1].size and not _are_apart(*values):
        bar = max(
            (float(each[place]) for each, places in zip(values, lost, strict=True) for place in places),
            default=-math.inf,
        )
        lost = [np.flatnonzero(each <= bar).tolist() for each in values]
    first, second = (
        msgspec.structs.replace(side, collapsed=[side.runs[place] for place in places])
        for side, places in zip((a, b), lost, strict=True)
    )
    return first, second


def _behind(side: MetricSpread, values: Floats, places: Sequence[int]) -> list[int]:
    """Return these places and those of runs that are collapsed beside the others of their side; higher is better."""
    own = {place for place, run in enumerate(side.runs) if run in side.collapsed and values[place] < np.median(values)}
    return sorted({*places, *own})


def _are_apart(a: Floats, b: Floats) -> bool:
    return bool(a.max() < b.min() or b.max() < a.min())


def typical_runs(checked: MetricSpread, other: MetricSpread) -> tuple[Sample, Sample]:
    """Return both without their collapsed runs; as they are where that leaves the other side with less than two."""
    places = [[at for at, run in enumerate(side.runs) if run not in side.collapsed] for side in (checked, other)]
    if not (checked.collapsed or other.collapsed) or len(places[1]) < 2:
        return checked, other
    return narrowed_sample(checked, places[0]), narrowed_sample(other, places[1])


def narrowed_sample(sample: Sample, places: Sequence[int]) -> Sample:
    """Return some of the runs of a sample, by their places among its values; not measured."""
    fields = {name: getattr(sample, name) for name in Sample.__struct_fields__}
    return Sample(**{**fields, **{name: [fields[name][place] for place in places] for name in ("values", "runs")}})


def _resolution(measured: Spread, examples: int | None) -> Resolution | None:
    """Resolve an accuracy whose test size is known; one with values above 1 is read as a percentage."""
    if examples is None or measured.mean is None or measured.min is None or measured.max is None:
        return None
    full = 1.0 if measured.max <= 1 else 100.0
    return resolution(measured.mean, examples, full) if measured.min >= 0 and measured.max <= full else None


def reported_of(metrics: Iterable[MetricSpread]) -> list[MetricSpread]:
    """Return the metrics that may lead, with a value; what the clock measures only where the user said so."""
    clock = (TIME_PER_RUN, TIME_PER_ITERATION)
    measured = [metric for metric in metrics if metric.n and (metric.main or metric.name not in clock)]
    return [metric for metric in measured if metric.kind != "speed"] or measured


# The order in which the metrics of an experiment are listed.


def by_cv(metrics: Iterable[MetricSpread]) -> list[MetricSpread]:
    """Return metrics by CV, largest first; those without CV after, as they were."""
    return sorted(metrics, key=lambda metric: _cv(metric), reverse=True)


def ordered(measured: Mapping[str, Sequence[MetricSpread]]) -> dict[str, list[MetricSpread]]:
    """Put the metrics of all variants in one order, see `ORDER`; where nothing else tells it is that of the experiment.

    Of the CVs of a metric in several variants the largest counts, so that its position is the same in all of them.
    """
    every = [metric for metrics in measured.values() for metric in metrics]
    reported = reported_of(every)
    main = main_metric(reported) if reported else None
    largest: dict[tuple[str, str], float] = {}
    for metric in every:
        largest[_key(metric)] = max(largest.get(_key(metric), -math.inf), _cv(metric))
    positions = {key: position for position, key in enumerate(largest)}

    def rank(metric: MetricSpread) -> tuple[bool, int, float, int]:
        key = _key(metric)
        other = main is None or key != _key(main)
        return other, group(metric.kind, metric.direction), -largest[key], positions[key]

    return {variant: sorted(metrics, key=rank) for variant, metrics in measured.items()}


def _key(metric: MetricSpread) -> tuple[str, str]:
    return metric.name, metric.aggregate


def _cv(metric: MetricSpread) -> float:
    return -math.inf if metric.spread.cv is None else metric.spread.cv


# Of how many trainings of a run a number is, where a run holds several.


class TrainingsFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How often the runs of a variant went through their main loop, and how often they reported metrics."""

    #: Each number of trainings that a completed run was seen to have, ascending; empty where no main loop was seen.
    counts: list[int] = []
    #: Whether processes of a run went through the main loop at the same time.
    together: bool = False
    #: How often runs reported each metric that one of them reported more than once, ascending.
    reports: dict[str, list[int]] = {}
    #: Metrics that each run reported once.
    once: list[str] = []
    #: The smallest number of rounds of the main loop in a run.
    rounds: int = 0

    @property
    def several(self) -> bool:
        """Whether a run holds more than one training."""
        return any(count > 1 for count in self.counts)

    @property
    def unplaced(self) -> bool:
        """Whether no main loop was seen, so that nothing shows which numbers are of one training."""
        return not self.counts


def trainings_facts(results: Results, variant: str, runs: Sequence[RunResult]) -> TrainingsFacts:
    """Return what is known of a variant; nothing of results that Deviate did not run."""
    if results.experiment.imported is not None:
        return TrainingsFacts()
    seen = [run.trainings for run in runs if run.status == "completed" and run.trainings.count]
    counts = sorted({each.count for each in seen}) or ([1] if variant in results.looped else [])
    reports = results.reports.get(variant, {})
    return TrainingsFacts(
        counts=counts,
        together=any(each.together for each in seen),
        once=[metric for metric, numbers in reports.items() if numbers == [1]],
        reports={metric: numbers for metric, numbers in reports.items() if numbers and numbers[-1] > 1},
        rounds=results.looped.get(variant, 0),
    )
