"""The answer: the first sentences, before any table."""

from __future__ import annotations

import shlex

from deviate.report.comparison.parts import Comparison
from deviate.report.parts import Document
from deviate.report.words import count
from deviate.report.writers.html.section import Content, Page, Section


def _content(page: Page[Document]) -> Content:
    document = page.said
    several = len(document.variants) > 1
    return {
        "command": shlex.join(document.command),
        "one_column": False,
        "answers": [
            {
                "about": f"{variant.variant}: {variant.factors.gloss}" if several else "",
                "text": " ".join(variant.headline),
                "done": f"{variant.completed} of {count(variant.planned, 'run')} completed",
            }
            for variant in document.variants
        ],
    }


def _compared(page: Page[Comparison]) -> Content:
    return {
        "command": "",
        # Each sentence follows from the one before.
        "one_column": True,
        "answers": [{"about": "", "text": text, "done": ""} for text in page.said.headline],
    }


SECTION = Section(slug="answer", title="In short", content=_content)
COMPARED = Section(slug="answer", title="In short", content=_compared)
