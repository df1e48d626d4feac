"""Figures of how a metric went in training, and all figures of an experiment in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deviate.facts.curves import Curves, MetricCurves, VariantCurves
from deviate.facts.experiment import ExperimentFacts
from deviate.report.escape import clean
from deviate.report.figures.charts import (
    axis_title,
    chart,
    coloured,
    dashed,
    decades,
    domain,
    flattened,
    number_format,
    quantity,
    tips,
    view,
    wants_log,
    whole,
    word,
)
from deviate.report.figures.figure import Figure, slug, unique
from deviate.report.figures.timeline import timeline_figures
from deviate.report.numbers import show
from deviate.report.topics.distribution import distribution_figures
from deviate.report.topics.prediction_figures import prediction_figures, weight_figures
from deviate.report.topics.sources_figure import sources_figures
from deviate.report.words import count, ordinal

HEIGHT = 200

#: A band of fewer runs than this is drawn between single runs.
BAND_FROM = 3

#: Opacity of a run's line: of few runs each is seen, of many the crowd.
FAINTEST = 0.12

#: Significant digits of the first difference.
APART_DIGITS = 3

#: What the pointer is on, to Vega.
POINTED = "pointed"


def curve_figures(curves: Curves, order: Sequence[str]) -> list[Figure]:
    """Return one figure for each metric that has a curve; `order` has all variants of the report."""
    return [curve_figure(metric, order) for metric in curves.metrics]


def curve_figure(metric: MetricCurves, order: Sequence[str]) -> Figure:
    """Draw the learning curves of one metric."""
    return Figure(
        slug=slug("curves", metric.metric),
        section="curves",
        title=f"{clean(metric.metric)} in the course of training",
        description=" ".join([*(_sentence(variant) for variant in metric.variants), *_one_of_several(metric)]),
        metric=metric.metric,
        spec=_chart(metric, order),
    )


def _chart(metric: MetricCurves, order: Sequence[str]) -> dict[str, Any]:
    named = [each.variant for each in metric.variants]
    y, colour = _y(metric), coloured(order, named)
    at = {"x": _X, "color": colour}
    data = {
        "bands": _bands(metric.variants),
        "runs": _runs(metric.variants),
        "medians": _medians(metric.variants),
        "parting": _parting(metric.variants),
    }
    layers = {
        "bands": [
            view(
                "bands",
                "area",
                {**at, "y": quantity("low", **y), "y2": {"field": "high"}},
                transform=[flattened("iteration", "low", "high")],
                opacity=0.22,
            )
        ],
        "runs": [_run_view({**at, "y": quantity("value", **y)}, len(data["runs"]))],
        "medians": _median_views({**at, "y": quantity("median", **y)}, dashed(order, named)),
        "parting": [
            view(
                "parting",
                "rule",
                {"x": _X, "tooltip": tips(the_what="here", iteration="iteration")},
                style="ink-line",
                strokeDash=[3, 3],
            )
        ],
    }
    drawn = {name: rows for name, rows in data.items() if rows}
    return chart(drawn, [layer for name in drawn for layer in layers[name]], HEIGHT)


_X = whole("iteration", "iteration")


def _y(metric: MetricCurves) -> dict[str, Any]:
    values = [value for variant in metric.variants for run in variant.runs for value in run.values]
    log = wants_log(metric.kind, values)
    return {
        # Vega-Lite warns of "zero" beside a logarithm, whatever it says.
        "scale": {"type": "log", "nice": False} if log else {"type": "linear", "zero": False, "nice": True},
        "axis": {"values": decades(values), "format": "~g"} if log else number_format(domain(values)),
        "title": axis_title(metric.metric, metric.unit, "log scale" if log else ""),
    }


def _runs(variants: Sequence[VariantCurves]) -> list[dict[str, Any]]:
    """Return a row per run with lists of its points, so that names are not repeated."""
    return [
        {"variant": variant.variant, "run": run.run, "iteration": run.iterations, "value": run.values}
        for variant in variants
        for run in variant.runs
    ]


def _run_view(at: dict[str, Any], runs: int) -> dict[str, Any]:
    """Draw a line per run, faint; the one that the pointer is on stands out and is named."""
    faint = max(FAINTEST, min(0.6, 4 / runs))
    pointed = {"type": "point", "fields": ["run"], "on": "pointerover", "clear": "pointerout"}
    on_run = {"param": POINTED, "empty": False}
    drawn = view(
        "runs",
        "line",
        {
            **at,
            "detail": word("run"),
            "opacity": {"condition": {**on_run, "value": 1}, "value": faint},
            "strokeWidth": {"condition": {**on_run, "value": 2.5}, "value": 1},
            "tooltip": tips(the_run="run"),
        },
        transform=[flattened("iteration", "value")],
        # A round end makes a dot of a value between two gaps.
        strokeCap="round",
        strokeJoin="round",
    )
    return {**drawn, "params": [{"name": POINTED, "select": pointed}]}


def _bands(variants: Sequence[VariantCurves]) -> list[dict[str, Any]]:
    return [
        {"variant": each.variant, "iteration": each.band.iterations, "low": each.band.low, "high": each.band.high}
        for each in variants
        if each.recorded >= BAND_FROM
    ]


def _medians(variants: Sequence[VariantCurves]) -> list[dict[str, Any]]:
    return [
        {"variant": each.variant, "iteration": each.band.iterations, "median": each.band.median, "n": each.band.n}
        for each in variants
        if each.recorded > 1
    ]


def _median_views(at: dict[str, Any], dash: dict[str, Any]) -> list[dict[str, Any]]:
    points = [flattened("iteration", "median", "n")]
    tooltips = tips(the_variant="variant", iteration="iteration", median="median", n="runs")
    return [
        view("medians", "line", {**at, "strokeDash": dash}, transform=points, strokeWidth=2.2),
        # Invisible points, so that the pointer finds the values.
        view("medians", "point", {**at, "tooltip": tooltips}, transform=points, filled=True, size=40, opacity=0),
    ]


def _parting(variants: Sequence[VariantCurves]) -> list[dict[str, Any]]:
    """Mark where the runs of a single variant part, unless it is where they begin."""
    parting = variants[0].parting if len(variants) == 1 else None
    if parting is None or parting.iteration is None or parting.iteration <= variants[0].band.iterations[0]:
        return []
    return [{"iteration": parting.iteration, "what": "first difference"}]


def _one_of_several(metric: MetricCurves) -> list[str]:
    """Say which value is drawn of those that a run reported within one iteration."""
    return ["Of several values in one iteration the last finite one is drawn."] if metric.repeated else []


def _sentence(variant: VariantCurves) -> str:
    drawn = len(variant.runs)
    runs = f"{drawn} of {count(variant.recorded, 'run')}" if drawn < variant.recorded else count(drawn, "run")
    parts = [f"{clean(variant.variant)}: {runs}, {count(variant.longest, 'iteration')}"]
    if variant.recorded >= BAND_FROM:
        parts.append(f"median and the band of the middle {100 * variant.band.share:.0f}%")
    elif variant.recorded > 1:
        parts.append("median")
    if variant.gaps:
        parts.append(f"{count(variant.gaps, 'run')} with values that are not finite (gaps)")
    return f"{'; '.join(parts)}.{_parted(variant)}"


def _parted(variant: VariantCurves) -> str:
    parting = variant.parting
    if parting is None or not parting.compared:
        return ""
    if parting.iteration is None:
        return f" The runs are equal at all {count(parting.compared, 'iteration')} compared."
    apart = show(float(f"{parting.apart:.{APART_DIGITS}g}"))
    return f" The runs differ from the {ordinal(parting.iteration + 1)} iteration on, there by {apart}."


# What the learning curves of a report do not show.

#: Scripts often print from 1; imported curves have the steps of their files.
COUNTED = "Iterations are counted from 0, whatever the script prints."


def curve_notes(curves: Curves, *, imported: bool = False) -> list[str]:
    """Say how iterations are counted and what was left out of the drawing."""
    variants = [variant for metric in curves.metrics for variant in metric.variants]
    notes = [] if imported else [COUNTED]
    fewer = [variant for variant in variants if len(variant.runs) < variant.recorded]
    if fewer:
        least = min(fewer, key=lambda variant: len(variant.runs) / variant.recorded)
        notes.append(
            f"Not every run's curve is drawn (at least {len(least.runs)} of {least.recorded} of a variant, evenly "
            "chosen by index); median and band are of all."
        )
    if any(variant.thinned for variant in variants):
        notes.append(
            "Long curves are drawn with fewer points: first and last, and of each stretch the smallest and the largest "
            "value and the first gap."
        )
    return notes


# All figures of an experiment, in the order in which a report shows them.


def experiment_figures(facts: ExperimentFacts, curves: Curves | None = None) -> list[Figure]:
    """Return every figure: distributions, learning curves, spread by factor, times, predictions, weights.

    Within each kind figures are in the order of the metrics; a kind for which there are no facts is absent.
    """
    order = [variant.variant for variant in facts.variants]
    distributions = distribution_figures(facts)
    return unique(
        [
            *(figure for figure in distributions if figure.section == "distribution"),
            *(curve_figures(curves, order) if curves else []),
            *sources_figures(facts),
            *(figure for figure in distributions if figure.section == "time"),
            *timeline_figures(facts),
            *(figure for figures in prediction_figures(facts).values() for figure in figures),
            *weight_figures(facts).values(),
        ]
    )


@dataclass(frozen=True, eq=False)
class Charts:
    """What is drawn of an experiment, for all sections of a page."""

    facts: ExperimentFacts
    #: None where no learning curve is shown.
    curves: Curves | None = None

    @cached_property
    def figures(self) -> list[Figure]:
        """Every figure, see `experiment_figures`; not made where no section shows one."""
        return experiment_figures(self.facts, self.curves)

    @cached_property
    def predictions(self) -> dict[str, list[Figure]]:
        """The figures of predictions, by variant."""
        return prediction_figures(self.facts)

    @cached_property
    def weights(self) -> dict[str, Figure]:
        """The figure of weights, by variant."""
        return weight_figures(self.facts)
