"""What to know before trusting the numbers."""

from __future__ import annotations

from deviate.report.comparison.parts import Comparison
from deviate.report.parts import Document, together
from deviate.report.words import listed
from deviate.report.writers.html.section import Content, Page, Section

TITLE = "What to know before trusting the numbers"


def _content(page: Page[Document]) -> Content:
    several = len(page.said.variants) > 1
    remarks = [
        {
            "severity": warned.severity,
            "about": listed(variants) if several else "",
            "message": warned.message,
        }
        for warned, variants in together(page.said.warnings)
    ]
    return {"remarks": remarks} if remarks else None


def _compared(page: Page[Comparison]) -> Content:
    remarks = [{"severity": warned.severity, "about": "", "message": warned.message} for warned in page.said.warnings]
    return {"remarks": remarks} if remarks else None


SECTION = Section(slug="trust", title=TITLE, content=_content, template="remarks.html")
COMPARED = Section(slug="trust", title=TITLE, content=_compared, template="remarks.html")
