"""Figures of predictions: classes against chance, pairs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deviate.facts.experiment import ExperimentFacts
from deviate.facts.learning import LearningFacts
from deviate.facts.stability import ClassStability, Correctness, Labels, Stability
from deviate.facts.weights import MomentDistance, WeightFacts
from deviate.report.escape import clean
from deviate.report.figures import (
    LEGEND_LINE,
    Figure,
    chart,
    domain,
    only,
    quantitative,
    quantity,
    rows,
    slug,
    tips,
    view,
    whole,
    word,
)
from deviate.report.numbers import show_percent
from deviate.report.words import count

# Curves of predictions: ensembles of runs, answering only where runs agree, churn by evaluation.

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
    at = {"x": {**x, "scale": {**x["scale"], "padding": PADDING}}, "y": quantity("value", **y)}
    several = {}
    if any("what" in point for point in points):
        lines = {"symbolType": "stroke", "symbolSize": LEGEND_LINE**2}
        several = {name: word("what", title=None, sort=None, legend=lines) for name in ("color", "strokeDash")}
    bars = {"x": at["x"], "y": quantity("low", **y), "y2": {"field": "high"}}
    shown = tips(**({"the_what": "what"} if several else {}), at=x_title, value=y_title, low="from", high="to")
    barred = any(point.get("low") is not None for point in points)
    layers = [
        *([view("points", "rule", bars, transform=_KNOWN, style="soft", strokeWidth=2)] if barred else []),
        view("points", "line", {**at, **several}),
        view("points", "point", {**at, **several, "tooltip": shown}, size=36, filled=True, opacity=1),
    ]
    return chart({"points": points}, layers, HEIGHT)


ROW = 22

#: Classes and runs that a figure shows; of more, the classes that vary most.
CLASSES = 30
RUNS = 40


def prediction_figures(facts: ExperimentFacts) -> dict[str, list[Figure]]:
    """Return by variant the figures of its first evaluation whose labels could be compared; none of equal labels."""
    first: dict[str, tuple[Stability, Labels]] = {}
    for each in facts.stabilities:
        if each.labels is not None:
            first.setdefault(each.variant, (each, each.labels))
    return {variant: _figures(*shown) for variant, shown in first.items() if shown[1].churn.value}


def _figures(facts: Stability, labels: Labels) -> list[Figure]:
    known = [each for each in labels.correctness.classes if each.sd is not None] if labels.correctness else []
    made = [_classes(facts, known)] if known else []
    if 3 <= len(facts.runs) <= RUNS:
        made.append(_pairs(facts, labels))
    return [*made, *curves_of_predictions(facts, labels)]


def _classes(facts: Stability, known: Sequence[ClassStability]) -> Figure:
    shown = sorted(known, key=lambda each: -(each.sd or 0.0))[:CLASSES]
    names = [each.name for each in shown]
    data = [
        {"class": each.name, "sd": 100 * (each.sd or 0.0), "floor": None if each.floor is None else 100 * each.floor}
        for each in shown
    ]
    end = 105 * max(max(each.sd or 0.0, each.floor or 0.0) for each in shown) or 1.0
    x = quantitative([0, end], "SD of the accuracy of a class, percentage points")
    y = {"y": rows(names, field="class")}
    layers = [
        view(
            "classes",
            "bar",
            {"x": quantity("sd", **x), **y, "tooltip": tips(the_class="class", sd="SD", floor="by chance")},
            height=10,
        ),
        view("classes", "tick", {"x": quantity("floor", **x), **y}, style="ink", thickness=2, size=16),
    ]
    widest = shown[0]
    return Figure(
        slug=slug("classes", facts.variant),
        section="predictions",
        title="How much the accuracy of each class differs between runs",
        description=f"Class {clean(widest.name)} differs most. Marks: the SD of runs that guess each example anew.",
        spec=chart({"classes": data}, layers, ROW * len(shown)),
    )


def _pairs(facts: Stability, labels: Labels) -> Figure:
    data: list[dict[str, Any]] = [
        {"a": a, "b": b, "churn": 100 * labels.matrix[i][j]}
        for i, a in enumerate(facts.runs)
        for j, b in enumerate(facts.runs)
        if i != j
    ]
    scale = {"scale": {"domainMin": 0}, "title": "churn, %"}
    layers = [
        view(
            "pairs",
            "rect",
            {
                "x": word("a", title=None, axis={"labels": False, "ticks": False}),
                "y": rows(facts.runs, field="b"),
                "color": quantity("churn", **scale),
                "tooltip": tips(the_a="run", the_b="run", churn="churn, %"),
            },
        )
    ]
    return Figure(
        slug=slug("churn", facts.variant),
        section="predictions",
        title="Share of examples that two runs label differently",
        description=f"{count(len(facts.runs), 'run')}, in rows and in the same order in columns; on average "
        f"{show_percent(labels.churn.value)} of the examples.",
        spec=chart({"pairs": data}, layers, max(ROW * len(facts.runs) // 2, 120)),
    )


# Figures of weights: how far those of two runs lie apart as training goes on.

#: Kept iterations that make a curve.
FEWEST = 2


def weight_figures(facts: ExperimentFacts) -> dict[str, Figure]:
    """Return by variant the distance of the weights of its runs over the iterations that were kept.

    Files that the runs wrote are not drawn: their names say nothing of the time between them.
    """
    drawn = {each.variant: (each, _known(each)) for each in facts.weights}
    return {
        variant: _figure(each, known)
        for variant, (each, known) in drawn.items()
        if len(known) >= FEWEST and not all(moment.equal for _, moment in known)
    }


def _known(facts: WeightFacts) -> list[tuple[int, MomentDistance]]:
    return [
        (each.iteration, each)
        for each in facts.moments
        if each.iteration is not None and each.distance.value is not None
    ]


def _figure(facts: WeightFacts, known: Sequence[tuple[int, MomentDistance]]) -> Figure:
    points = [
        {
            "at": iteration,
            "value": each.distance.value,
            "low": each.distance.interval.low,
            "high": each.distance.interval.high,
        }
        for iteration, each in known
    ]
    return Figure(
        slug=slug("weights", facts.variant),
        section="weights",
        title="Distance of the weights of two runs, each brought to length 1",
        description=f"{count(len(facts.runs), 'run')}; bars: confidence intervals.",
        spec=curve(points, "iteration", "distance"),
    )
