"""Tables over all variants for terminals: how much runs differ by what varies, and what fingerprints prove."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from rich.box import Box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from deviate.report.escape import clean
from deviate.report.parts import Document, Evidence, SpreadAcross
from deviate.report.shown import ShownSpread, show_level
from deviate.report.words import count
from deviate.report.writers.fitting import Priced, fitting
from deviate.report.writers.metric_table import GAP, NAME_WIDTH
from deviate.report.writers.strip import STRIP_HEAD, strip, strip_text

#: Metrics whose spread is shown by variant before the rest is counted.
ACROSS_SHOWN = 5

#: Width for the names of the variants that a statement is on.
STATEMENT_NAMES = 20

_RULED = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")

MARKS = {"varied": "≠", "identical": "=", "partly": "≈", "absent": "–", "unknown": "?"}

LEGEND = "= same in all runs, ≠ differs, ≈ in some, – none drawn, ? unknown, ! broken"

_STYLES = {"varied": "cyan", "identical": "", "partly": "yellow", "absent": "dim", "unknown": "dim"}


def spread_table(document: Document, width: int) -> RenderableType:
    """Lay out the SD of the main metrics, a row a variant, in as many columns as fit."""
    tables = document.across
    shown = tables[:ACROSS_SHOWN]
    columns = _columns(shown, document)
    names = max(cell_len(f"  {row.variant}") for table in shown for row in table.rows)
    priced = [
        Priced(width=GAP + max(cell_len(column.head), *map(cell_len, _flat(column))), sacrifice=column.sacrifice)
        for column in columns
    ]
    kept = [columns[place] for place in fitting(priced, width - max(names, NAME_WIDTH))]
    grid = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0), border_style="dim")
    grid.add_column("what varies", header_style="dim", overflow="fold", min_width=12)
    for column in kept:
        grid.add_column(column.head, header_style="dim", justify="right", no_wrap=True)
    for place, table in enumerate(shown):
        unit = f", {table.unit}" if table.unit else ""
        grid.add_row(Text.assemble((clean(table.metric), "bold"), (f" ({table.aggregate}{unit})", "dim")))
        for line, row in enumerate(table.rows):
            grid.add_row(Text(f"  {row.variant}"), *(strip_text(column.cells[place][line]) for column in kept))
    said = [Text(f"{clean(table.metric)}: {sentence}") for table in shown[:1] for sentence in table.sentences]
    notes = [Text(note, style="dim") for note in document.across_notes]
    return Group(grid, *_rest(tables, document), *said, *notes)


class SpreadColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column, and how readily it is given up on a narrow terminal (largest first)."""

    head: str
    #: One list a metric, one text a variant.
    cells: list[list[str]]
    sacrifice: int


def _columns(tables: list[SpreadAcross], document: Document) -> list[SpreadColumn]:
    rows = [[ShownSpread(row) for row in table.rows] for table in tables]
    whole = next((table.whole for table in tables if table.whole), "")
    found = [
        SpreadColumn(head="n", cells=[[row.n for row in each] for each in rows], sacrifice=3),
        SpreadColumn(head="mean", cells=[[row.mean for row in each] for each in rows], sacrifice=1),
        SpreadColumn(head="SD", cells=[[row.sd for row in each] for each in rows], sacrifice=0),
        SpreadColumn(
            head=f"{show_level(document.level)} CI of SD",
            cells=[[row.ci_sd for row in each] for each in rows],
            sacrifice=4,
        ),
    ]
    if whole:
        shares = [[row.relative for row in each] for each in rows]
        found.append(SpreadColumn(head=f"of {whole}", cells=shares, sacrifice=2))
    strips = [_strips(table, document) for table in tables]
    return [*found, SpreadColumn(head=STRIP_HEAD, cells=strips, sacrifice=5)]


def _strips(table: SpreadAcross, document: Document) -> list[str]:
    """Draw the runs of each variant, all on the scale from the smallest to the largest value of any of them."""
    values = {
        variant.variant: metric.values
        for variant in document.variants
        for metric in variant.metrics
        if (metric.name, metric.aggregate) == (table.metric, table.aggregate)
    }
    every = [value for some in values.values() for value in some]
    ends = (min(every, default=0.0), max(every, default=0.0))
    return [strip(values.get(row.variant, []), ends=ends) for row in table.rows]


def _flat(column: SpreadColumn) -> list[str]:
    return [cell for cells in column.cells for cell in cells]


def _rest(tables: list[SpreadAcross], document: Document) -> Iterable[Text]:
    if len(tables) > ACROSS_SHOWN:
        more = count(len(tables) - ACROSS_SHOWN, "more metric")
        yield Text(f"and {more}; all of them: deviate report {clean(document.experiment)} --format md", style="dim")


def statements(document: Document) -> RenderableType | None:
    """Lay out what was bit-identical in each variant; None where there is nothing to say."""
    told: dict[str, list[str]] = {}
    for variant in document.variants:
        if variant.statement:
            told.setdefault(variant.statement, []).append(variant.variant)
    if not told:
        return None
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", max_width=STATEMENT_NAMES)
    grid.add_column()
    for statement, variants in told.items():
        grid.add_row(", ".join(variants), Text(clean(statement)))
    return grid


def evidence_table(document: Document) -> RenderableType | None:
    """Lay out what the fingerprints show, a row a variant; None where none were taken."""
    told = [variant for variant in document.variants if variant.evidence and variant.completed > 1]
    if not told:
        return None
    grid = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), border_style="dim")
    grid.add_column("fingerprints", header_style="dim", overflow="fold", min_width=12)
    for each in told[0].evidence:
        grid.add_column(each.name, header_style="dim", justify="center", no_wrap=True)
    for variant in told:
        grid.add_row(Text(variant.variant), *(_mark(each) for each in variant.evidence))
    return Group(grid, Text(LEGEND, style="dim"))


def _mark(each: Evidence) -> Text:
    return Text(mark(each), style="bold yellow" if each.broken else _STYLES[each.found])


def mark(each: Evidence) -> str:
    """Return the sign for what a fingerprint shows."""
    return f"{MARKS[each.found]}{'!' if each.broken else ''}"
