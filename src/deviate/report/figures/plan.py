"""A plan: the smallest difference that numbers of runs show, and what was asked for."""

from __future__ import annotations

from typing import Any

from deviate.inference.plan import Plan
from deviate.report.escape import clean
from deviate.report.figures.figure import Figure
from deviate.report.figures.scales import axis_title, domain, quantitative
from deviate.report.figures.views import chart, number, tips, view
from deviate.report.numbers import show_level, show_percent

HEIGHT = 200

#: Beside numbers of runs that were asked for, those of this ratio and more have room for a label on a phone.
APART = 1.25


def plan_figure(plan: Plan) -> Figure:
    """Draw the smallest difference of two means that is shown, by the runs of each recipe."""
    asked = " Diamonds: what was asked for." if _asked(plan) else ""
    return Figure(
        slug="plan-differences",
        section="plan",
        title="Smallest difference that is shown, by runs of each recipe",
        description=f"With power {show_percent(plan.power)} at {show_level(1 - plan.alpha)} confidence.{asked}",
        spec=_chart(plan),
    )


def _asked(plan: Plan) -> list[dict[str, Any]]:
    return [
        {"runs": answer.runs, "difference": answer.size}
        for answer in plan.answers
        if answer.question == "difference" and answer.runs is not None
    ]


def _chart(plan: Plan) -> dict[str, Any]:
    ladder = [{"runs": rung.runs, "difference": rung.detectable_difference} for rung in plan.ladder]
    asked = _asked(plan)
    every = [*ladder, *asked]
    ends = [0.0, domain(point["difference"] for point in every)[1]]
    runs = [point["runs"] for point in every]
    scale = {"type": "log", "domain": [min(runs) * 0.9, max(runs) * 1.1], "nice": False}
    asked_for = {point["runs"] for point in asked}
    near = {rung.runs for rung in plan.ladder for each in asked_for if 1 / APART < rung.runs / each < APART}
    values = sorted({rung.runs for rung in plan.ladder} - near | asked_for)
    # A logarithmic axis leaves labels out beyond the count of its ticks, also where there is room.
    ticks = {
        "values": values,
        "format": ",d",
        "tickCount": 10 * len(values),
        "labelOverlap": "greedy",
        "labelSeparation": 4,
    }
    at = {
        "x": number("runs", title="runs of each recipe", scale=scale, axis=ticks),
        "y": number("difference", **quantitative(ends, axis_title("difference", clean(plan.unit)))),
    }
    shown = {**at, "tooltip": tips(runs="runs of each", difference="difference")}
    layers = [view("ladder", "line", at), view("ladder", "point", shown, size=36, filled=True, opacity=1)]
    if asked:
        layers.append(view("asked", "point", shown, style="ink", shape="diamond", size=90, filled=True, opacity=1))
    return chart({"ladder": ladder, **({"asked": asked} if asked else {})}, layers, HEIGHT)
