"""How much runs differ, by what varies between them."""

from __future__ import annotations

from deviate.report.parts import Document, SpreadAcross
from deviate.report.shown import ShownSpread, show_level
from deviate.report.writers.html.panels import panels
from deviate.report.writers.html.section import Content, Page, Section
from deviate.report.writers.html.tables import Cell, Table, heads, number


def _content(page: Page[Document]) -> Content:
    figures, document = page.figures_of("factors"), page.said
    tables = [(table.metric, _table(table, document.level)) for table in document.across]
    if not figures and not tables:
        return None
    notes = {table.metric: table.sentences for table in document.across}
    found = panels(figures, tables, first=page.main_metric, notes=notes)
    # The figures' descriptions end with the notes.
    return {"slug": "factors", "panels": found, "notes": [] if figures else document.across_notes}


def _table(across: SpreadAcross, level: float) -> Table:
    whole = [f"SD, of {across.whole}"] if across.whole else []
    unit = f", {across.unit}" if across.unit else ""
    return Table(
        caption=f"{across.metric} ({across.aggregate}{unit})",
        heads=heads("variant", "n", "mean", "SD", f"{show_level(level)} CI of the SD", *whole),
        rows=[_row(across, place) for place in range(len(across.rows))],
    )


def _row(across: SpreadAcross, place: int) -> list[Cell]:
    row = across.rows[place]
    shown = ShownSpread(row)
    return [
        Cell(row.variant),
        number(shown.n, row.n),
        number(shown.mean, row.mean),
        number(shown.sd, row.sd),
        number(shown.ci_sd, row.ci_sd.low if row.ci_sd.known else None),
        *([number(shown.relative, row.relative)] if across.whole else []),
    ]


SECTION = Section(
    slug="factors", title="How much runs differ, by what varies", content=_content, template="panels.html"
)
