"""How the runs went on while they trained."""

from __future__ import annotations

from deviate.report.parts import Document
from deviate.report.writers.html.panels import panels
from deviate.report.writers.html.section import Content, Page, Section


def _content(page: Page[Document]) -> Content:
    figures = page.figures_of("curves")
    if not figures:
        return None
    return {"slug": "curves", "panels": panels(figures, first=page.main_metric), "notes": page.curve_notes}


SECTION = Section(slug="curves", title="Learning curves", content=_content, template="panels.html")
