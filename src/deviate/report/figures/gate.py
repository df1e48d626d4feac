"""A metric of a gate: the mean that is checked with its interval, the other mean, and the limit."""

from __future__ import annotations

from typing import Any

from deviate.inference.gate.gate import Gate
from deviate.inference.gate.metric import GateMetric
from deviate.report.escape import clean
from deviate.report.figures.figure import Figure, slug, unique
from deviate.report.figures.scales import axis_title, domain, quantitative, rows
from deviate.report.figures.views import chart, number, tips, view
from deviate.report.numbers import finest, show, show_level

ROW = 36


def gate_figures(gate: Gate) -> list[Figure]:
    """Return one figure for each metric with a limit and a mean to check."""
    known = [metric for metric in gate.metrics if metric.limit is not None and metric.mean_a is not None]
    return unique([_figure(metric, gate) for metric in known])


def _figure(metric: GateMetric, gate: Gate) -> Figure:
    place = finest((metric.sd_a, metric.sd_b))
    a, b, level = clean(gate.a), clean(gate.b), show_level(1 - 2 * gate.look.alpha)
    interval = f" Bar: {level} confidence interval of the distance from the limit." if metric.ci_room.known else ""
    return Figure(
        slug=slug("gate", metric.name),
        section="gate",
        title=f"{clean(metric.name)}: {a} against the limit",
        description=(
            f"Mean of {a} {show(metric.mean_a, place)}, of {b} {show(metric.mean_b, place)}; "
            f"limit {show(metric.limit, place)} (dashed). The shaded side is worse than the limit.{interval}"
        ),
        metric=metric.name,
        spec=_chart(metric, gate),
    )


def _chart(metric: GateMetric, gate: Gate) -> dict[str, Any]:
    low, high = _interval(metric)
    ends = domain([metric.mean_a, metric.mean_b, metric.limit, low, high])
    x = quantitative(ends, axis_title(metric.name, metric.unit))
    y = {"y": rows([gate.a, gate.b])}
    worse = [ends[0], metric.limit] if metric.direction == "higher" else [metric.limit, ends[1]]
    checked = {"variant": gate.a, "mean": metric.mean_a, "low": low, "high": high, "n": metric.n_a}
    other = {"variant": gate.b, "mean": metric.mean_b, "low": None, "high": None, "n": metric.n_b}
    data: dict[str, list[dict[str, Any]]] = {
        "worse": [{"from": worse[0], "to": worse[1]}],
        "limit": [{"limit": metric.limit}],
        "means": [row for row in (checked, other) if row["mean"] is not None],
        **({"interval": [checked]} if low is not None else {}),
    }
    tooltip = tips(the_variant="experiment", mean="mean", low="CI from", high="CI to", n="runs")
    band = {"x": number("from", **x), "x2": {"field": "to"}}
    layers = [
        view("worse", "rect", band, style="soft", opacity=0.25),
        view("limit", "rule", {"x": number("limit", **x), "tooltip": tips(limit="limit")}, style="ink-line",
             strokeDash=[4, 3]),
        *([view("interval", "rule", {"x": number("low", **x), "x2": {"field": "high"}, **y}, style="ink",
                strokeWidth=2)] if low is not None else []),
        view("means", "point", {"x": number("mean", **x), **y, "tooltip": tooltip}, style="ink", shape="diamond",
             size=70, opacity=1, filled=True),
    ]  # fmt: skip
    return chart(data, layers, 2 * ROW)


def _interval(metric: GateMetric) -> tuple[float | None, float | None]:
    """Return the ends of the interval of the distance, measured from the limit on the axis of the metric."""
    low, high, limit = metric.ci_room.low, metric.ci_room.high, metric.limit
    if not metric.ci_room.known or low is None or high is None or limit is None:
        return None, None
    return (limit + low, limit + high) if metric.direction == "higher" else (limit - high, limit - low)
