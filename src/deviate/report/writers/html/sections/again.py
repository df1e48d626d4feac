"""What to type for the same comparison."""

from __future__ import annotations

from deviate.report.comparison.parts import Comparison
from deviate.report.writers.html.section import Content, Page, Section


def _content(page: Page[Comparison]) -> Content:
    return {"lines": [page.said.command], "facts": []}


SECTION = Section(slug="again", title="How to get this again", content=_content, template="reproduce.html")
