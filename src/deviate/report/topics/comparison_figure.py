"""Two sides beside each other, and their difference on the same scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deviate.facts.compared_metric import MetricComparison
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.curves import rounded
from deviate.report.escape import clean
from deviate.report.figures import (
    Figure,
    axis_title,
    chart,
    coloured,
    cut_interval,
    domain,
    flattened,
    interval_views,
    offset,
    only,
    points_domain,
    quantitative,
    quantity,
    rows,
    says_cut,
    shaped,
    slug,
    tips,
    unique,
    view,
    word,
)
from deviate.report.numbers import difference_text, difference_unit, show_level
from deviate.report.topics.distribution import lanes
from deviate.report.topics.verdicts import MetricCells, last_digit
from deviate.report.words import count

ROW = 52

#: Parts of the height of a row: runs above, the mean below them.
RUNS_FROM, RUNS_TO, MEAN_AT = 0.08, 0.58, 0.82

#: Name of the row below those of the sides.
DIFFERENCE = "difference"


def comparison_figures(comparison: Comparison) -> list[Figure]:
    """Return one figure for each pair of sides and each metric with a value on both."""
    return unique(
        [
            comparison_figure(metric, pair, comparison)
            for pair in comparison.pairs
            for metric in pair.metrics
            if metric.a.values and metric.b.values
        ]
    )


def comparison_figure(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> Figure:
    """Draw one metric of two sides: each run, the means, and the difference with its interval.

    The two axes have one scale [1]_: the lower one, of the values, and the upper one, of the difference, which is zero
    where the mean of the first side is. So the difference is as long as the means are apart.

    References
    ----------
    .. [1] M. J. Gardner and D. G. Altman, "Confidence intervals rather than P values: estimation rather than
       hypothesis testing", British Medical Journal 292, 1986.
    """
    cells = MetricCells(metric, pair)
    spec = _chart(metric, pair, comparison.labels)
    cut = says_cut(spec["datasets"].get("difference", []))
    parts = [cells.name] if len(comparison.pairs) == 1 else [cells.name, pair.a, pair.b]
    return Figure(
        slug=slug("comparison", *parts),
        section="comparison",
        title=f"{clean(cells.name)}: {clean(pair.a)} against {clean(pair.b)}"
        f" (bars: mean ± SD; difference: {show_level(pair.level)} CI)",
        description=_description(metric, pair, cells, cut=cut),
        metric=metric.name,
        spec=spec,
    )


def _chart(metric: MetricComparison, pair: PairComparison, order: list[str]) -> dict[str, Any]:
    zero, known = metric.a.spread.mean, metric.contrast.difference.value is not None
    names = [pair.a, pair.b, *([DIFFERENCE] if known else [])]
    ends = _ends(metric)
    position = {"y": rows(names), "yOffset": offset()}
    sides = _side_views(quantitative(ends, axis_title(metric.name, metric.unit)), position, order)
    data = {"runs": _runs(metric, pair), "means": _means(metric, pair)}
    if metric.contrast.paired:
        data["pairs"] = _pairs(data["runs"])
        sides = [_pairs_view(quantitative(ends, axis_title(metric.name, metric.unit)), position), *sides]
    if not known or zero is None:
        return chart(data, sides, ROW * len(names))
    margin = metric.contrast.margin
    ends_above = [end - zero for end in ends]
    data["difference"] = [_difference(metric, ends_above)]
    data["margin"] = [{"from": -margin, "to": margin}] if margin else []
    title = axis_title("difference", difference_unit(metric.unit).strip())
    above = quantitative(ends_above, title, orient="top", grid=False)
    both = [{"layer": sides}, {"layer": _difference_views(above, position, data["difference"])}]
    return chart(data, both, ROW * len(names), resolve={"scale": {"x": "independent"}})


def _pairs(sides: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    places = [dict(zip(side["index"], zip(side["value"], side["lane"], strict=True), strict=True)) for side in sides]
    return [
        {"variant": side["variant"], "order": order, "pair": index, "value": value, "lane": lane}
        for index in sides[0]["index"]
        if index in places[1]
        for order, (side, place) in enumerate(zip(sides, places, strict=True))
        for value, lane in [place[index]]
    ]


def _pairs_view(x: dict[str, Any], position: dict[str, Any]) -> dict[str, Any]:
    at = {"x": quantity("value", **x), **position, "detail": word("pair"), "order": quantity("order")}
    return view("pairs", "line", at, style="ink-line", strokeWidth=0.8, opacity=0.35)


def _ends(metric: MetricComparison) -> list[float]:
    ends: list[float | None] = [*metric.a.values, *metric.b.values]
    for spread in (metric.a.spread, metric.b.spread):
        if spread.mean is not None and spread.sd is not None:
            ends += [spread.mean - spread.sd, spread.mean + spread.sd]
    zero, interval = metric.a.spread.mean, metric.contrast.difference.negated.interval
    if zero is None:
        return domain(ends)
    margin = metric.contrast.margin or 0.0
    ends += [zero - margin, zero + margin]
    return points_domain(ends, (zero + end for end in (interval.low, interval.high) if end is not None))


def _runs(metric: MetricComparison, pair: PairComparison) -> list[dict[str, Any]]:
    return [
        {
            "variant": label,
            "kind": kind,
            "index": runs,
            "value": [rounded(value) for value in values],
            "lane": [round(RUNS_FROM + (RUNS_TO - RUNS_FROM) * lane, 4) for lane in lanes(values)],
        }
        for label, kind, runs, values in (
            (pair.a, pair.variant_a, metric.a.runs, metric.a.values),
            (pair.b, pair.variant_b, metric.b.runs, metric.b.values),
        )
    ]


def _means(metric: MetricComparison, pair: PairComparison) -> list[dict[str, Any]]:
    return [
        {
            "variant": label,
            "lane": MEAN_AT,
            "mean": spread.mean,
            "sd": spread.sd,
            "low": None if spread.mean is None or spread.sd is None else spread.mean - spread.sd,
            "high": None if spread.mean is None or spread.sd is None else spread.mean + spread.sd,
        }
        for label, spread in ((pair.a, metric.a.spread), (pair.b, metric.b.spread))
        if spread.mean is not None
    ]


def _side_views(x: dict[str, Any], position: dict[str, Any], order: list[str]) -> list[dict[str, Any]]:
    coloured_position = {**position, "color": coloured(order)}
    bar = {"x": quantity("low", **x), "x2": {"field": "high"}, **coloured_position}
    mean = {**coloured_position, "tooltip": tips(the_variant="side", mean="mean", sd="SD")}
    run = {
        **coloured_position,
        "shape": shaped(order),
        "tooltip": tips(the_variant="side", the_run="run", value="value"),
    }
    return [
        view(
            "runs",
            "point",
            {"x": quantity("value", **x), **run},
            transform=[
                flattened("index", "value", "lane"),
                {"calculate": "datum.kind + '-' + datum.index", "as": "run"},
            ],
            filled=True,
            size=34,
            opacity=0.75,
        ),
        view("means", "rule", bar, transform=[only("isValid(datum.low)")], strokeWidth=2),
        view("means", "point", {"x": quantity("mean", **x), **mean}, shape="diamond", size=60, opacity=1, filled=True),
    ]


def _difference(metric: MetricComparison, ends: Sequence[float]) -> dict[str, Any]:
    difference = metric.contrast.difference.negated
    interval = cut_interval(difference.interval.low, difference.interval.high, ends, last_digit(metric))
    return {"variant": DIFFERENCE, "lane": 0.5, "difference": difference.value, **interval, "zero": 0}


def _difference_views(
    x: dict[str, Any], position: dict[str, Any], differences: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    point = {
        "x": quantity("difference", **x),
        **position,
        "tooltip": tips(difference="difference", low="CI from", high="CI to"),
    }
    margin = {"x": quantity("from", **x), "x2": {"field": "to"}}
    return [
        view("margin", "rect", margin, style="soft", opacity=0.25),
        view("difference", "rule", {"x": quantity("zero", **x)}, style="ink-line", strokeDash=[4, 3]),
        *interval_views("difference", differences, x, position, style="ink"),
        view("difference", "point", point, style="ink", shape="diamond", size=60, opacity=1, filled=True),
    ]


def _description(metric: MetricComparison, pair: PairComparison, cells: MetricCells, *, cut: bool) -> str:
    a, b, unit = clean(pair.a), clean(pair.b), f" {clean(metric.unit)}" if metric.unit else ""
    contrast = metric.contrast
    runs_a, runs_b = count(contrast.n_a, "run"), count(contrast.n_b, "run")
    key = " (mean ± SD)" if metric.a.spread.sd is not None or metric.b.spread.sd is not None else ""
    parts = [f"{a}: {cells.a}{unit} over {runs_a}; {b}: {cells.b}{unit} over {runs_b}{key}."]
    if contrast.difference.value is None:
        return f"{parts[0]} No difference is drawn: {contrast.difference.reason or 'it is not known'}."
    interval = (
        f", {show_level(pair.level)} confidence interval {cells.ci}" if contrast.difference.interval.known else ""
    )
    difference = difference_text(cells.difference, metric.unit)
    parts.append(f"Difference ({b} minus {a}): {difference}{interval}; p {cells.p}; {clean(cells.verdict)}.")
    if cut:
        parts.append("An arrow marks where the interval goes on beyond the chart.")
    if contrast.margin:
        margin = difference_text(f"{contrast.margin:g}", metric.unit)
        parts.append(f"The shaded band is the margin of equivalence, {margin} to both sides of zero.")
    parts.append(f"The upper axis has the scale of the lower one and its zero at the mean of {a}.")
    return " ".join(parts)
