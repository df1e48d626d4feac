"""The facts about the runs of one variant.

How runs stand to the criterion of ``--until``, which decided how many were made.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import Status, Until
from deviate.facts.metric import (
    MetricSpread,
    TrainingsFacts,
    measured_sample,
    narrowed_sample,
    reported_of,
    trainings_facts,
)
from deviate.facts.proof import VariantProof, variant_proof
from deviate.facts.run import RunResult
from deviate.facts.stored import Results
from deviate.lexicon.words import find_name
from deviate.observe.events import EnvironmentDifference
from deviate.observe.headline import main_metric
from deviate.observe.metrics import missing_metrics
from deviate.stats.failures import FailureRate, failure_rate
from deviate.stats.intervals import Interval, sd_factors
from deviate.stats.multiplicity import look
from deviate.stats.power import DEFAULT_ALPHA, planned_difference
from deviate.stats.results import fewest_runs
from deviate.stats.spread import Spread, spread


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


#: Below this many runs little is known about the SD. Pham et al. (ASE 2020) ran 16 runs a setting.
FEW_RUNS = 16

#: How runs end whose training failed.
FAILED: tuple[Status, ...] = ("failed", "timed-out")


class SdPrecision(msgspec.Struct, frozen=True, kw_only=True):
    """How well a number of runs determines their SD, if values are normal."""

    n: int
    #: Ends of the confidence interval as multiples of the SD.
    low: float
    high: float


class VariantFacts(VariantProof, frozen=True, kw_only=True):
    """The runs of one variant and what they measured."""

    #: In the order for readers, see `order.ordered`; the same in all variants.
    metrics: list[MetricSpread]
    #: Names of metrics that no completed run recorded.
    silent: list[str]
    #: Numbers of runs below `FEW_RUNS` with which metrics were measured that differ, ascending.
    few_runs: list[SdPrecision]
    #: Wall time of the completed runs; None where it is not known.
    seconds: Spread | None = None
    #: Runs that failed or were ended for taking too long, of all that ended but for those that the user stopped.
    failures: FailureRate
    #: None where the user decided how many runs were made.
    stopped: Stopped | None = None
    trainings: TrainingsFacts = TrainingsFacts()
    #: Parts of the environment in which its runs differ.
    differences: Sequence[EnvironmentDifference] = ()
    #: The smallest difference of the main metric that so many runs of each of two recipes show, planned with their SD;
    #: None where that is not known.
    shown_difference: float | None = None
    #: The main metric of the runs that did not diverge, where the values of others count in it; None elsewhere.
    sound: MetricSpread | None = None

    def __getitem__(self, metric: str) -> MetricSpread:
        """Return one of its metrics.

        Raises BadOption with the metrics there are, if it is none of them.
        """
        names = [each.name for each in self.metrics]
        return self.metrics[names.index(find_name(metric, names))]

    @property
    def main(self) -> MetricSpread:
        """The metric that leads the report.

        Raises BadOption if no run of it completed with a metric.
        """
        if not self.metrics:
            raise BadOption(f"no run of {self.variant} has a metric", hint="its `runs` say how each went")
        return main_metric(self.metrics)

    @property
    def mean(self) -> float | None:
        """Mean of the main metric; None where it is unknown."""
        return self.main.spread.mean

    @property
    def sd(self) -> float | None:
        """Standard deviation of the main metric, with divisor ``n - 1``; None where it is unknown."""
        return self.main.spread.sd


def variant_facts(
    results: Results, name: str, metrics: list[MetricSpread], stopped: Stopped | None, level: float, *, every: bool
) -> VariantFacts:
    """Infer how much the runs of one variant differ, at a confidence level in (0, 1).

    `metrics` are those to report on, in their order; `every`: these are all of them.
    """
    runs = results.runs_of(name)
    proof = variant_proof(results.experiment, name, runs, results.identities.get(name), results.shared)
    return VariantFacts(
        **msgspec.structs.asdict(proof),
        metrics=metrics,
        # Of those that were not chosen it is not known whether they were recorded.
        silent=_silent(results, metrics) if every else [],
        few_runs=[sd_precision(n, level) for n in _few(metrics)],
        seconds=_seconds(proof.runs),
        failures=_failures(proof.runs, level),
        stopped=stopped,
        trainings=trainings_facts(results, name, proof.runs),
        differences=[each for each in results.differences if each.variant == name],
        shown_difference=_shown_difference(_main(metrics)),
        sound=_sound(_main(metrics), diverged_runs(metrics), level),
    )


def diverged_runs(metrics: Sequence[MetricSpread]) -> dict[int, str]:
    """Return the indices of completed runs with a loss that is NaN or infinite, each with the loss's name."""
    losses: dict[int, str] = {}
    for metric in metrics:
        for left in metric.excluded if metric.kind == "loss" else ():
            if left.not_finite:
                losses.setdefault(left.run, metric.name)
    return losses


def _main(metrics: Sequence[MetricSpread]) -> MetricSpread | None:
    reported = reported_of(metrics)
    return main_metric(reported) if reported else None


def _sound(main: MetricSpread | None, diverged: Collection[int], level: float) -> MetricSpread | None:
    places = [place for place, run in enumerate(main.runs) if run not in diverged] if main else []
    if main is None or not 0 < len(places) < main.n:
        return None
    return measured_sample(narrowed_sample(main, places), level)


def _shown_difference(main: MetricSpread | None) -> float | None:
    if main is None or not main.spread.sd or main.far or main.n < fewest_runs(DEFAULT_ALPHA):
        return None
    return main.spread.sd * planned_difference(main.n, freedom=main.n - 1)


def _silent(results: Results, metrics: Sequence[MetricSpread]) -> list[str]:
    """Return the names of selected metrics that no completed run recorded."""
    recorded = [
        (metric.name, -1 if metric.source is None else metric.source)
        for metric in metrics
        if metric.n > 0 or any(left.status == "completed" and left.reported for left in metric.excluded)
    ]
    return [metric.name for metric in missing_metrics(results.experiment, recorded)]


def _few(metrics: Sequence[MetricSpread]) -> list[int]:
    differing = (metric for metric in metrics if metric.kind != "speed" and not metric.spread.identical)
    return sorted({metric.n for metric in differing if 1 < metric.n < FEW_RUNS})


def sd_precision(n: int, level: float) -> SdPrecision:
    """Return how well `n` runs determine their SD, at the confidence level `level`, in (0, 1)."""
    low, high = sd_factors(n, level)
    return SdPrecision(n=n, low=low, high=high)


def _seconds(runs: Sequence[RunResult]) -> Spread | None:
    seconds = [run.seconds for run in runs if run.status == "completed" and run.seconds is not None]
    return spread(seconds) if seconds else None


def _failures(runs: Sequence[RunResult], level: float) -> FailureRate:
    ended = [run for run in runs if run.status in ("completed", *FAILED)]
    return failure_rate(sum(run.status in FAILED for run in ended), len(ended), level)
