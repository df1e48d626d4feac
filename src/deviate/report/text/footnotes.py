"""What a reader must know to read the table of one variant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deviate.inference.metric import MetricSpread
from deviate.measure.intervals import CHI_SQUARE, Interval
from deviate.measure.robust_sd import FEWEST_RUNS
from deviate.report.numbers import show_level
from deviate.report.text.metric_text import MetricText
from deviate.report.text.words import listed

#: The interval of an SD from `FEWEST_RUNS` runs on.
BOTH = "the wider of chi-square and Bonett's, which allows for heavy tails"


#: Whole numbers that a floating-point number holds are exact up to this; larger ones than a program counts in 64 bits
#: were floating-point numbers from the start.
LARGEST_EXACT, LARGEST_WHOLE = 2.0**53 - 1, 2.0**64

#: The same where some intervals are of fewer runs: they are narrower than those of a run more.
FEW_THEN_BOTH = (
    f"CI of the SD: chi-square below {FEWEST_RUNS} runs, which assumes normal values; from {FEWEST_RUNS} runs on "
    f"{BOTH}."
)


def sd_methods(intervals: Iterable[Interval]) -> set[str]:
    """Return the methods of the intervals that are known."""
    return {interval.method for interval in intervals if interval.known}


def footnotes(metrics: Sequence[MetricSpread]) -> list[str]:
    """Return a sentence for each gap in the table, and for each metric whose test size is known."""
    return [*_zero_times(metrics), *_without_cv(metrics), *_sd_intervals(metrics), *asked_footnotes(metrics)]


def asked_footnotes(metrics: Sequence[MetricSpread]) -> list[str]:
    """Return what ``--test-size`` and ``--weak`` ask for."""
    return [*resolution_footnotes(metrics), *weak_footnotes(metrics)]


def _sd_intervals(metrics: Sequence[MetricSpread]) -> Iterable[str]:
    """Say how the intervals of the SD in the table were made, and where the way changes if some have few runs."""
    methods = sd_methods(metric.ci_sd for metric in metrics)
    if CHI_SQUARE in methods:
        yield FEW_THEN_BOTH
    elif methods:
        yield f"CI of the SD: {BOTH}."


def is_zero_time(metric: MetricSpread) -> bool:
    """Whether a time or rate is 0 in every run, so that nothing was measured."""
    return metric.kind == "speed" and metric.n > 1 and metric.spread.identical and metric.spread.mean == 0


def _zero_times(metrics: Sequence[MetricSpread]) -> Iterable[str]:
    if names := [metric.name for metric in metrics if is_zero_time(metric)]:
        yield f"{listed(names)} {'is' if len(names) == 1 else 'are'} 0 in every run: rounded or not measured."


def _without_cv(metrics: Sequence[MetricSpread]) -> Iterable[str]:
    withheld = [
        (metric.name, metric.spread.withheld["cv"])
        for metric in metrics
        if metric.n > 1 and "cv" in metric.spread.withheld and not is_zero_time(metric)
    ]
    for reason in dict.fromkeys(reason for _, reason in withheld):
        yield f"No CV for {listed([name for name, why in withheld if why == reason])}: {reason}."


def resolution_footnotes(metrics: Iterable[MetricSpread]) -> Iterable[str]:
    """Say of each metric whose test size is known how fine it is, and what the finite test set does by itself."""
    for metric in metrics:
        resolution = metric.resolution
        if resolution:
            yield (
                f"{metric.name}: one of {resolution.examples} test examples is worth {resolution.step:.2g}, and the "
                f"finite test set alone gives each run a standard error of {resolution.standard_error:.2g}."
                f"{_beside(metric)}"
            )


def _beside(metric: MetricSpread) -> str:
    test = metric.finite_test
    if test is None or test.sd_in_errors is None or test.share_at_most is None:
        return ""
    if not metric.ci_sd.low or not metric.ci_sd.high:
        return f" The SD between runs is {test.sd_in_errors:.2g} times that."
    low, high = metric.ci_sd.low / test.standard_error, metric.ci_sd.high / test.standard_error
    level = show_level(metric.ci_sd.level)
    all_of_it = "all of the variance may be only the finite test set" if low <= 1 else ""
    share = f"at most {100 / low**2:.0f} % of the variance is only the finite test set"
    return (
        f" The SD between runs is {test.sd_in_errors:.2g} times that ({level} CI {low:.2g} to {high:.2g}): "
        f"{all_of_it or share}."
    )


def rounded_footnotes(metrics: Iterable[MetricSpread]) -> list[str]:
    """Say which metrics have whole numbers of 64 bits that a floating-point number does not hold exactly."""
    names = [
        metric.name for metric in metrics if any(LARGEST_EXACT < abs(value) < LARGEST_WHOLE for value in metric.values)
    ]
    if not names:
        return []
    return [
        f"{listed(list(dict.fromkeys(names)))}: whole numbers beyond 2^53 are rounded to 53 bits, so that runs which "
        "differ by a few units may count as equal."
    ]


def weak_footnotes(metrics: Iterable[MetricSpread]) -> Iterable[str]:
    """Say of each metric what its statistics are with the weak runs."""
    for metric in metrics:
        if metric.including_weak is None or metric.kind == "speed":
            continue
        whole, without = MetricText(metric.including_weak), MetricText(metric)
        yield (
            f"{metric.name} {metric.aggregate} with the weak runs: n {whole.n}, mean {whole.mean}, SD {whole.sd}, min "
            f"{whole.min}, max {whole.max}; without them: n {without.n}, mean {without.mean}, SD {without.sd}."
        )
