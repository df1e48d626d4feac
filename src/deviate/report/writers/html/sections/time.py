"""How long the runs took, and when each ran."""

from __future__ import annotations

from deviate.report.parts import Document
from deviate.report.writers.html.panels import panels
from deviate.report.writers.html.section import Content, Page, Section


def _content(page: Page[Document]) -> Content:
    figures = page.figures_of("time")
    return {"slug": "time", "panels": panels(figures, first=page.main_metric), "notes": []} if figures else None


SECTION = Section(slug="time", title="Time", content=_content, template="panels.html")
