"""Differences with their intervals, and effects."""

from __future__ import annotations

from deviate.report.comparison.parts import Comparison
from deviate.report.writers.html.panels import panels
from deviate.report.writers.html.section import Content, Page, Section


def _content(page: Page[Comparison]) -> Content:
    figures = page.figures_of("comparison")
    return {"slug": "comparison", "panels": panels(figures, first=page.main_metric), "notes": []} if figures else None


SECTION = Section(slug="comparison", title="Differences", content=_content, template="panels.html")
