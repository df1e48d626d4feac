"""The main metric of all runs so far, those under way among them."""

from __future__ import annotations

from typing import Any

from deviate.inference.thinning import thinned
from deviate.report.escape import clean
from deviate.report.figures.figure import Figure, slug
from deviate.report.figures.scales import axis_title, coloured, domain, quantitative, whole
from deviate.report.figures.views import chart, flattened, number, tips, view, word
from deviate.results.live import LiveExperiment, LiveRun

HEIGHT = 220

#: Points of one run.
POINTS = 200


def live_figure(live: LiveExperiment) -> Figure | None:
    """Draw a line per run with a point at its latest value; None before a run has a value."""
    drawn = [run for run in live.runs if run.values]
    if not drawn:
        return None
    latest = "; a point marks the latest value of a run under way" if live.count("under way") else ""
    only = "; a point alone is the only value of a run" if any(len(run.values) == 1 for run in drawn) else ""
    return Figure(
        slug=slug("live", live.metric),
        section="curves",
        title=f"{clean(live.metric)} so far",
        description=f"A line for each run{latest}{only}.",
        metric=live.metric,
        spec=_chart(live, drawn),
    )


def _chart(live: LiveExperiment, drawn: list[LiveRun]) -> dict[str, Any]:
    lines = [_line(run) for run in drawn]
    y = quantitative(domain(value for line in lines for value in line["value"]), axis_title(live.metric))
    order = list(dict.fromkeys(run.variant for run in live.runs))
    named = list(dict.fromkeys(run.variant for run in drawn))
    at = {"x": whole("iteration", "iteration"), "y": number("value", **y), "color": coloured(order, named)}
    shown = {**at, "tooltip": tips(the_run="run", iteration="iteration", value=live.metric)}
    going = [
        {"variant": run.variant, "run": run.name, "iteration": run.iterations[-1], "value": run.values[-1]}
        for run in drawn
        if run.state == "under way" or len(run.values) == 1
    ]
    points = [flattened("iteration", "value")]
    layers = [
        view("runs", "line", {**at, "detail": word("run"), "tooltip": tips(the_run="run")}, transform=points,
             strokeWidth=1.5),
        *([view("going", "point", shown, filled=True, size=60, opacity=1)] if going else []),
    ]  # fmt: skip
    return chart({"runs": lines, **({"going": going} if going else {})}, layers, HEIGHT)


def _line(run: LiveRun) -> dict[str, Any]:
    kept = thinned(run.values, POINTS).tolist()
    return {
        "variant": run.variant,
        "run": run.name,
        "iteration": [run.iterations[place] for place in kept],
        "value": [run.values[place] for place in kept],
    }
