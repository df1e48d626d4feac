"""All figures of a document and of a comparison, in the order in which a report shows them."""

from __future__ import annotations

from deviate.report.comparison.parts import Comparison
from deviate.report.curves import Curves
from deviate.report.figures.comparison import comparison_charts
from deviate.report.figures.distribution import distribution_figures
from deviate.report.figures.factor_bars import factor_figures
from deviate.report.figures.figure import Figure
from deviate.report.figures.learning_curves import curve_figures
from deviate.report.figures.slugs import unique
from deviate.report.figures.timeline import timeline_figures
from deviate.report.parts import Document


def document_figures(document: Document, curves: Curves | None = None) -> list[Figure]:
    """Return every figure of an experiment.

    Parameters
    ----------
    document : Document
        What is said about it.
    curves : Curves, optional
        Of `deviate.report.curves.curves_of`; without, no learning curve is drawn.

    Returns
    -------
    list of Figure
        Distributions, learning curves, spread by factor, times; within each in the order of the document's metrics.
        A kind for which the document has nothing is absent.
    """
    order = [variant.variant for variant in document.variants]
    distributions = distribution_figures(document)
    return unique(
        [
            *(figure for figure in distributions if figure.section == "distribution"),
            *(curve_figures(curves, order) if curves else []),
            *factor_figures(document),
            *(figure for figure in distributions if figure.section == "time"),
            *timeline_figures(document),
        ]
    )


def comparison_figures(comparison: Comparison) -> list[Figure]:
    """Return every figure of a comparison: one for each pair of sides and each metric."""
    return unique(comparison_charts(comparison))
