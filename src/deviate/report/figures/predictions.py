"""Figures of predictions: classes against chance, pairs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.stability import ClassStability, Labels, Stability
from deviate.report.escape import clean
from deviate.report.figures.figure import Figure, slug
from deviate.report.figures.prediction_curves import curves_of_predictions
from deviate.report.figures.scales import quantitative, rows
from deviate.report.figures.views import chart, number, tips, view, word
from deviate.report.numbers import show_percent
from deviate.report.text.words import count

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
            {"x": number("sd", **x), **y, "tooltip": tips(the_class="class", sd="SD", floor="by chance")},
            height=10,
        ),
        view("classes", "tick", {"x": number("floor", **x), **y}, style="ink", thickness=2, size=16),
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
                "color": number("churn", **scale),
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
