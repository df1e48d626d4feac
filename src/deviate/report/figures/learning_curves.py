"""How a metric went in training: every run, and the median of all with a band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deviate.inference.curves import Curves, MetricCurves, VariantCurves
from deviate.report.escape import clean
from deviate.report.figures.figure import Figure, slug
from deviate.report.figures.scales import (
    axis_title,
    coloured,
    dashed,
    decades,
    domain,
    number_format,
    wants_log,
    whole,
)
from deviate.report.figures.views import chart, flattened, number, tips, view, word
from deviate.report.numbers import show
from deviate.report.text.words import count, ordinal

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
                {**at, "y": number("low", **y), "y2": {"field": "high"}},
                transform=[flattened("iteration", "low", "high")],
                opacity=0.22,
            )
        ],
        "runs": [_run_view({**at, "y": number("value", **y)}, len(data["runs"]))],
        "medians": _median_views({**at, "y": number("median", **y)}, dashed(order, named)),
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
