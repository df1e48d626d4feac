"""What trial runs reported in text and the source does not show, for the pages of audit and verification."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.preflight.printed import PrintedNumber
from deviate.report.page import Block, Cell, Row, Sentences, Table
from deviate.report.pages.cells import columns, number
from deviate.report.text.preflight import difference_text, kind_text, other_text, sample_text

#: Titles of the section, and of the table of metrics in it.
PRINTED = "Seen in the output alone"

#: Metrics on a brief page, and other numbers.
METRICS_SHOWN = 20
OTHERS_SHOWN = 6


def printed_blocks(printed: Sequence[PrintedNumber], *, brief: bool = False) -> list[Block]:
    """Return the observed metrics as a table, and the numbers that are none with the reason."""
    metrics = [each for each in printed if each.kind]
    others = [each for each in printed if not each.kind]
    most = METRICS_SHOWN if brief else len(metrics)
    blocks: list[Block] = [_metrics(metrics[:most])] if metrics else []
    if metrics[most:]:
        blocks.append(Sentences(sentences=[f"{len(metrics) - most} more are in the full report."]))
    lines = [other_text(each) for each in others]
    if brief and lines[OTHERS_SHOWN:]:
        lines = [*lines[:OTHERS_SHOWN], f"{len(lines) - OTHERS_SHOWN} more"]
    return [
        *blocks,
        *([Sentences(about="Numbers that are not metrics", sentences=lines, listed=True)] if lines else []),
    ]


def _metrics(metrics: Sequence[PrintedNumber]) -> Table:
    compared = any(each.varies is not None for each in metrics)
    names = columns("name", "values")
    more = ["first … last", "kind", *(["two runs"] if compared else []), "where"]
    return Table(
        caption=PRINTED,
        slug="printed",
        titled=True,
        columns=[*names, *columns(*more, words=len(more))],
        rows=[Row(cells=_cells(each, compared)) for each in metrics],
    )


def _cells(each: PrintedNumber, compared: bool) -> list[Cell]:
    return [
        Cell(f"{each.name} ({each.unit})" if each.unit else each.name),
        number(str(each.count), each.count),
        Cell(sample_text(each)),
        Cell(kind_text(each)),
        *([Cell(difference_text(each))] if compared else []),
        Cell(f"{each.source}: {each.line}"),
    ]
