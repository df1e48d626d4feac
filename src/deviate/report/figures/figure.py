"""What a figure is: a chart with the words that go with it, and a name that every file system and every page takes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Literal

import msgspec

from deviate.core.errors import NotInstalled

#: By module, the distribution that it is of; both are of the extra ``pages``.
DISTRIBUTIONS = {"altair": "altair", "vl_convert": "vl-convert-python"}


#: What to type to have charts.
WITHOUT_CHARTS = f"To have them, type: pip install {' '.join(DISTRIBUTIONS.values())}"


def drawing_module(name: str) -> Any:
    """Import a module of `DISTRIBUTIONS`.

    Raises
    ------
    NotInstalled
        If it is not installed; the hint has what to type.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        raise NotInstalled(
            f"charts and figures need the package {DISTRIBUTIONS[name]!r}, which is not installed",
            hint=f"type: pip install {' '.join(DISTRIBUTIONS.values())}",
        ) from missing


Section = Literal["distribution", "curves", "factors", "comparison", "predictions", "weights", "gate", "plan", "grid"]

#: Characters of a slug, less what makes it unique.
LONGEST = 80


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One picture of a report."""

    #: Safe as a file name and as an HTML id, and unique in its list: ``distribution-test-acc``.
    slug: str
    section: Section
    title: str
    #: The numbers it shows in a sentence or two: a caption, and what a screen reader reads.
    description: str
    #: Empty where it is about no single metric.
    metric: str = ""
    #: Vega-Lite: one view or layers, as wide as what holds it, without the title, colours and sizes of a theme;
    #: `themes.themed` adds them. Plain data, because Altair takes a quarter of a second to build and check a chart, and
    #: a report may have hundreds.
    spec: dict[str, Any]

    @property
    def chart(self) -> Any:
        """The same as an Altair chart, checked against the schema of Vega-Lite."""
        alt = drawing_module("altair")
        return alt.Chart.from_dict({**self.spec, "description": self.description})


def slug(*words: str) -> str:
    """Join words to lower-case ASCII with hyphens.

    >>> slug("distribution", "test acc@1"), slug("curves", "потери"), slug("curves", "Précision")
    ('distribution-test-acc-1', 'curves', 'curves-precision')
    """
    text = unicodedata.normalize("NFKD", "-".join(words)).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", text)[:LONGEST].strip("-")


def unique(figures: Iterable[Figure]) -> list[Figure]:
    """Give each figure a slug of its own, numbering those alike: ``curves``, then ``curves-2``."""
    taken: set[str] = set()
    distinct = []
    for figure in figures:
        name, number = figure.slug, 2
        while name in taken:
            name, number = f"{figure.slug}-{number}", number + 1
        taken.add(name)
        distinct.append(figure if name == figure.slug else msgspec.structs.replace(figure, slug=name))
    return distinct
