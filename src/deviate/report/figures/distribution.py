"""How the runs of each variant are spread in one metric: every run, a box, and the mean with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deviate.collect.measured import TIME_PER_RUN
from deviate.inference.curves import rounded
from deviate.inference.experiment import ExperimentFacts
from deviate.inference.metric import MetricSpread
from deviate.report.escape import clean
from deviate.report.figures.figure import Figure, slug
from deviate.report.figures.scales import (
    ONE_COLOUR,
    axis_title,
    coloured,
    cut_interval,
    offset,
    points_domain,
    quantitative,
    rows,
    shaped,
)
from deviate.report.figures.swarm import lanes
from deviate.report.figures.views import chart, flattened, interval_views, number, says_cut, tips, view
from deviate.report.numbers import last_place, show_level
from deviate.report.text.metric_text import MetricText
from deviate.report.text.words import count

#: Fewer values than this have no quartiles to speak of: a box of them would be drawn between single runs.
BOX_FROM = 5

#: Pixels of a row, and parts of its height: runs above, box and mean below them.
ROW, ROW_WITHOUT_BOX = 66, 48

#: Pixels of all rows together, as long as none is lower than the least: with its axis half a column of a paper.
ROWS, LEAST_ROW = 145, 24
RUNS_FROM, RUNS_TO, BOX_AT, MEAN_AT = 0.08, 0.5, 0.68, 0.9

#: A metric of one variant.
Row = tuple[str, MetricSpread]


def distribution_figures(facts: ExperimentFacts) -> list[Figure]:
    """Return one figure for each metric that has a finite value in some run."""
    rows_by_metric: dict[tuple[str, str], list[Row]] = {}
    for variant in facts.variants:
        for metric in variant.metrics:
            if metric.n:
                rows_by_metric.setdefault((metric.name, metric.aggregate), []).append((variant.variant, metric))
    order = [variant.variant for variant in facts.variants]
    return [distribution_figure(measured, facts.level, order) for measured in rows_by_metric.values()]


def distribution_figure(measured: Sequence[Row], level: float, order: Sequence[str] = ()) -> Figure:
    """Draw the runs of one metric, a row per variant.

    Each variant measured a value or more. `order` has all variants of the report: each has the same colour everywhere.
    Without it there is one colour, for a report in which no other figure has the variants.
    """
    metric = measured[0][1]
    timed = metric.name == TIME_PER_RUN
    what = metric.name if timed else f"{metric.name} ({metric.aggregate})"
    spec = distribution_chart(measured, order, axis_title(metric.name, metric.unit))
    return Figure(
        slug=slug("distribution", metric.name),
        section="time" if metric.kind == "speed" else "distribution",
        title="Time of each run" if timed else f"{clean(what)} of each run",
        description=_description(measured, level, cut=says_cut(spec["datasets"]["means"])),
        metric=metric.name,
        spec=spec,
    )


def distribution_chart(measured: Sequence[Row], order: Sequence[str], title: str) -> dict[str, Any]:
    """Return the chart alone."""
    names = [variant for variant, _ in measured]
    boxed = any(metric.n >= BOX_FROM for _, metric in measured)
    most = ROW if boxed else ROW_WITHOUT_BOX
    row = min(most, max(ROWS / len(measured), LEAST_ROW))
    # In low rows marks of full size would cover each other.
    small = min(1.0, row / ROW_WITHOUT_BOX)
    ends = _ends(measured)
    x = quantitative(ends, title)
    position = {"y": rows(names), "yOffset": offset()}
    colour = {"color": coloured(order) if order else ONE_COLOUR}
    data = {"runs": _runs(measured), "boxes": _boxes(measured), "means": _means(measured, ends)}
    layers = [
        *(_box_views(x, position, small) if data["boxes"] else []),
        view(
            "runs",
            "point",
            {
                "x": number("value", **x),
                **position,
                **colour,
                **({"shape": shaped(order)} if order else {}),
                "tooltip": tips(the_run="run", value="value"),
            },
            transform=[
                flattened("index", "value", "lane"),
                {"calculate": "datum.variant + '-' + datum.index", "as": "run"},
            ],
            filled=True,
            size=round(34 * small),
            opacity=0.75,
        ),
        *(_mean_views(x, {**position, **colour}, small, data["means"]) if data["means"] else []),
    ]
    return chart(data, layers, round(row * len(measured)))


def _ends(measured: Sequence[Row]) -> list[float]:
    values = [value for _, metric in measured for value in metric.values]
    return points_domain(values, (end for _, metric in measured for end in (metric.ci_mean.low, metric.ci_mean.high)))


def _runs(measured: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a row per variant with a list of all its runs."""
    return [
        {
            "variant": variant,
            "index": metric.runs,
            "value": [rounded(value) for value in metric.values],
            "lane": [round(RUNS_FROM + (RUNS_TO - RUNS_FROM) * lane, 4) for lane in lanes(metric.values)],
        }
        for variant, metric in measured
    ]


