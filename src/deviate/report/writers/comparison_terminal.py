"""A comparison in a terminal: the sentences, a table for each pair, why, and what to know."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence

import msgspec
from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deviate.report.comparison.cells import Cells
from deviate.report.comparison.families import adjusted_as
from deviate.report.comparison.numbers import show_equal_p
from deviate.report.comparison.parts import Comparison, MetricComparison, MetricOmnibus, PairComparison
from deviate.report.escape import clean
from deviate.report.order import first_asked
from deviate.report.shown import UNKNOWN, show_level
from deviate.report.words import count
from deviate.report.writers.terminal import PLAIN_WIDTH, WIDEST_TEXT

#: Metrics shown in the table of a pair before the rest is counted.
METRICS_SHOWN = 15

#: Metrics whose verdict is explained; all are in the other formats.
EXPLAINED = 3

#: Cells between two columns of the table; one of them is the box's own.
GAP = 2

#: Names and labels longer than this are folded.
NAME_WIDTH = 20

#: The means are given up last.
_MEANS = 1

_RULED = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")

_ASCII = str.maketrans({"±": "+-", "–": "-", "·": ".", "─": "-", "−": "-", "…": "."})


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column, and how readily it is given up where a table is too wide (largest first)."""

    head: str
    cell: Callable[[Cells], str]
    sacrifice: int
    left: bool = False
    style: str = ""


def render_comparison_terminal(comparison: Comparison, width: int = PLAIN_WIDTH) -> str:
    """Return the comparison as plain text of at most `width` columns, without colour."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, color_system=None, force_terminal=False, legacy_windows=False, _environ={}
    )
    print_comparison(comparison, console)
    return stream.getvalue()


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the comparison on a rich console, which decides about width, colour and encoding."""
    with console.capture() as captured:
        for place, part in enumerate(_parts(comparison, console.width)):
            if place:
                console.print()
            console.print(part, markup=False, highlight=False, emoji=False)
    text = "\n".join(line.rstrip(" ") for line in captured.get().split("\n"))
    if console.options.ascii_only:
        text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
    console.file.write(text)


def _parts(comparison: Comparison, width: int) -> Iterable[RenderableType]:
    yield _narrow(Text("\n".join(map(clean, comparison.headline))), width)
    kinds = {metric.name_a: metric.kind for metric in comparison.pairs[0].metrics}
    for found in [found for found in comparison.omnibus if kinds[found.name] != "speed"][:METRICS_SHOWN]:
        yield _ranking(found, comparison, width)
    yield from _tables(comparison, width)
    yield from _explained(comparison, width)
    if comparison.warnings:
        yield _warnings(comparison, width)


def _tables(comparison: Comparison, width: int) -> Iterable[RenderableType]:
    """Lay out a table for each pair, all with the same columns."""
    rows = [[Cells(metric, pair) for metric in _shown(pair.metrics)] for pair in comparison.pairs]
    for pair, cells, columns in zip(comparison.pairs, rows, _widest(comparison, rows, width), strict=True):
        yield Group(*_title(pair), _table(cells, columns), *_rest(pair, len(cells), comparison))


def _table(cells: Sequence[Cells], columns: Sequence[Column]) -> Table:
    table = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0), border_style="dim")
    table.add_column("metric", header_style="dim", overflow="fold", min_width=8)
    for column in columns:
        table.add_column(
            Text(clean(column.head), overflow="ellipsis", no_wrap=True),
            header_style="dim",
            justify="left" if column.left else "right",
            no_wrap=not column.left,
            overflow="fold",
            style=column.style,
        )
    for row in cells:
        table.add_row(_name(row), *(Text(clean(column.cell(row))) for column in columns))
    return table


def _widest(comparison: Comparison, tables: Sequence[Sequence[Cells]], width: int) -> list[list[Column]]:
    """Choose the columns of all tables; where means with their SDs do not fit in each, means alone may."""
    chosen: list[list[Column]] = []
    for brief in (False, True):
        columns = [_columns(pair, comparison, brief=brief) for pair in comparison.pairs]
        told = [place for place in range(len(columns[0])) if _tells([each[place] for each in columns], tables)]
        columns = [[each[place] for place in told] for each in columns]
        most = min(_affordable(each, rows, width) for each, rows in zip(columns, tables, strict=True))
        chosen = [[column for column in each if column.sacrifice <= most] for each in columns]
        if most >= _MEANS:
            break
    return chosen


