"""All figures of an experiment, in the order in which a report shows them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from deviate.inference.curves import Curves
from deviate.inference.experiment import ExperimentFacts
from deviate.report.figures.distribution import distribution_figures
from deviate.report.figures.factor_bars import factor_figures
from deviate.report.figures.figure import Figure, unique
from deviate.report.figures.learning_curves import curve_figures
from deviate.report.figures.predictions import prediction_figures
from deviate.report.figures.timeline import timeline_figures
from deviate.report.figures.weights import weight_figures


def experiment_figures(facts: ExperimentFacts, curves: Curves | None = None) -> list[Figure]:
    """Return every figure: distributions, learning curves, spread by factor, times, predictions, weights.

    Within each kind figures are in the order of the metrics; a kind for which there are no facts is absent.
    """
    order = [variant.variant for variant in facts.variants]
    distributions = distribution_figures(facts)
    return unique(
        [
            *(figure for figure in distributions if figure.section == "distribution"),
            *(curve_figures(curves, order) if curves else []),
            *factor_figures(facts),
            *(figure for figure in distributions if figure.section == "time"),
            *timeline_figures(facts),
            *(figure for figures in prediction_figures(facts).values() for figure in figures),
            *weight_figures(facts).values(),
        ]
    )


@dataclass(frozen=True, eq=False)
class Charts:
    """What is drawn of an experiment, for all sections of a page."""

    facts: ExperimentFacts
    #: None where no learning curve is shown.
    curves: Curves | None = None

    @cached_property
    def figures(self) -> list[Figure]:
        """Every figure, see `experiment_figures`; not made where no section shows one."""
        return experiment_figures(self.facts, self.curves)

    @cached_property
    def predictions(self) -> dict[str, list[Figure]]:
        """The figures of predictions, by variant."""
        return prediction_figures(self.facts)

    @cached_property
    def weights(self) -> dict[str, Figure]:
        """The figure of weights, by variant."""
        return weight_figures(self.facts)
