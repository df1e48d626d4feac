"""Runs that were made already, from which more are planned."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import IMPORTED
from deviate.core.shell_words import typed_word
from deviate.facts.comparable import main_of, pair_runs
from deviate.facts.metric import MetricSpread, measured_sample
from deviate.facts.side import Side
from deviate.observe.metrics import TIME_PER_RUN
from deviate.stats.failures import FailureRate, failure_rate
from deviate.stats.intervals import DEFAULT_LEVEL, cautious_sd_factors, sd_factors
from deviate.stats.paired_tests import correlation

#: The SD of a pilot is too small in about half of all pilots; planned with this one-sided upper limit of it, the power
#: that was asked for is reached with this probability [1]_.
#:
#: .. [1] R. H. Browne, "On the use of a pilot sample for sample size determination", Statistics in Medicine 14, 1995.
CAUTION = 0.8

#: Two-sided level whose upper end is the one-sided limit at `CAUTION`.
_ONE_SIDED = 2 * CAUTION - 1

#: Pairs of pilots below which nothing is known of their differences.
FEWEST_PAIRS = 3


class Pilot(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that were made already."""

    label: str
    variant: str
    metric: str
    aggregate: str
    unit: str
    n: int
    mean: float
    sd: float
    #: Mean wall time of a run; None where it is not known.
    seconds: float | None
    #: Ends of the interval of the SD as multiples of it, and its confidence level; None for one run.
    sd_low: float | None = None
    sd_high: float | None = None
    sd_level: float = DEFAULT_LEVEL
    #: What was measured, with what was left out of it.
    measured: MetricSpread | None = None
    #: The other side of two pilots, as it was typed, and its runs.
    against: str = ""
    n_against: int = 0
    #: Runs that share draws, their correlation and the SD of their differences; 0 and None where runs are not paired.
    pairs: int = 0
    correlation: float | None = None
    sd_differences: float | None = None
    #: Pooled over two pilots that are not paired, else that of the pilot.
    sd_planned: float = math.nan
    #: Degrees of freedom of the SD that the difference is planned with.
    freedom: int = 0
    #: Runs that gave no value.
    failures: FailureRate | None = None
    #: Runs that went on side by side.
    jobs: int = 1
    #: Digits behind the point, as the program writes the metric; None where that is not known.
    decimals: int | None = None


def sd_upper_factor(n: int, certainty: float = CAUTION) -> float:
    """Return the one-sided upper confidence limit of the SD as a multiple of the measured one.

    Examples
    --------
    >>> round(sd_upper_factor(8), 2), round(sd_upper_factor(30), 2)
    (1.35, 1.14)
    """
    return sd_factors(n, 2 * certainty - 1)[1]


def make_pilot(side: Side, metric_name: str | None, *, needs_sd: bool) -> Pilot:
    """Return the runs of a side as a pilot; the metric is the main one unless another is named.

    Raises BadOption if it has no such metric, or no SD although it `needs_sd`.
    """
    if not side.samples:
        raise BadOption(
            f"{side.label} has no metric with a finite value",
            hint=f"`deviate report {typed_word(side.experiment)}` says why",
        )
    name = metric_name or main_of(side.samples, in_order=side.variant != IMPORTED)
    metric = measured_sample(side.sample(name, "--metric"), DEFAULT_LEVEL)
    n = metric.n
    if needs_sd and (n < 2 or metric.spread.identical):
        what = "has fewer than two runs" if n < 2 else "gave the same value in every run"
        raise BadOption(
            f"{metric.name!r} in {side.label} {what}, so it tells no SD to plan with",
            hint="make more runs, name another --metric, or type --set sd=NUMBER",
        )
    low, high = cautious_sd_factors(metric.values, n) if n > 1 else (None, None)
    sd = _sd(metric)
    return Pilot(
        label=side.label,
        variant=side.variant,
        metric=metric.name,
        aggregate=metric.aggregate,
        unit=metric.unit,
        decimals=metric.decimals,
        n=n,
        mean=math.nan if metric.spread.mean is None else metric.spread.mean,
        sd=sd,
        seconds=_seconds(side),
        sd_low=low,
        sd_high=high,
        measured=metric,
        sd_planned=sd,
        freedom=n - 1,
        failures=failure_rate(len(metric.lost), metric.tried, _ONE_SIDED),
        jobs=side.jobs,
    )


def with_other_side(pilot: Pilot, a: Side, b: Side) -> Pilot:
    """Return the pilot `a` with what its runs and those of the other side tell together.

    Raises BadOption if the other side has no value of the metric, or all pairs differ by the same amount.
    """
    first, second = (measured_sample(side.sample(pilot.metric, "--metric"), DEFAULT_LEVEL) for side in (a, b))
    if not second.values:
        raise BadOption(
            f"{b.label} has no finite value of {pilot.metric!r}",
            hint=f"`deviate report {typed_word(b.experiment)}` says why",
        )
    lost = failure_rate(len(first.lost) + len(second.lost), first.tried + second.tried, _ONE_SIDED)
    both = msgspec.structs.replace(pilot, against=b.label, n_against=second.n, failures=lost)
    places = pair_runs(a, b, "auto").positions(first, second)
    x, y = np.asarray(first.values), np.asarray(second.values)
    if len(places) < FEWEST_PAIRS:
        freedom = x.size + y.size - 2
        parts = [math.sqrt(each.n - 1) * _sd(each) for each in (first, second) if each.n > 1]
        pooled = math.hypot(*parts) / math.sqrt(freedom) if freedom else math.nan
        return msgspec.structs.replace(both, sd_planned=pooled, freedom=freedom)
    left, right = (values[[place[side] for place in places]] for side, values in enumerate((x, y)))
    differences = left - right
    if np.ptp(differences) == 0:
        raise BadOption(
            f"all pairs of {a.label} and {b.label} differ by the same amount, so they tell no SD to plan with",
            hint="make more runs, or leave --against out",
        )
    return msgspec.structs.replace(
        both,
        pairs=len(places),
        correlation=correlation(left, right),
        sd_differences=float(differences.std(ddof=1)),
        freedom=len(places) - 1,
    )


def _sd(metric: MetricSpread) -> float:
    return math.nan if metric.spread.sd is None else metric.spread.sd


def _seconds(side: Side) -> float | None:
    times = next((sample.values for sample in side.samples if sample.name == TIME_PER_RUN), [])
    return float(np.mean(times)) if times else None
