"""What a page consists of, as a reader without scripts sees it."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser


class Outline(HTMLParser):
    """What a page consists of, as a reader without scripts sees it."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        assert self.open[-1] == tag, f"</{tag}> ends <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open:
            return
        if self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self.open[-1] != "style":
            self.texts.append((self.open[-1], data))
        if self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(data for _, data in self.texts).split())

    def attributes(self, name: str) -> list[str]:
        return [found for _, attributes in self.elements if (found := attributes.get(name)) is not None]

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def assert_whole(page: Outline) -> None:
    """Hold that elements are closed, references lead somewhere, headings skip no level, and tables have captions."""
    assert page.open == []
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    for name in ("aria-labelledby", "aria-describedby", "for"):
        assert set(page.attributes(name)) <= set(ids)
    assert {link.removeprefix("#") for link in page.attributes("href") if link.startswith("#")} <= set(ids)
    assert len(page.of("h1")) == len(page.of("main")) == len(page.of("nav")) == 1
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert len(page.of("caption")) == len(page.tables)
