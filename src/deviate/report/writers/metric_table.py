"""The table of metrics for terminals: as many columns as the width allows, the important ones first."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from rich.box import Box
from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from deviate.report.escape import clean
from deviate.report.parts import Document, MetricReport
from deviate.report.shown import UNKNOWN, Shown, show_level
from deviate.report.words import count
from deviate.report.writers.fitting import Priced, fitting
from deviate.report.writers.strip import STRIP_HEAD, STRIP_WIDTH, strip, strip_text

#: Metrics shown before the rest is counted; more do not fit a screen beside what is said around them.
METRICS_SHOWN = 15

#: Cells between two columns of the table; one of them is the box's own.
GAP = 2

#: Names longer than this are folded where other columns need the room.
NAME_WIDTH = 24

_RULED = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column, and how readily it is given up on a narrow terminal (largest first)."""

    head: str
    cell: Callable[[MetricReport, Shown], str]
    sacrifice: int
    style: str = ""


def metric_table(metrics: list[MetricReport], document: Document, width: int) -> list[RenderableType]:
    """Lay the first metrics out as a table, and say how many more there are."""
    shown = metrics[:METRICS_SHOWN]
    told = [column for column in _columns(metrics, document.level) if _tells(column, shown)]
    columns = _fitting(told, shown, width)
    framed = any(column.head == "min" for column in columns)
    table = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0), border_style="dim")
    table.add_column("metric", header_style="dim", overflow="fold", min_width=8)
    for column in columns:
        head = RUNS_HEAD if column.head == STRIP_HEAD and framed else column.head
        table.add_column(head, header_style="dim", justify="right", no_wrap=True, style=column.style)
    for metric in shown:
        text = Shown(metric)
        table.add_row(_name(text), *(strip_text(column.cell(metric, text)) for column in columns))
    return [table, *_rest(metrics, shown, document.experiment)]


def _columns(metrics: list[MetricReport], level: float) -> list[Column]:
    unequal = len({metric.n for metric in metrics}) > 1
    return [
        Column(head="n", cell=lambda metric, text: text.n, sacrifice=1 if unequal else 8, style="dim"),
        Column(head="mean", cell=lambda metric, text: text.mean, sacrifice=0, style="bold"),
        Column(head="SD", cell=lambda metric, text: text.sd, sacrifice=0),
        Column(head="CV", cell=lambda metric, text: text.cv, sacrifice=1),
        Column(head=f"{show_level(level)} CI of SD", cell=lambda metric, text: text.ci_sd, sacrifice=5, style="dim"),
        Column(head="range", cell=lambda metric, text: text.range, sacrifice=3),
        Column(head="median", cell=lambda metric, text: text.median, sacrifice=7, style="dim"),
        Column(head="min", cell=lambda metric, text: text.min, sacrifice=6, style="dim"),
        Column(head=STRIP_HEAD, cell=_strip, sacrifice=4),
        Column(head="max", cell=lambda metric, text: text.max, sacrifice=6, style="dim"),
    ]


#: Head of the strip between the columns of minimum and maximum, which say where its ends are.
RUNS_HEAD = "runs".center(STRIP_WIDTH)


def _strip(metric: MetricReport, text: Shown) -> str:
    return "all equal".center(STRIP_WIDTH) if metric.spread.identical else strip(metric.values)


def _tells(column: Column, metrics: list[MetricReport]) -> bool:
    """Tell whether a column has anything to say: with one run most have not."""
    return any(column.cell(metric, Shown(metric)) not in ("", UNKNOWN) for metric in metrics)


def _fitting(columns: list[Column], metrics: list[MetricReport], width: int) -> list[Column]:
    """Give up columns until the table fits; min and max go together, for they frame the strip."""
    texts = [(metric, Shown(metric)) for metric in metrics]
    name = min(NAME_WIDTH, max(cell_len(_name(text).plain) for _, text in texts))
    priced = [
        Priced(
            width=GAP + max(cell_len(column.head), *(cell_len(column.cell(*pair)) for pair in texts)),
            sacrifice=column.sacrifice,
        )
        for column in columns
    ]
    return [columns[place] for place in fitting(priced, width - name)]


def _name(text: Shown) -> Text:
    return Text.assemble(clean(text.name), (f" {text.aggregate}".rstrip(), "dim"))


def _rest(metrics: list[MetricReport], shown: list[MetricReport], experiment: str) -> list[Text]:
    more = len(metrics) - len(shown)
    if not more:
        return []
    hint = f"deviate report {clean(experiment)} --format md"
    return [Text.assemble((f"and {count(more, 'more metric')}; all of them: ", "dim"), (hint, "cyan"))]
