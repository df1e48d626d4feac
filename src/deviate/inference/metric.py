"""How much the runs of one variant differ in one metric."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from deviate.experiment import Direction
from deviate.measure.bootstrap import bootstrap_mean_intervals, bootstrap_sd_intervals
from deviate.measure.intervals import Interval, mean_interval
from deviate.measure.misranking import Misranking, misranking
from deviate.measure.resolution import FiniteTest, Resolution, finite_test, resolution
from deviate.measure.robust_sd import cautious_sd_interval
from deviate.measure.spread import Spread, spread
from deviate.measure.weak import collapsed_runs, far_from_others
from deviate.results.sample import Sample

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
    """Return both with the runs that are collapsed beside those of the other side, too."""
    if direction is None:
        return a, b
    behind = collapsed_runs([a.values, b.values], direction)
    both = [
        msgspec.structs.replace(side, collapsed=sorted({*side.collapsed, *(side.runs[place] for place in places)}))
        for side, places in zip((a, b), behind, strict=True)
    ]
    return both[0], both[1]


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
