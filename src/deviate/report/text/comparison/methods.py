"""How sides were compared, for a paper: which tests, which correction. Only what the comparison knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.inference.comparison.comparison import Comparison
from deviate.inference.comparison.metric import MetricComparison
from deviate.inference.comparison.omnibus import MetricOmnibus
from deviate.report.numbers import Numbers, show_level, show_percent
from deviate.report.text.comparison.caveats import pairing_sentences
from deviate.report.text.comparison.cells import families_text
from deviate.report.text.comparison.looks import planned_runs
from deviate.report.text.words import count, listed


def comparison_methods(comparison: Comparison) -> list[str]:
    """Return the sentences of a methods paragraph."""
    metrics = [metric for pair in comparison.pairs for metric in pair.metrics]
    return [
        *_tests(metrics),
        *_correction(comparison),
        *_looks(comparison),
        *_margins(metrics, comparison.alpha),
        *pairing_sentences(comparison.comparability.pairings),
    ]


def _tests(metrics: Sequence[MetricComparison]) -> Iterator[str]:
    contrasts = [metric.contrast for metric in metrics]
    means = [contrast.location for contrast in contrasts if contrast.p is not None]
    for label, reason in dict.fromkeys((choice.label, choice.reason) for choice in means):
        yield f"Means are compared by {label}: {reason}."
    spreads = [contrast.spread for contrast in contrasts if contrast.tests[contrast.spread.test].p is not None]
    for label in dict.fromkeys(choice.label for choice in spreads):
        yield f"Spreads are compared by the {label}."


def _correction(comparison: Comparison) -> Iterator[str]:
    families = comparison.family, comparison.explored_family, comparison.times_family
    level = Numbers(comparison.alpha).level()
    yield f"Tests have a level of {comparison.alpha:g} and are two-sided; intervals are {level} confidence intervals."
    if max(families) < 2:
        return
    if comparison.correction == "none":
        yield f"The p-values of {count(sum(families), 'test')} of means are not corrected for their number."
        return
    how = CORRECTION_NAMES[comparison.correction]
    yield f"The p-values of means are adjusted within each family ({how}): {families_text(comparison)}."


def _looks(comparison: Comparison) -> Iterator[str]:
    for pair in comparison.pairs:
        look = pair.look
        if look.most is not None:
            yield (
                f"{pair.a} and {pair.b} were compared at up to {planned_runs(look)}, with an alpha spending "
                f"function like O'Brien and Fleming's (Lan and DeMets, 1983); this is look {look.number}, at level "
                f"{look.alpha:.2g}."
            )
        elif look.number > 1:
            yield (
                f"{pair.a} and {pair.b} were compared {look.number} times while runs were added; the later looks add "
                f"{show_percent(look.whole - comparison.alpha)} of false alarms to those of the first (alpha spending: "
                f"Lan and DeMets, 1983); this look is at level {look.alpha:.2g}."
            )
        if look.stopped_alpha is not None:
            yield (
                f"The runs of {listed(look.stopped)} were ended when an interval was narrow enough, and are tested at "
                f"level {look.stopped_alpha:.2g} for it."
            )


def _margins(metrics: Sequence[MetricComparison], alpha: float) -> Iterator[str]:
    given = dict.fromkeys(
        f"{metric.name} {metric.contrast.margin:g}{f' {metric.unit}' if metric.unit else ''}"
        for metric in metrics
        if metric.contrast.margin
    )
    if given:
        margins = listed(list(given), len(given))
        yield f"Equivalence is tested by two one-sided t tests at level {alpha:g}, with the margins {margins}."


def omnibus_text(omnibus: MetricOmnibus, comparison: Comparison) -> str:
    """Say whether the sides differ at all in a metric, and how sure their places are."""
    return " ".join([omnibus_outcome(omnibus, comparison), *places_together(omnibus, comparison)])


def omnibus_outcome(omnibus: MetricOmnibus, comparison: Comparison) -> str:
    """Say whether the sides differ at all in a metric."""
    p = omnibus.p_adjusted
    if p is None:
        return f"Welch's analysis of variance could not be made: {omnibus.welch_anova.reason}."
    equal = "no difference shown between any of the means"
    outcome = "the means are not all equal" if p <= comparison.omnibus_alpha else equal
    return f"Welch's analysis of variance: {omnibus_p(omnibus, comparison)}, {outcome}."


def places_together(omnibus: MetricOmnibus, comparison: Comparison) -> list[str]:
    """Say whether the places in this metric and in others of its kind hold all at once; nothing without places."""
    if omnibus.p_adjusted is None:
        return []
    if comparison.correction not in ("holm", "bonferroni"):
        return [f"With {CORRECTION_NAMES[comparison.correction]} the places do not hold all together."]
    what = "measured times" if omnibus.measured_time else "metrics of the training"
    level = show_level(1 - max(pair.alpha for pair in comparison.pairs))
    return [f"The places in all {what} hold together at {level} confidence."]


def omnibus_p(omnibus: MetricOmnibus, comparison: Comparison) -> str:
    """Write p of the test over all sides."""
    return Numbers(comparison.omnibus_alpha).equal_p(omnibus.p_adjusted, comparison.correction, omnibus.family)
