"""How much the runs of one variant differ in one metric."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from deviate.measure.bootstrap import bootstrap_mean_intervals, bootstrap_sd_intervals
from deviate.measure.intervals import Interval, mean_interval
from deviate.measure.misranking import Misranking, misranking
from deviate.measure.resolution import FiniteTest, Resolution, finite_test, resolution
from deviate.measure.robust_sd import cautious_sd_interval
from deviate.measure.spread import Spread, spread
from deviate.measure.weak import far_from_others
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
    #: The spread beside the difference that the user gave; None where none was given, or the SD is unknown.
    misranking: Misranking | None = None
    #: Bootstrap intervals, which assume no distribution.
    ci_mean_bootstrap: Interval | None = None
    ci_sd_bootstrap: Interval | None = None
    #: The same with weak runs; None where none was left out.
    including_weak: MetricSpread | None = None
    #: Runs whose values are far from the others, by index.
    far: Sequence[int] = ()

    @property
    def collapsed(self) -> list[int]:
        """Runs whose values are far from the others on the worse side; on both where no side is known to be worse."""
        middle = self.spread.median
        if middle is None:
            return []
        values = dict(zip(self.runs, self.values, strict=True))
        worse = {"higher": -1, "lower": 1}.get(self.direction or "")
        return [run for run in self.far if worse is None or (values[run] - middle) * worse > 0]

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
    fields = msgspec.structs.asdict(sample)
    ci_sd = cautious_sd_interval(sample.values, level)
    fields["including_weak"] = measured_sample(sample.including_weak, level) if sample.including_weak else None
    return MetricSpread(
        **fields,
        spread=spread_,
        far=[sample.runs[place] for place in far_from_others(sample.values)],
        ci_mean=mean_interval(sample.values, level),
        ci_sd=ci_sd,
        misranking=misranking(sample.difference, spread_.sd, ci_sd)
        if sample.difference and spread_.sd is not None
        else None,
        resolution=resolved,
        finite_test=finite_test(spread_.sd, resolved) if resolved and spread_.sd is not None else None,
    )


def _resolution(measured: Spread, examples: int | None) -> Resolution | None:
    """Resolve an accuracy whose test size is known; one with values above 1 is read as a percentage."""
    if examples is None or measured.mean is None or measured.min is None or measured.max is None:
        return None
    full = 1.0 if measured.max <= 1 else 100.0
    return resolution(measured.mean, examples, full) if measured.min >= 0 and measured.max <= full else None