def _boxes(measured: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {"variant": name, "lane": BOX_AT, **_quartiles(metric)} for name, metric in measured if metric.n >= BOX_FROM
    ]


def _quartiles(metric: MetricSpread) -> dict[str, float]:
    # Halved and doubled again: NumPy interpolates by a difference, which may overflow.
    low, middle, high = (2 * np.quantile(np.asarray(metric.values) / 2, [0.25, 0.5, 0.75])).tolist()
    return {"min": min(metric.values), "q1": low, "median": middle, "q3": high, "max": max(metric.values)}


def _box_views(x: dict[str, Any], position: dict[str, Any], small: float) -> list[dict[str, Any]]:
    """Draw the middle half of the runs, their median, and a line from the smallest to the largest."""
    tooltips = tips(min="smallest", q1="quartile", median="median", q3="quartile", max="largest")
    whole = {"x": number("min", **x), "x2": {"field": "max"}, **position}
    half = {"x": number("q1", **x), "x2": {"field": "q3"}, **position, "tooltip": tooltips}
    return [
        view("boxes", "rule", whole, style="soft"),
        view("boxes", "rule", half, style="soft", strokeWidth=round(9 * small), opacity=0.45),
        view(
            "boxes",
            "tick",
            {"x": number("median", **x), **position},
            style="ink",
            orient="vertical",
            thickness=2,
            size=round(9 * small),
        ),
    ]


def _means(measured: Sequence[Row], ends: Sequence[float]) -> list[dict[str, Any]]:
    """Return the mean of two runs or more with its confidence interval, where there is one."""
    return [
        {
            "variant": name,
            "lane": MEAN_AT,
            "mean": metric.spread.mean,
            **cut_interval(metric.ci_mean.low, metric.ci_mean.high, ends, last_place(metric.spread.sd)),
        }
        for name, metric in measured
        if metric.n > 1 and metric.spread.mean is not None
    ]


def _mean_views(
    x: dict[str, Any], position: dict[str, Any], small: float, means: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    tooltips = tips(mean="mean", low="CI from", high="CI to")
    return [
        *interval_views("means", means, x, position, size=round(7 * small)),
        view(
            "means",
            "point",
            {"x": number("mean", **x), **position, "tooltip": tooltips},
            shape="diamond",
            size=round(60 * small),
            opacity=1,
            filled=True,
        ),
    ]


def _description(measured: Sequence[Row], level: float, *, cut: bool) -> str:
    sentences = [_sentence(variant, metric) for variant, metric in measured]
    drawn = ["each point is one run"]
    if any(metric.n >= BOX_FROM for _, metric in measured):
        drawn.append("the box spans the middle half of the runs and marks their median, the line spans all runs")
    if any(metric.ci_mean.known for _, metric in measured):
        beyond = ", an arrow where that goes on beyond the chart" if cut else ""
        drawn.append(f"the diamond is the mean with its {show_level(level)} confidence interval{beyond}")
    elif any(metric.n > 1 for _, metric in measured):
        drawn.append("the diamond is the mean")
    key = "; ".join(drawn)
    return " ".join([*sentences, f"{key[0].upper()}{key[1:]}."])


def _sentence(variant: str, metric: MetricSpread) -> str:
    shown = MetricText(metric)
    left = len(metric.excluded)
    less = f", {count(left, 'run')} left out" if left else ""
    who = f"{clean(variant)}, {count(metric.n, 'run')}{less}"
    if metric.n == 1:
        return f"{who}: {shown.mean}{shown.unit}."
    if metric.spread.identical:
        return f"{who}: exactly {shown.mean}{shown.unit} each."
    return f"{who}: mean {shown.mean}{shown.unit}, SD {shown.sd}, from {shown.min} to {shown.max}."
