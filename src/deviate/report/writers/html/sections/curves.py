"""How the runs went on while they trained."""

from __future__ import annotations

from deviate.report.order import first_asked
from deviate.report.parts import Document
from deviate.report.writers.html.panels import panels
from deviate.report.writers.html.section import Content, Page, Section


def _content(page: Page[Document]) -> Content:
    figures = page.figures_of("curves")
    if not figures:
        return None
    return {"slug": "curves", "panels": panels(figures, first=_first(page)), "notes": page.curve_notes}


def _first(page: Page[Document]) -> str:
    """Choose the metric a reader asks for first among those with a curve: the main one may be reported but once."""
    drawn = {figure.metric for figure in page.figures_of("curves")}
    metrics = [metric for variant in page.said.variants for metric in variant.metrics if metric.name in drawn]
    return page.main_metric if page.main_metric in drawn else first_asked(metrics).name


SECTION = Section(slug="curves", title="Learning curves", content=_content, template="panels.html")
