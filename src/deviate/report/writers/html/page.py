"""The report of an experiment, and a comparison, each as one page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from deviate.report.comparison.parts import Comparison
from deviate.report.curves import curves_of
from deviate.report.figures import comparison_figures, document_figures
from deviate.report.order import first_asked
from deviate.report.parts import Document
from deviate.report.writers.html.layout import lay_out
from deviate.report.writers.html.section import Page
from deviate.report.writers.html.sections import COMPARISON, REPORT

if TYPE_CHECKING:
    import pandas as pd


def render_html(document: Document, read_records: Callable[[], pd.DataFrame]) -> str:
    """Return the whole document as a page, with figures that need no network."""
    curves = curves_of(document, read_records())
    page = Page(
        said=document,
        figures=document_figures(document, curves),
        main_metric=_main(document),
        curve_notes=curves.notes,
    )
    return lay_out(document.experiment, page, REPORT)


def render_comparison_html(comparison: Comparison) -> str:
    """Return the whole comparison as a page."""
    main = first_asked(comparison.pairs[0].metrics).name
    page = Page(said=comparison, figures=comparison_figures(comparison), main_metric=main)
    return lay_out(" against ".join(comparison.labels), page, COMPARISON)


def _main(document: Document) -> str:
    metrics = [metric for variant in document.variants for metric in variant.metrics]
    measured = [metric for metric in metrics if metric.kind != "speed" and metric.n]
    return first_asked(measured).name if measured else ""
