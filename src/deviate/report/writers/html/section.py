"""What a section of a page is: a name, a template, and how its content is found in what the page is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from deviate.report.comparison.parts import Comparison
from deviate.report.figures import Figure
from deviate.report.parts import Document

Said = TypeVar("Said", Document, Comparison)

#: What a template is given; None: there is nothing to show, and the section is left out.
Content = Mapping[str, Any] | None


class Page(msgspec.Struct, Generic[Said], frozen=True, kw_only=True):
    """What a page is laid out from."""

    #: All numbers and sentences.
    said: Said
    figures: list[Figure] = []
    #: The metric a reader asks for first; empty where there is none.
    main_metric: str = ""
    #: What the learning curves do not show.
    curve_notes: list[str] = []

    def figures_of(self, section: str) -> list[Figure]:
        """Return the figures that belong to a section."""
        return [figure for figure in self.figures if figure.section == section]


class Section(msgspec.Struct, Generic[Said], frozen=True, kw_only=True):
    """A part of a page under a heading of its own.

    To add one: a module in `sections` with the section and its function, a template of the same name in `templates`,
    and a line in the list of `sections`.
    """

    #: Anchor in the page, and name of the template.
    slug: str
    title: str
    content: Callable[[Page[Said]], Content]
    #: Template, where it is not the slug's.
    template: str = ""
