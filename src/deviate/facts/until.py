"""How runs stand to the criterion of ``--until``, which decided how many were made."""

from __future__ import annotations

from typing import Literal

import msgspec

from deviate.core.experiment import Until
from deviate.facts.metric import MetricSpread
from deviate.stats.intervals import Interval
from deviate.stats.multiplicity import look


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """How the runs of a variant stand to the criterion that decided how many of them were made."""

    #: As it was typed.
    criterion: str
    metric: str
    of: Literal["mean", "sd"]
    met: bool
    #: Runs with a finite value of the metric.
    n: int
    #: Half-width of the t interval of the mean, in its unit; of that of an SD, as a share of it, where `relative`.
    half_width: float | None
    wanted: float
    relative: bool
    #: The one that keeps its level.
    interval: Interval
    #: Runs it is expected to take in all.
    expected: int | None
    #: Runs of the variant that have ended, however, and how many are made at most.
    made: int
    most: int
    #: All values are exactly equal.
    identical: bool
    #: Mean or SD of the metric, as `of` says, and the metric's SD and unit.
    value: float | None
    sd: float | None
    unit: str
    #: Digits behind the point, as the program writes the metric; None where that is not known.
    decimals: int | None


def stopped_by(until: Until | None, metrics: list[MetricSpread], made: int) -> Stopped | None:
    """Compare the runs of a variant with the criterion; None without one, or without its metric.

    `made` are the runs of the variant that have ended, however.
    """
    metric = next((each for each in metrics if until and each.name == until.metric), None)
    if until is None or metric is None:
        return None
    return Stopped(
        criterion=until.text,
        metric=until.metric,
        of=until.of,
        **msgspec.structs.asdict(look(metric.values, until)),
        relative=until.of == "sd",
        made=made,
        most=until.most,
        value=metric.spread.sd if until.of == "sd" else metric.spread.mean,
        sd=metric.spread.sd,
        unit=metric.unit,
        decimals=metric.decimals,
    )


def with_stopped(metrics: list[MetricSpread], until: Until | None, stopped: Stopped | None) -> list[MetricSpread]:
    """Put the interval that is true after stopping in the place of that of a fixed number of runs."""
    if until is None or stopped is None:
        return metrics
    return [_replaced(metric, until, stopped) if metric.name == until.metric else metric for metric in metrics]


def _replaced(metric: MetricSpread, until: Until, stopped: Stopped) -> MetricSpread:
    known = metric.ci_sd if until.of == "sd" else metric.ci_mean
    if known.level != until.level:
        return metric
    if until.of == "sd":
        return msgspec.structs.replace(metric, ci_sd=stopped.interval)
    return msgspec.structs.replace(metric, ci_mean=stopped.interval)
