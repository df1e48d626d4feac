"""The numbers and verdicts of one compared metric as text."""

from __future__ import annotations

from deviate.collect.measured import TIME_PER_RUN
from deviate.contrast.contrast import EFFECTS
from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.metric import MetricComparison
from deviate.measure.spread import Spread
from deviate.report.numbers import (
    Numbers,
    finest,
    show,
    show_difference,
    show_effect,
    show_factor,
    show_ratio,
)
from deviate.report.text.words import count, listed


class MetricCells:
    """The numbers of one metric on two sides as text, all to the digit that the smaller SD allows."""

    def __init__(self, metric: MetricComparison, pair: PairComparison) -> None:
        contrast, a, b = metric.contrast, metric.a.spread, metric.b.spread
        place, numbers = last_digit(metric), Numbers(pair.alpha)
        self.name = metric.name if metric.name == metric.b.name else f"{metric.name} / {metric.b.name}"
        self.unit = f" ({metric.unit})" if metric.unit else ""
        # The time of a run is one number already.
        self.aggregate = "" if metric.name == TIME_PER_RUN else metric.aggregate
        self.runs = f"{contrast.n_a}, {contrast.n_b}"
        self.a, self.b = mean_and_sd(a, place), mean_and_sd(b, place)
        self.mean_a, self.mean_b = show(a.mean, place), show(b.mean, place)
        self.difference = show(contrast.difference.value, place)
        self.ci = show_difference(contrast.difference.interval, place)
        self.p, self.spread_p = numbers.p(metric.deciding_p), numbers.p(metric.spread_p_adjusted)
        self.verdict, self.short_verdict = verdict_text(metric, pair), _short_verdict(metric, pair)
        self.ratio, self.ratio_ci = show_factor(contrast.sd_ratio.value), show_ratio(contrast.sd_ratio.interval)
        noisier = {"a noisier": f"{pair.a} noisier", "b noisier": f"{pair.b} noisier"}
        self.noisier = noisier.get(metric.noisier, metric.noisier)
        self.effects = {EFFECTS[name].label: show_effect(effect) for name, effect in contrast.effects.items()}


def last_digit(metric: MetricComparison) -> int | None:
    """Return the power of ten of the last digit worth showing."""
    return finest((metric.a.spread.sd, metric.b.spread.sd))


def mean_and_sd(spread: Spread, place: int | None) -> str:
    """Write ``mean ± SD``; of one run the mean."""
    if spread.sd is None:
        return show(spread.mean)
    return f"{show(spread.mean, place)} ± {show(spread.sd, place)}"


def verdict_text(metric: MetricComparison, pair: PairComparison) -> str:
    """Write a verdict with the names of the sides."""
    if pair.draws.unshared:
        return "no verdict"
    if metric.verdict == "differs" and pair.draws.unknown:
        return f"differs; what varied in {next(iter(pair.draws.unknown))} is not known"
    if metric.verdict == "differs":
        return "differs" if metric.confounded or metric.survivors else "differs, direction unknown"
    if metric.verdict in ("a better", "b better"):
        return f"{pair.a if metric.verdict == 'a better' else pair.b} better"
    return metric.verdict


def _short_verdict(metric: MetricComparison, pair: PairComparison) -> str:
    """Write a verdict for a column of a narrow table whose heads have the letters of the sides."""
    if pair.draws.unshared:
        return "no verdict"
    short = {"a better": "A better", "b better": "B better", "no difference shown": "no diff. shown"}
    return short.get(metric.verdict, metric.verdict)


def one_draw(pair: PairComparison) -> str:
    """Say which sides are one run of their recipe; empty where none is."""
    return "; ".join(
        f"all runs of {label} used the same random numbers for {listed(factors)}"
        for label, factors in pair.draws.unshared.items()
    )


def failures_text(metric: MetricComparison, pair: PairComparison) -> str:
    """Say how many runs of each side gave no result worth a mean, and p of the test of the two rates."""
    failures = metric.failures
    p = Numbers(pair.alpha).compared_p(failures.fisher.p)
    return (
        f"{failures.failed_a} of {count(failures.runs_a, 'run')} of {pair.a} and {failures.failed_b} of "
        f"{failures.runs_b} of {pair.b} failed, gave no value or collapsed (Fisher's exact test: p {p})"
    )


def adjusted_text(comparison: Comparison, *, times: bool = True) -> str:
    """Say in how many tests the p-values of a table were adjusted; empty where none was.

    `times`: the table shows times that Deviate measures.

    Examples
    --------
    ``p adjusted (Holm): 3 tests of test acc, 9 tests of the other metrics and 6 tests of measured times``
    """
    most = max(comparison.family, comparison.explored_family, comparison.times_family if times else 0)
    if comparison.correction == "none" or most < 2:
        return ""
    return f"p adjusted ({CORRECTION_NAMES[comparison.correction]}): {families_text(comparison, times=times)}"


def families_text(comparison: Comparison, *, times: bool = True) -> str:
    """Say which tests of means are adjusted together, by what they are of; without `times` not of measured times."""
    families = {
        listed(comparison.claimed): comparison.family,
        "the other metrics": comparison.explored_family,
        "measured times": comparison.times_family if times else 0,
    }
    return listed([f"{count(size, 'test')} of {what}" for what, size in families.items() if size])
