"""The figures of an experiment, by metric, and its learning curves as lines of characters."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from deviate.facts.curves import MetricCurves, VariantCurves
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread
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
    metrics = [metric for variant in facts.variants for metric in variant.metrics]
    return [metric for metric in metrics if metric.kind != "speed" and metric.n]


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


def _section(
    charts: Charts,
    slug: str,
    title: str,
    first: str = "",
    notes: list[str] | None = None,
    left_out: Collection[str] = (),
) -> Section | None:
    by_metric = {metric: drawn for metric, drawn in drawings(charts, slug).items() if metric not in left_out}
    if not by_metric:
        return None
    panels = [Panel(metric=metric, blocks=list(blocks)) for metric, blocks in by_metric.items() if metric]
    blocks: list[Block] = [*by_metric.get("", []), *([ByMetric(panels=panels, first=first)] if panels else [])]
    blocks += [Sentences(sentences=notes, emphasis="quiet")] if notes else []
    return Section(slug=slug, title=title, blocks=blocks)


def distribution(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Show where the runs lie, metric by metric."""
    if all(metric.n < 2 for metric in _measured(facts)):
        # One point says no more than its number above.
        return None
    return _section(charts, "distribution", "Each run's value", main_name(facts))


def curves(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Show how the runs went on while they trained."""
    curves = charts.curves
    if curves is None or not curves.metrics:
        return None
    drawn = {metric.metric for metric in curves.metrics if _has_points(metric)}
    if not drawn:
        return None
    main = main_name(facts)
    # The main metric may be reported but once.
    metrics = [metric for variant in facts.variants for metric in variant.metrics if metric.name in drawn]
    first = main if main in drawn else main_metric(metrics).name
    notes = curve_notes(curves, imported=facts.definition.imported is not None)
    empty = {metric.metric for metric in curves.metrics} - drawn
    return _section(charts, "curves", "Learning curves", first, notes, empty)


def _has_points(metric: MetricCurves) -> bool:
    """Whether a curve has a point: values that are NaN from the first on leave an empty chart."""
    runs = (run for variant in metric.variants for run in variant.runs)
    return any(value is not None for run in runs for value in run.values)


def time(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Show how long the runs took, and when each ran."""
    return _section(charts, "time", "Time", main_name(facts))


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
