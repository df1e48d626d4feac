"""Figures of weights: how far those of two runs lie apart as training goes on."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.weights import MomentDistance, WeightFacts
from deviate.report.figures.figure import Figure, slug
from deviate.report.figures.prediction_curves import curve
from deviate.report.text.words import count

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
