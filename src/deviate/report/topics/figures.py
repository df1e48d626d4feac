"""The figures of an experiment, by metric, and its learning curves as lines of characters."""

from __future__ import annotations

import numpy as np

from deviate.facts.curves import MetricCurves, VariantCurves
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread, reported_of
from deviate.observe.headline import main_metric
from deviate.report.numbers import show, unit_in_name
from deviate.report.page import Block, ByMetric, Cell, Column, Drawing, Panel, Row, Section, Sentences, Strips, Table
from deviate.report.topics.curves import Charts, curve_notes
from deviate.report.topics.metrics import METRICS_SHOWN
from deviate.report.words import count

#: Digits of the first and the last value of a curve of characters, which has but eight levels.
_DIGITS = 4

_LEGEND = "Median of the runs by iteration, each metric on its own scale, from its smallest to its largest median."


def _measured(facts: ExperimentFacts) -> list[MetricSpread]:
    return reported_of(metric for variant in facts.variants for metric in variant.metrics)


def main_name(facts: ExperimentFacts) -> str:
    """Return the name of the metric that a reader asks for first; empty where nothing was measured."""
    measured = _measured(facts)
    return main_metric(measured).name if measured else ""


def drawings(charts: Charts, section: str) -> dict[str, list[Drawing]]:
    """Return the figures of a section by metric; those of no single metric are under an empty name."""
    by_metric: dict[str, list[Drawing]] = {}
    for figure in charts.figures:
        if figure.section == section:
            by_metric.setdefault(figure.metric, []).append(Drawing(figure=figure))
    return by_metric


def curves_by_metric(facts: ExperimentFacts, charts: Charts) -> dict[str, list[Drawing]]:
    """Return the learning curves by metric; the main one may be reported once, and has those of the next one then."""
    drawn, main = drawings(charts, "curves"), main_name(facts)
    if drawn and main not in drawn:
        followed = [metric for metric in _measured(facts) if metric.name in drawn]
        drawn = {main: drawn[main_metric(followed).name], **drawn} if followed else drawn
    return drawn


def each_run(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Show of several variants where the runs lie, and how they went on while they trained, metric by metric."""
    if len(facts.variants) < 2:
        # The first screen shows the runs of one.
        return None
    dots, curves = drawings(charts, "distribution"), curves_by_metric(facts, charts)
    panels = [
        Panel(metric=metric, blocks=[*dots.get(metric, []), *curves.get(metric, [])])
        for metric in dict.fromkeys((*dots, *curves))
    ]
    if not panels:
        return None
    notes = curve_notes(charts.curves) if charts.curves else []
    small: list[Block] = [Sentences(sentences=notes, emphasis="quiet")] if notes else []
    return Section(slug="each", title="Each run", blocks=[ByMetric(panels=panels, first=main_name(facts)), *small])


def paper(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Include the figures of the main metric."""
    main = main_name(facts)
    figures = [figure for figure in charts.figures if figure.metric == main] if main else []
    return Section(slug="figures", blocks=[Drawing(figure=figure) for figure in figures]) if figures else None


def curve_lines(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Draw the median curves as lines of characters, a row per metric and variant."""
    curves = charts.curves
    if curves is None:
        return None
    chosen = curves.metrics[:METRICS_SHOWN]
    pairs = [(metric, variant) for metric in chosen for variant in metric.variants if variant.band.median]
    if not pairs:
        return None
    several = any(len(metric.variants) > 1 for metric in chosen)
    more = len(curves.metrics) - len(chosen)
    table = Table(
        caption="Learning curves",
        columns=[
            Column(head="median curve", numeric=False),
            Column(head="first"),
            Column(head="last"),
            Column(head="iterations", emphasis="quiet"),
        ],
        rows=[_curve_row(metric, variant, several) for metric, variant in pairs],
        notes=[_LEGEND, *([f"and {count(more, 'more curve')}"] if more else [])],
    )
    lines = [(variant.band.iterations, _heights(metric, variant)) for metric, variant in pairs]
    return Section(slug="curves", blocks=[Strips(table=table, curves=lines)])


def _curve_row(metric: MetricCurves, variant: VariantCurves, several: bool) -> Row:
    unit = unit_in_name(metric.unit)
    first, last = variant.band.median[0], variant.band.median[-1]
    return Row(
        cells=[
            Cell(f"{metric.metric}{unit}{f' {variant.variant}' if several else ''}"),
            Cell(_rough(first), first),
            Cell(_rough(last), last),
            Cell(str(variant.longest), variant.longest),
        ]
    )


def _rough(value: float) -> str:
    return show(float(f"{value:.{_DIGITS}g}"))


def _heights(metric: MetricCurves, variant: VariantCurves) -> list[float]:
    every = [value for each in metric.variants for value in each.band.median]
    low, high = min(every), max(every)
    if low == high:
        return [0.0] * len(variant.band.median)
    # Halved before they are subtracted: the difference of two large floats may overflow.
    heights: list[float] = ((np.asarray(variant.band.median) / 2 - low / 2) / (high / 2 - low / 2)).tolist()
    return heights
