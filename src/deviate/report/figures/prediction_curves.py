"""Curves of predictions: ensembles of runs, answering only where runs agree, churn by evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deviate.inference.learning import LearningFacts
from deviate.inference.stability import Correctness, Labels, Stability
from deviate.report.figures.figure import Figure, slug
from deviate.report.figures.scales import LEGEND_LINE, domain, quantitative, whole
from deviate.report.figures.views import chart, number, only, tips, view, word
from deviate.report.text.words import count

HEIGHT = 160

#: Pixels between an axis and the first point, so that its bar is seen.
PADDING = 10

Points = Sequence[dict[str, Any]]

_KNOWN = [only("isValid(datum.low)")]


def curves_of_predictions(facts: Stability, labels: Labels) -> list[Figure]:
    """Return the curves that an evaluation has: by size of ensemble, by agreement, by evaluation pass."""
    made = []
    if labels.correctness is not None and labels.correctness.ensembles:
        made += [_ensembles(facts, labels.correctness), _abstention(facts, labels.correctness)]
    if facts.learning is not None and facts.learning.passes:
        made.append(_course(facts, facts.learning))
    return made


def _ensembles(facts: Stability, known: Correctness) -> Figure:
    single = known.accuracy
    sizes = [(1, single.mean, single.sd), *((each.size, each.accuracy, each.sd) for each in known.ensembles)]
    points = [
        _point(size, accuracy, None if sd is None else accuracy - sd, None if sd is None else accuracy + sd)
        for size, accuracy, sd in sizes
        if accuracy is not None
    ]
    return Figure(
        slug=slug("ensembles", facts.variant),
        section="predictions",
        title="Accuracy of several runs together",
        description="Bars: ± SD between ensembles of different runs, where there are enough.",
        spec=curve(points, "runs in an ensemble", "accuracy, %"),
    )


def _abstention(facts: Stability, known: Correctness) -> Figure:
    points = [
        {**_point(least, share), "what": what}
        for least, answered, accuracy in known.abstention
        for what, share in (("answered", answered), ("accuracy on these", accuracy))
        if share is not None
    ]
    return Figure(
        slug=slug("abstention", facts.variant),
        section="predictions",
        title="Answering only where runs agree",
        description=f"Number of the {count(len(facts.runs), 'run')} that must agree on the label.",
        spec=curve(points, "runs that agree", "share, %"),
    )


def _course(facts: Stability, learning: LearningFacts) -> Figure:
    points = [
        _point(place, each.churn.value, each.churn.interval.low, each.churn.interval.high)
        for place, each in enumerate(learning.passes, start=1)
        if each.churn.value is not None
    ]
    return Figure(
        slug=slug("passes", facts.variant),
        section="predictions",
        title="Share of examples that two runs label differently, by evaluation",
        description=f"{count(len(learning.runs), 'run')}; bars: confidence intervals.",
        spec=curve(points, "evaluation", "churn, %"),
    )


def _point(at: int, value: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    shares = {"value": value, "low": low, "high": high}
    return {"at": at, **{name: None if share is None else 100 * share for name, share in shares.items()}}


def curve(points: Points, x_title: str, y_title: str) -> dict[str, Any]:
    """Draw a line through points `at` and `value`, one for each `what`, with bars from `low` to `high` where known."""
    y = quantitative(domain(point[name] for point in points for name in ("low", "value", "high")), y_title)
    x = whole("at", x_title)
    at = {"x": {**x, "scale": {**x["scale"], "padding": PADDING}}, "y": number("value", **y)}
    several = {}
    if any("what" in point for point in points):
        lines = {"symbolType": "stroke", "symbolSize": LEGEND_LINE**2}
        several = {name: word("what", title=None, sort=None, legend=lines) for name in ("color", "strokeDash")}
    bars = {"x": at["x"], "y": number("low", **y), "y2": {"field": "high"}}
    shown = tips(**({"the_what": "what"} if several else {}), at=x_title, value=y_title, low="from", high="to")
    barred = any(point.get("low") is not None for point in points)
    layers = [
        *([view("points", "rule", bars, transform=_KNOWN, style="soft", strokeWidth=2)] if barred else []),
        view("points", "line", {**at, **several}),
        view("points", "point", {**at, **several, "tooltip": shown}, size=36, filled=True, opacity=1),
    ]
    return chart({"points": points}, layers, HEIGHT)
