"""The order of more than two sides, metric by metric."""

from __future__ import annotations

from deviate.report.comparison.parts import Comparison, MetricOmnibus
from deviate.report.writers.html.section import Content, Page, Section
from deviate.report.writers.html.tables import Cell, Table, heads, number


def _content(page: Page[Comparison]) -> Content:
    found = page.said.omnibus
    if not found:
        return None
    return {"metrics": [{"name": each.name, "why": each.why, "table": _table(each)} for each in found]}


def _table(found: MetricOmnibus) -> Table | None:
    if not found.places:
        return None
    return Table(
        caption=f"{found.name}: ranking",
        heads=heads("experiment", "rank", "place"),
        rows=[
            [
                Cell(place.name),
                number(str(place.rank), place.rank),
                number(f"{place.lowest}–{place.highest}", place.lowest),
            ]
            for place in found.places
        ],
    )


SECTION = Section(slug="ranking", title="Ranking", content=_content)
