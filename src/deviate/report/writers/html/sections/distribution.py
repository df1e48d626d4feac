"""Where the runs lie, metric by metric."""

from __future__ import annotations

from deviate.report.parts import Document
from deviate.report.writers.html.panels import panels
from deviate.report.writers.html.section import Content, Page, Section


def _content(page: Page[Document]) -> Content:
    figures = page.figures_of("distribution")
    return {"slug": "distribution", "panels": panels(figures, first=page.main_metric), "notes": []} if figures else None


SECTION = Section(slug="distribution", title="Each run's value", content=_content, template="panels.html")
