"""What someone else needs to do the same again."""

from __future__ import annotations

from deviate.report.parts import Document
from deviate.report.writers.html.section import Content, Page, Section


def _content(page: Page[Document]) -> Content:
    document = page.said
    again = document.reproduce
    facts = {
        "Folder": again.folder,
        "Source": again.source,
        "Seed": str(again.seed),
        "Run": document.created,
        **again.environment,
        "Written": document.generated,
    }
    return {"lines": [again.command], "facts": [(name, text) for name, text in facts.items() if text]}


SECTION = Section(slug="reproduce", title="How to reproduce", content=_content)
