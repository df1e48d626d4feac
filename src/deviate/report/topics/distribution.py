"""Figures of spread: every run in one metric, and a bar for what varies.

The numbers of a metric as text, all to the digit that its SD allows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from deviate.core.factors import find_variant
from deviate.facts.curves import rounded
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread
from deviate.facts.sources import SpreadAcross, VariantSpread
from deviate.observe.metrics import TIME_PER_RUN
from deviate.report.escape import clean
from deviate.report.figures import (
    ONE_COLOUR,
    Figure,
    axis_title,
    chart,
    coloured,
    cut_interval,
    flattened,
    interval_views,
    offset,
    points_domain,
    quantitative,
    quantity,
    rows,
    says_cut,
    shaped,
    slug,
    tips,
    view,
)
from deviate.report.numbers import (
    PLAIN_DIGITS,
    metric_place,
    show,
    show_interval,
    show_level,
    show_percent,
    unit_in_name,
    unit_text,
)
from deviate.report.words import count

#: Digits of a number in a table for print, where neither its own SD nor another row says how many.
PRINT_DIGITS = 4

#: Power of ten of the last digit worth showing, by name and aggregate of a metric; None: nothing says.
Places = Mapping[Hashable, int | None]


class MetricText:
    """The numbers of one metric as text, all to the digit its SD allows.

    For print, `alike` says to which digit the same metric is written elsewhere, where its own SD says nothing.
    """

    def __init__(self, metric: MetricSpread, alike: Places | None = None) -> None:
        measured = metric.spread
        place, digits = _precision(metric, alike)

        def text(value: float | None) -> str:
            return show(value, place, digits)

        #: Write a value of the metric like its mean.
        self.of = text
        self.name = metric.name + unit_in_name(metric.unit)
        # The time of a run is one number already.
        self.aggregate = "" if metric.name == TIME_PER_RUN else metric.aggregate
        self.unit = unit_text(metric.unit)
        self.n = str(measured.n)
        self.mean, self.sd, self.cv = text(measured.mean), text(measured.sd), show_percent(measured.cv)
        self.min, self.max, self.range = text(measured.min), text(measured.max), text(measured.range)
        self.median, self.iqr = text(measured.median), text(measured.iqr)
        self.ci_mean, self.ci_sd = show_interval(metric.ci_mean, place), show_interval(metric.ci_sd, place)
        #: Mean ± SD, the value of a single run.
        self.summary = f"{self.mean}{f' ± {self.sd}' if measured.n > 1 else ''}{self.unit}"


class SpreadText:
    """How much the runs of one variant differ in the metric of a table, as text, to the digits of all of its rows."""

    def __init__(self, row: VariantSpread, table: SpreadAcross) -> None:
        place = metric_place(table.decimals, *(each.sd for each in table.rows))
        self.n = str(row.n)
        self.mean, self.sd, self.range = show(row.mean, place), show(row.sd, place), show(row.range, place)
        self.ci_sd = show_interval(row.ci_sd, place)
        self.relative = show_percent(row.relative)


def places(metrics: Iterable[MetricSpread]) -> Places:
    """Return the last place worth showing of each metric by the variants in which its runs differ."""
    by_name: dict[Hashable, list[MetricSpread]] = {}
    for metric in metrics:
        by_name.setdefault((metric.name, metric.aggregate), []).append(metric)
    return {
        key: metric_place(alike[0].decimals, *(metric.spread.sd for metric in alike)) for key, alike in by_name.items()
    }


def _precision(metric: MetricSpread, alike: Places | None) -> tuple[int | None, int]:
    """Return the place of the last digit; where there is none, how many digits are written."""
    if alike is None or metric.spread.sd:
        return metric_place(metric.decimals, metric.spread.sd), PLAIN_DIGITS
    return alike.get((metric.name, metric.aggregate)), PRINT_DIGITS


# Points of equal or near values side by side instead of upon each other.

#: Stretches of the axis within which points would cover each other.
STRETCHES = 48


def lanes(values: Sequence[float]) -> list[float]:
    """Place points of finite values that are near to each other on lanes: in [0, 1], where 0.5 is the middle.

    The fullest stretch of the axis uses all of it, from 4 points on.

    >>> lanes([1.0, 1.0, 2.0])
    [0.375, 0.625, 0.5]
    """
    array = np.asarray(values, dtype=float)
    if array.size < 2:
        return [0.5] * array.size
    # Halved before they are subtracted: the difference of two large floats may overflow.
    low, high = array.min() / 2, array.max() / 2
    stretches = np.zeros(array.size, dtype=int)
    if high > low:
        stretches = np.minimum(((array / 2 - low) / (high - low) * STRETCHES).astype(int), STRETCHES - 1)
    fullest = int(np.bincount(stretches).max())
    width = 1 / max(fullest, 4) if fullest > 1 else 1.0
    result = np.full(array.size, 0.5)
    for stretch in np.unique(stretches):
        members = np.flatnonzero(stretches == stretch)
        result[members] = 0.5 + (np.arange(members.size) - (members.size - 1) / 2) * width
    return [round(float(lane), 4) for lane in result]


#: Pixels of a row, and parts of its height: runs above, the mean below them.
ROW, SINGLE_ROW = 48, 72

#: Pixels of all rows together, as long as none is lower than the least: with its axis half a column of a paper.
ROWS, LEAST_ROW = 145, 24
RUNS_FROM, RUNS_TO, MEAN_AT = 0.08, 0.58, 0.86

#: A metric of one variant.
Row = tuple[str, MetricSpread]


def distribution_figures(facts: ExperimentFacts) -> list[Figure]:
    """Return one figure for each metric that has a finite value in some run."""
    rows_by_metric: dict[tuple[str, str], list[Row]] = {}
    for variant in facts.variants:
        for metric in variant.metrics:
            if metric.n and metric.kind != "speed":
                rows_by_metric.setdefault((metric.name, metric.aggregate), []).append((variant.variant, metric))
    order = [variant.variant for variant in facts.variants]
    return [distribution_figure(measured, facts.level, order) for measured in rows_by_metric.values()]


def distribution_figure(measured: Sequence[Row], level: float, order: Sequence[str] = ()) -> Figure:
    """Draw the runs of one metric, a row per variant.

    Each variant measured a value or more. `order` has all variants of the report: each has the same colour everywhere.
    Without it there is one colour, for a report in which no other figure has the variants.
    """
    metric = measured[0][1]
    key = "each dot one run" if metric.n < 2 else f"each dot one run; bar: mean, {show_level(level)} CI"
    spec = distribution_chart(measured, order, axis_title(metric.name, metric.unit))
    return Figure(
        slug=slug("distribution", metric.name),
        section="distribution",
        title=f"{clean(metric.name)} ({metric.aggregate}): {key}",
        description=_description(measured, level, cut=says_cut(spec["datasets"]["means"])),
        metric=metric.name,
        spec=spec,
    )


def distribution_chart(measured: Sequence[Row], order: Sequence[str], title: str) -> dict[str, Any]:
    """Return the chart alone."""
    names = [variant for variant, _ in measured]
    row = SINGLE_ROW if len(measured) == 1 else min(ROW, max(ROWS / len(measured), LEAST_ROW))
    # In low rows marks of full size would cover each other.
    small = min(1.0, row / ROW)
    ends = _ends(measured)
    x = quantitative(ends, title)
    lane = rows(names) if len(names) > 1 else {**rows(names), "axis": None}
    position = {"y": lane, "yOffset": offset()}
    colour = {"color": coloured(order) if order else ONE_COLOUR}
    data = {"runs": _runs(measured), "means": _means(measured, ends)}
    layers = [
        view(
            "runs",
            "point",
            {
                "x": quantity("value", **x),
                **position,
                **colour,
                **({"shape": shaped(order)} if order else {}),
                "tooltip": tips(the_run="run", value="value"),
            },
            transform=[
                flattened("index", "value", "lane"),
                {"calculate": "datum.typed + '-' + datum.index", "as": "run"},
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
    return [
        {
            "variant": variant,
            # As its runs are typed, and named in the other charts.
            "typed": known.name if (known := find_variant(variant)) else variant,
            "index": metric.runs,
            "value": [rounded(value) for value in metric.values],
            "lane": [round(RUNS_FROM + (RUNS_TO - RUNS_FROM) * lane, 4) for lane in lanes(metric.values)],
        }
        for variant, metric in measured
    ]


def _means(measured: Sequence[Row], ends: Sequence[float]) -> list[dict[str, Any]]:
    return [
        {
            "variant": name,
            "lane": MEAN_AT,
            "mean": metric.spread.mean,
            **cut_interval(
                metric.ci_mean.low, metric.ci_mean.high, ends, metric_place(metric.decimals, metric.spread.sd)
            ),
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
            {"x": quantity("mean", **x), **position, "tooltip": tooltips},
            shape="diamond",
            size=round(60 * small),
            opacity=1,
            filled=True,
        ),
    ]


def _description(measured: Sequence[Row], level: float, *, cut: bool) -> str:
    sentences = [_sentence(variant, metric) for variant, metric in measured]
    drawn = ["each point is one run"]
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
