"""Names of figures that every file system and every page takes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import msgspec

from deviate.report.figures.figure import Figure

#: Characters of a slug, less what makes it unique.
LONGEST = 80


def slug(*words: str) -> str:
    """Join words to lower-case ASCII with hyphens.

    Examples
    --------
    >>> slug("distribution", "test acc@1"), slug("curves", "потери"), slug("curves", "Précision")
    ('distribution-test-acc-1', 'curves', 'curves-precision')
    """
    text = unicodedata.normalize("NFKD", "-".join(words)).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", text)[:LONGEST].strip("-")


def unique(figures: Iterable[Figure]) -> list[Figure]:
    """Give each figure a slug of its own, numbering those alike: ``curves``, then ``curves-2``."""
    taken: set[str] = set()
    found = []
    for figure in figures:
        name, number = figure.slug, 2
        while name in taken:
            name, number = f"{figure.slug}-{number}", number + 1
        taken.add(name)
        found.append(figure if name == figure.slug else msgspec.structs.replace(figure, slug=name))
    return found
