"""A methods paragraph for a comparison: which tests, which correction. Only what the comparison knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.report.comparison.families import family_sizes
from deviate.report.comparison.inputs import Asked
from deviate.report.comparison.pairing import pairing_sentences
from deviate.report.comparison.parts import MetricComparison, PairComparison
from deviate.report.shown import show_level
from deviate.report.words import count, listed


def comparison_methods(pairs: Sequence[PairComparison], family: int, asked: Asked) -> list[str]:
    """Return the sentences of a methods paragraph.

    Parameters
    ----------
    pairs : sequence of PairComparison
        What was compared.
    family : int
        Tests of means that were adjusted together, apart from those of times that Deviate measures.
    asked : Asked
        What the user wanted to know.
    """
    metrics = [metric for pair in pairs for metric in pair.metrics]
    return [
        *_tests(metrics),
        *_correction(family, family_sizes(metrics)[1], asked),
        *_margins(metrics, asked.alpha),
        *pairing_sentences(pairs),
    ]


def _tests(metrics: list[MetricComparison]) -> Iterator[str]:
    tested = [metric for metric in metrics if metric.contrast.p is not None]
    for chosen in dict.fromkeys((m.contrast.location.label, m.contrast.location.reason) for m in tested):
        label, reason = chosen
        yield f"Means are compared by {label}: {reason}."
    spreads = [m for m in metrics if m.contrast.tests[m.contrast.spread.test].p is not None]
    for label in dict.fromkeys(metric.contrast.spread.label for metric in spreads):
        yield f"Spreads are compared by the {label}."


def _correction(family: int, times: int, asked: Asked) -> Iterator[str]:
    share = show_level(asked.level)
    yield f"Tests have a level of {asked.alpha:g} and are two-sided; intervals are {share} confidence intervals."
    if max(family, times) < 2:
        return
    if asked.correction == "none":
        yield f"The p-values of {count(family + times, 'test')} of means are not corrected for their number."
        return
    how = CORRECTION_NAMES[asked.correction]
    apart = f"; those of times that Deviate measures apart from them, over {count(times, 'test')}" if times else ""
    yield f"The p-values of {count(family, 'test')} of means are adjusted together ({how}){apart}."


def _margins(metrics: list[MetricComparison], alpha: float) -> Iterator[str]:
    given = dict.fromkeys(
        f"{metric.name} {metric.contrast.margin:g}{f' {metric.unit}' if metric.unit else ''}"
        for metric in metrics
        if metric.contrast.margin
    )
    if given:
        margins = listed(list(given), len(given))
        yield f"Equivalence is tested by two one-sided t tests at level {alpha:g}, with the margins {margins}."