def _columns(pair: PairComparison, comparison: Comparison, *, brief: bool) -> list[Column]:
    ci = f"{show_level(comparison.level)} CI"
    after = " adj." if adjusted_as(comparison) else ""
    return [
        Column(head="n", cell=lambda row: row.runs, sacrifice=6, style="dim"),
        Column(head=_label(pair.a), cell=lambda row: row.mean_a if brief else row.a, sacrifice=_MEANS),
        Column(head=_label(pair.b), cell=lambda row: row.mean_b if brief else row.b, sacrifice=_MEANS),
        Column(head="A − B", cell=lambda row: row.difference, sacrifice=2),
        Column(head=ci, cell=lambda row: row.ci, sacrifice=3, style="dim"),
        Column(head=f"p{after}", cell=lambda row: row.p, sacrifice=0),
        Column(head="SD A/B", cell=lambda row: row.ratio, sacrifice=4),
        Column(head=f"{ci} ", cell=lambda row: row.ratio_ci, sacrifice=5, style="dim"),
        Column(head="verdict", cell=lambda row: row.verdict, sacrifice=0, left=True, style="bold"),
    ]


def _label(label: str) -> str:
    return label if cell_len(label) <= NAME_WIDTH else f"{label[: NAME_WIDTH - 1]}…"


def _shown(metrics: Sequence[MetricComparison]) -> list[MetricComparison]:
    first = list(metrics[:METRICS_SHOWN])
    main = first_asked(metrics)
    return first if main in first else [*first[:-1], main]


def _tells(columns: Sequence[Column], tables: Sequence[Sequence[Cells]]) -> bool:
    """Say whether a column has something to tell in any table."""
    return any(
        column.cell(row) not in ("", UNKNOWN) for column, rows in zip(columns, tables, strict=True) for row in rows
    )


def _affordable(columns: Sequence[Column], rows: Sequence[Cells], width: int) -> int:
    """Return the most readily given up kind of column that there is still room for."""
    used = min(NAME_WIDTH, max(cell_len(_name(row).plain) for row in rows))
    most = 0
    for sacrifice in sorted({column.sacrifice for column in columns}):
        kept = [column for column in columns if column.sacrifice == sacrifice]
        used += sum(GAP + max(cell_len(column.head), *(cell_len(column.cell(row)) for row in rows)) for column in kept)
        if used > width and sacrifice:
            break
        most = sacrifice
    return most


def _name(row: Cells) -> Text:
    return Text.assemble(clean(row.name + row.unit), (f" {row.aggregate}".rstrip(), "dim"))


def _title(pair: PairComparison) -> Iterable[RenderableType]:
    text = Text.assemble("A ", (clean(pair.a), "bold"), "  against  B ", (clean(pair.b), "bold"))
    if pair.variant_a == pair.variant_b:
        text.append(f"  ({clean(pair.variant_a)})", style="dim")
    yield text


def _rest(pair: PairComparison, shown: int, comparison: Comparison) -> list[Text]:
    more = len(pair.metrics) - shown
    if not more:
        return []
    hint = f"{clean(comparison.command)} --format md"
    return [Text.assemble((f"and {count(more, 'more metric')}; all of them: ", "dim"), (hint, "cyan"))]


def _ranking(found: MetricOmnibus, comparison: Comparison, width: int) -> RenderableType:
    p = show_equal_p(found.p_adjusted, comparison.correction, found.family, comparison.alpha)
    lines = [Text.assemble((clean(found.name), "bold"), f"  {p}")]
    for place in found.places:
        where = f"{place.lowest}" if place.lowest == place.highest else f"{place.lowest} to {place.highest}"
        lines.append(Text(f"  {place.rank}.  {clean(place.name)}  (place {where})"))
    return _narrow(Group(*lines), width)


def _explained(comparison: Comparison, width: int) -> Iterable[RenderableType]:
    """Explain the main metric of each pair, and with one pair what is unlike it and the spread."""
    several = len(comparison.pairs) > 1
    for pair in comparison.pairs:
        main = first_asked(pair.metrics)
        unlike = [metric for metric in pair.metrics if metric.kind != "speed" and metric.verdict != main.verdict]
        about = f"{pair.a} against {pair.b}, " if several else ""
        for metric in [main] if several else [main, *unlike][:EXPLAINED]:
            yield _narrow(_why(f"{about}{metric.name_a}", metric.why), width)
        if not several and main.noisier != "too few runs":
            yield _narrow(_why(f"spread of {main.name_a}", main.why_noisier), width)


def _why(what: str, sentences: Sequence[str]) -> Text:
    return Text.assemble((f"{clean(what)}: ", "bold"), clean(" ".join(sentences)))


def _warnings(comparison: Comparison, width: int) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for warned in comparison.warnings:
        serious = warned.severity == "warning"
        mark = Text("!", style="bold yellow") if serious else Text("·", style="dim")
        grid.add_row(mark, Text(clean(warned.message), style="" if serious else "dim"))
    return _narrow(grid, width)


def _narrow(content: RenderableType, width: int) -> RenderableType:
    return Padding(content, (0, max(0, width - WIDEST_TEXT), 0, 0), expand=False)
