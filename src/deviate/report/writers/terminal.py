"""A page on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import singledispatch
from itertools import groupby

import msgspec
from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from deviate.report.escape import clean
from deviate.report.page import (
    Answer,
    Bars,
    Block,
    ByMetric,
    Cell,
    Code,
    Column,
    Drawing,
    Emphasis,
    Facts,
    Fold,
    Hint,
    KeyFigure,
    Latex,
    Page,
    Remarks,
    Row,
    Section,
    Sentences,
    Strips,
    Table,
)
from deviate.report.strips import BLOCKS, EMPTY, ONE, SEVERAL, add_bars, add_curves, strip
from deviate.report.writers.console import (
    INDENT,
    PLAIN_WIDTH,
    Close,
    Room,
    packed,
    page_in_ascii,
    plain_text,
    print_parts,
    unbroken,
)

# Tables on terminals: as many columns as the width allows, the important ones first.

#: Cells between two columns of the table; one of them is the box's own.
GAP = 2

#: Heads that are longer are cut.
HEAD_WIDTH = 20

#: Fewest and most cells that the first column keeps, by its head, on a terminal that is too narrow for all others.
NAME_LEAST, NAME_MOST = 8, 12

#: Names of so many cells have one line in a table that goes on with the columns of another.
WHOLE_NAME = 32

#: Most cells of a curve; a wider one says no more to the eye. Fewest, however narrow the terminal is.
CURVE_WIDTH, CURVE_LEAST = 40, 8

#: Cells of the line on which the runs of a key figure lie, and between it and its label.
KEY_WIDTH, KEY_GAP = 38, 2

#: Fewest and most cells of a bar from 0 to the largest number.
BAR_LEAST, BAR_MOST = 16, 46

STYLES: dict[Emphasis, str] = {
    "plain": "",
    "strong": "bold",
    "quiet": "dim",
    "accent": "cyan",
    "warning": "bold yellow",
    "good": "bold green",
    "bad": "bold red",
}

#: Said to be ASCII, so that terminals with nothing else get the same table: `console` replaces the rule.
_RULED = Box("    \n    \n ── \n    \n    \n    \n    \n    \n", ascii=True)

#: A cell that is a picture and nothing else.
_PICTURE = re.compile(f"[{EMPTY}{ONE}{SEVERAL}{BLOCKS}]+")


class Priced(msgspec.Struct, frozen=True, kw_only=True):
    """The width of a column, and how readily it is given up (largest first; 0: never)."""

    width: int
    sacrifice: int


def fitting(columns: Sequence[Priced], room: int) -> list[int]:
    """Return the indices of the columns to keep; those with the same sacrifice stay or go together.

    >>> fitting([Priced(width=8, sacrifice=0), Priced(width=20, sacrifice=2), Priced(width=6, sacrifice=1)], 16)
    [0, 2]
    """
    kept = list(range(len(columns)))
    while sum(columns[index].width for index in kept) > room and any(columns[index].sacrifice for index in kept):
        worst = max(columns[index].sacrifice for index in kept)
        kept = [index for index in kept if columns[index].sacrifice < worst]
    return kept


def grids(tables: Sequence[Table], room: Room) -> list[RenderableType]:
    """Lay tables out that stand below each other, with what is said of each: what one has no room for, none shows."""
    if all(table.continued for table in tables):
        return _in_parts(tables, room)
    for brief in (False, True):
        texts = [_brief(table) if brief else table for table in tables]
        kept = min((_kept(table, room.width) for table in texts), key=len)
        if all(index in kept for table in tables for index in _with_brief(table)):
            break
    return [_around(only, _grid(only, room), room) for only in (_only(table, kept) for table in texts)]


def _in_parts(tables: Sequence[Table], room: Room) -> list[RenderableType]:
    """Lay tables out whose columns go on below, each part under the names of the rows."""
    whole = tables
    parts: list[list[RenderableType]] = [[] for _ in tables]
    # What is only drawn is given up: below, the rows would be said again for it alone.
    while not all(column.drawn for column in tables[0].columns[1:]):
        kept = min((_kept(table, room.width) for table in tables), key=len)
        # A column that is too wide by itself is shown all the same.
        kept = kept if len(kept) > 1 else [0, 1]
        rest = [0, *(index for index in range(len(tables[0].columns)) if index not in kept)]
        below = [_whole_named(_only(table, rest)) for table in tables]
        above = [_only(table, kept) for table in tables]
        if not all(column.drawn for column in below[0].columns[1:]):
            above = [_short_named(table, room.width) for table in above]
        for part, table in zip(parts, above, strict=True):
            part += [*([Text("")] if part else []), _grid(table, room)]
        tables = below
    return [_around(table, Group(*part), room) for table, part in zip(whole, parts, strict=True)]


def _short_named(table: Table, width: int) -> Table:
    """Return a table without the small print of names too long for a line with it: the table below has it."""
    room = width - sum(GAP + each for each in _widths(table)[1:])
    rows = [row if cell_text(row.cells[0]).cell_len <= room else _without_remark(row) for row in table.rows]
    return msgspec.structs.replace(table, rows=rows)


def _without_remark(row: Row) -> Row:
    return msgspec.structs.replace(row, cells=[msgspec.structs.replace(row.cells[0], remark=""), *row.cells[1:]])


def _whole_named(table: Table) -> Table:
    """Return a table that gives columns up rather than to fold a name."""
    first, *others = table.columns
    first = msgspec.structs.replace(first, fold_at=max(first.fold_at, WHOLE_NAME))
    return msgspec.structs.replace(table, columns=[first, *others])


def alike(table: Table) -> tuple[object, ...]:
    """Return what tables have in common that keep the same columns."""
    return table.continued, *(column.sacrifice for column in table.columns)


def with_curves(strips: Strips, room: Room) -> Table:
    """Return the table with a column of curves, as wide as the others leave it."""
    table = strips.table
    others = sum(GAP + width for width in _widths(table)[1:])
    width = room.width - min(_widths(table)[0], table.columns[0].fold_at) - others - GAP
    return add_curves(strips, min(CURVE_WIDTH, max(CURVE_LEAST, width)))


def with_bars(block: Bars, room: Room) -> Table:
    """Return the table with a column of bars, as wide as the others leave it, and a row with the numbers below."""
    name, *others = _widths(block.table)
    width = min(BAR_MOST, max(BAR_LEAST, room.width - name - sum(GAP + each for each in others) - GAP))
    return add_bars(block, width)


def prose_grid(table: Table) -> RenderableType:
    """Lay out a table of sentences: a question and, below it, the answer."""
    lines: list[RenderableType] = []
    for row in table.rows:
        question, *answers = row.cells
        lines.append(Text(clean(question.text), style="bold"))
        prose = [msgspec.structs.replace(cell, text=unbroken(cell.text)) for cell in answers if cell.text]
        lines += [Padding(cell_text(cell), (0, 0, 0, INDENT)) for cell in prose]
    return Group(*lines)


def cell_text(cell: Cell) -> Text:
    """Return a cell as it is printed: small print dim, pictures of runs in colour with their empty places dim."""
    if cell.remark:
        return Text.assemble((clean(cell.text), STYLES[cell.emphasis]), (f" {clean(cell.remark)}", "dim"))
    text = Text(clean(cell.text), style=STYLES[cell.emphasis])
    if cell.emphasis == "plain" and _PICTURE.fullmatch(cell.text):
        text.highlight_regex(f"[{ONE}{SEVERAL}{BLOCKS}]", "cyan")
        text.highlight_regex(f"{EMPTY}+", "dim")
    return text


def _brief(table: Table) -> Table:
    def shorter(cell: Cell) -> Cell:
        return msgspec.structs.replace(cell, text=cell.brief) if cell.brief else cell

    rows = [msgspec.structs.replace(row, cells=list(map(shorter, row.cells))) for row in table.rows]
    return msgspec.structs.replace(table, rows=rows)


def _with_brief(table: Table) -> set[int]:
    return {index for row in table.rows for index, cell in enumerate(row.cells) if cell.brief}


def _kept(table: Table, width: int) -> list[int]:
    name, *others = _widths(table)
    columns = zip(others, table.columns[1:], strict=True)
    priced = [Priced(width=GAP + each, sacrifice=column.sacrifice) for each, column in columns]
    return [0, *(1 + index for index in fitting(priced, width - min(name, table.columns[0].fold_at)))]


def _widths(table: Table) -> list[int]:
    rows = list(map(_cells, table.rows))
    widths = [
        max([*map(cell_len, _head(column).split("\n")), *(cell_text(row[index]).cell_len for row in rows)])
        for index, column in enumerate(table.columns)
    ]
    return [max([widths[0], *(cell_len(clean(name)) for name, _ in table.folded)]), *widths[1:]]


def _cells(row: Row) -> list[Cell]:
    """Return the cells of a row; the name of a part of a row above is indented."""
    if not row.inner:
        return row.cells
    return [msgspec.structs.replace(row.cells[0], text=" " * INDENT + row.cells[0].text), *row.cells[1:]]


def _only(table: Table, kept: Sequence[int]) -> Table:
    columns = [
        msgspec.structs.replace(column, head=column.head_alone)
        if column.head_alone and index - 1 not in kept
        else column
        for index, column in enumerate(table.columns)
    ]
    rows = [msgspec.structs.replace(row, cells=[row.cells[index] for index in kept]) for row in table.rows]
    return msgspec.structs.replace(table, columns=[columns[index] for index in kept], rows=rows)


def _grid(table: Table, room: Room) -> RenderableType:
    if not any(row.notes for row in table.rows):
        names = max((cell_len(clean(name)) for name, _ in table.folded), default=0)
        return _filled(table.columns, list(_lines(table.rows)), names=names)
    return Group(*_noted(table, room))


def _noted(table: Table, room: Room) -> Iterable[RenderableType]:
    """Yield the table in pieces, with the notes on a row below it, as wide as the table's other columns."""
    widths = _shrunk(table, room.width)
    indent = widths[0] + GAP
    lines, head = [], True
    for row, line in zip(table.rows, _lines(table.rows), strict=True):
        lines.append(line)
        if row.notes:
            yield _filled(table.columns, lines, widths, head=head)
            yield from (
                Padding(Text(unbroken(clean(note))), (0, room.width - room.text, 0, indent)) for note in row.notes
            )
            lines, head = [], False
    if lines:
        yield _filled(table.columns, lines, widths, head=head)


def _shrunk(table: Table, width: int) -> list[int]:
    """Return the widths of the columns, with words broken where they are too wide together."""
    widths = _widths(table)
    over = sum(widths) + GAP * (len(widths) - 1) - width
    for index in sorted(range(len(widths)), key=lambda index: -widths[index]):
        if over > 0 and not (index and table.columns[index].numeric):
            less = min(over, max(0, widths[index] - NAME_LEAST))
            widths[index] -= less
            over -= less
    return widths


def _lines(rows: Iterable[Row]) -> Iterable[list[Text]]:
    return (list(map(cell_text, _cells(row))) for row in rows)


def _filled(
    columns: Sequence[Column],
    lines: Iterable[Sequence[Text]],
    widths: Sequence[int] | None = None,
    *,
    head: bool = True,
    names: int = 0,
) -> Grid:
    rows = list(lines)
    head = head and any(column.head for column in columns)
    grid = Grid(
        box=_RULED if head else None,
        show_header=head,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1 if head else GAP, 0, 0),
        border_style="dim",
    )
    own = max((row[0].cell_len for row in rows if len(row) > 1), default=0)
    for index, column in enumerate(columns):
        width = widths[index] if widths else max(own, names) if names and not index else None
        _add_column(grid, column, width, names=None if index else own)
    for row in rows:
        grid.add_row(*row)
    return grid


def _add_column(grid: Grid, column: Column, width: int | None, *, names: int | None) -> None:
    """Add a column; `names` is the width of the cells of the first one, None of the others."""
    first, rigid = names is not None, column.numeric or column.centered
    text = _head(column)
    least = max(NAME_LEAST, min(NAME_MOST, cell_len(text)))
    grid.add_column(
        Text(text, overflow="ellipsis", no_wrap=not first),
        header_style="dim" if text else "",
        justify="left" if column.leading else "right" if column.numeric else "center" if column.centered else "left",
        no_wrap=rigid,
        overflow="ellipsis" if rigid else "fold",
        style=STYLES[column.emphasis],
        min_width=None if names is None or rigid else min(least, max(names, cell_len(text))),
        width=width,
    )


def _head(column: Column) -> str:
    return "\n".join(clean(line) if column.drawn else _cut(clean(line)) for line in column.head.split("\n"))


def _cut(text: str) -> str:
    if cell_len(text) <= HEAD_WIDTH:
        return text
    return f"{Text(text)[: HEAD_WIDTH - 1].plain}…"


#: Names of what statements are on are folded beyond this width.
NAMES_WIDTH = 20

#: Signs before the title of what passed and what failed.
_SIGNS: dict[Emphasis, tuple[str, str]] = {"good": ("✓ ", "green"), "bad": ("✗ ", "red")}

_REMARK_SIGNS = {"warning": Text("!", style="bold yellow"), "note": Text("·", style="dim")}


def render_terminal(page: Page, width: int = PLAIN_WIDTH) -> str:
    """Return the page as plain text of at most `width` columns, without colour."""
    return plain_text(lambda console: print_page(page, console), width)


def print_page(page: Page, console: Console) -> None:
    """Print the page on a rich console, which decides about width, colour and encoding."""
    if console.options.ascii_only:
        page = page_in_ascii(page)
    print_parts(_parts(page, Room.of(console)), console)


def _parts(page: Page, room: Room) -> Iterable[RenderableType | Close]:
    if page.title:
        beside = ("  ", (clean(page.subtitle), "dim")) if page.subtitle else ()
        yield Text.assemble((clean(page.title), "bold"), *beside)
    for section in page.sections:
        yield from _section(section, room)


def _section(section: Section, room: Room) -> Iterable[RenderableType | Close]:
    parts = _blocks(section.blocks, room)
    if section.title and parts:
        yield Text(clean(section.title), style="bold")
    yield from parts


def _blocks(blocks: Sequence[Block], room: Room) -> list[RenderableType | Close]:
    parts: list[RenderableType | Close] = []
    for common, run in groupby(blocks, key=_common):
        neighbours = list(run)
        tables = [block for block in neighbours if isinstance(block, Table)]
        if common and len(tables) > 1:
            parts += grids(tables, room)
        else:
            for block, above in zip(neighbours, [None, *neighbours], strict=False):
                parts += _spaced(block, above, room)
    return parts


def _spaced(block: Block, before: Block | None, room: Room) -> list[RenderableType | Close]:
    """Return the parts of a block; what one types stands below what else one may type."""
    is_close = block.close if isinstance(block, Sentences) else isinstance(block, Hint) and isinstance(before, Hint)
    return [Close(part) if is_close else part for part in _block(block, room)]


def _common(block: Block) -> object:
    return alike(block) if isinstance(block, Table) and not block.prose else None


@singledispatch
def _block(block: Block, room: Room) -> list[RenderableType]:
    raise TypeError(f"no terminal shows {type(block).__name__}")


@_block.register
def _(block: Sentences, room: Room) -> list[RenderableType]:
    if block.brief and any(cell_len(clean(sentence)) > room.text for sentence in block.sentences):
        return _block(msgspec.structs.replace(block, sentences=block.brief, brief=[]), room)
    return [room.narrow(_paragraph(block.about, block.sentences, listed=block.listed, emphasis=block.emphasis))]


@_block.register
def _(block: Answer, room: Room) -> list[RenderableType]:
    figure = _key_figure(block.figure, room) if block.figure and block.figure.basis else []
    lines = [_paragraph(block.about, block.sentences, listed=block.listed)] if block.sentences else []
    return [room.narrow(Group(*part)) for part in (figure, lines) if part]


def _key_figure(figure: KeyFigure, room: Room) -> list[RenderableType]:
    """Return the number with what it is, then what more is known, then where the runs lie, below each other."""
    label, number = clean(figure.label), _prose(figure.text)
    indent = cell_len(label) + KEY_GAP
    taken = indent + cell_len(number) + KEY_GAP + 1
    basis = next((each for each in (figure.basis, figure.brief_basis) if taken + cell_len(each) + 2 <= room.text), "")
    basis = _prose(f"({basis or figure.brief_basis or figure.basis})")
    lines: list[RenderableType] = [
        Text.assemble((label, "bold"), " " * KEY_GAP, (number, "bold"), " " * (KEY_GAP + 1), (basis, "dim"))
    ]
    lines += [Padding(Text((" " * 3).join(map(_prose, figure.beside))), (0, 0, 0, indent))] if figure.beside else []
    if figure.runs:
        ends = (clean(figure.low), clean(figure.high))
        width = min(KEY_WIDTH, room.text - indent - sum(map(cell_len, ends)) - 2)
        drawn = strip([place for _, place, _ in figure.runs], max(width, CURVE_LEAST), (0.0, 1.0))
        lines.append(Padding(Text.assemble(ends[0], " ", cell_text(Cell(drawn)), " ", ends[1]), (0, 0, 0, indent)))
    return lines


@_block.register
def _(block: Remarks, room: Room) -> list[RenderableType]:
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, min_width=1)
    # A long path is folded, not cut: the number of its line stands at its end.
    grid.add_column(overflow="fold")
    for remark in block.remarks:
        about = f"{remark.about}: " if remark.about else ""
        style = "" if remark.severity == "warning" else "dim"
        grid.add_row(_REMARK_SIGNS[remark.severity], Text(_prose(about + remark.message), style=style, overflow="fold"))
    return [room.narrow(grid)] if block.remarks else []


@_block.register
def _(block: Table, room: Room) -> list[RenderableType]:
    if not block.prose and _kept(block, room.width) == [0] and any(column.drawn for column in block.columns):
        # There is no room for the picture that it is.
        return []
    return [_around(block, prose_grid(block), room)] if block.prose else grids([block], room)


@_block.register
def _(block: Facts, room: Room) -> list[RenderableType]:
    if block.typed:
        return [Group(*_typed(block.pairs, room))]
    grid = Grid.grid(padding=(0, 2))
    if block.emphasis == "strong":
        grid.add_column(style="bold", max_width=NAMES_WIDTH)
    else:
        grid.add_column(style=STYLES[block.emphasis], no_wrap=True)
    # A long path is folded, not cut: the command is there to be copied.
    grid.add_column(overflow="fold")
    for name, text in block.pairs:
        grid.add_row(Text(clean(name)), Text(_prose(text)))
    return [room.narrow(grid)] if block.pairs else []


@_block.register
def _(block: Code, room: Room) -> list[RenderableType]:
    lines = [
        Text(clean(line), style="dim", overflow="ellipsis" if block.output else "fold", no_wrap=block.output)
        for line in block.lines
    ]
    return [Padding(Group(*lines), (0, 0, 0, INDENT))] if lines else []


@_block.register
def _(block: Hint, room: Room) -> list[RenderableType]:
    if block.text:
        return [room.narrow(_hint(block, room))]
    return [Padding(Text(clean(block.command), style="cyan", overflow="fold"), (0, 0, 0, INDENT))]


@_block.register
def _(block: Drawing, room: Room) -> list[RenderableType]:
    return []


@_block.register
def _(block: Strips, room: Room) -> list[RenderableType]:
    return _block(with_curves(block, room), room)


@_block.register
def _(block: Bars, room: Room) -> list[RenderableType]:
    return _block(with_bars(block, room), room)


@_block.register
def _(block: Fold, room: Room) -> list[RenderableType]:
    title = Text.assemble(
        _SIGNS.get(block.emphasis, ""), (clean(block.title), "bold"), f" {_prose(block.remark)}" if block.remark else ""
    )
    return [Group(room.narrow(title), *_within(block.blocks, room.within))]


@_block.register
def _(block: ByMetric, room: Room) -> list[RenderableType]:
    parts = (part for panel in block.in_text for part in _blocks(panel.blocks, room))
    return [part.part if isinstance(part, Close) else part for part in parts]


@_block.register
def _(block: Latex, room: Room) -> list[RenderableType]:
    return []


def _within(blocks: Sequence[Block], room: Room) -> Iterable[RenderableType]:
    """Yield blocks below their title; what one types or a program printed follows at once, others after a blank."""
    for index, block in enumerate(blocks):
        for part in _block(block, room):
            if index and not isinstance(block, Code | Hint):
                yield Text("")
            yield Padding(part, (0, 0, 0, INDENT))


def _around(table: Table, grid: RenderableType, room: Room) -> RenderableType:
    """Return a table with its title above and what is said of it below."""
    title = Text.assemble((clean(table.caption), "bold"), "  " if table.caption and table.remark else "")
    title.append(_prose(table.remark), style="dim")
    more = [_hint(table.more, room)] if table.more else []
    below = [Text(_prose(sentence)) for sentence in table.sentences]
    notes = [Text(note, style="dim") for note in packed(map(_prose, table.small_print), room.text)]
    folded = [_folded(table, name, why) for name, why in table.folded]
    above = [room.narrow(title)] if table.titled else []
    return Group(*above, grid, *map(room.narrow, [*folded, *more, *below, *notes]))


def _folded(table: Table, name: str, why: str) -> RenderableType:
    """Return a row without numbers, whose words stand below the first of them."""
    gap = " " * (_widths(table)[0] - cell_len(clean(name)) + GAP)
    return Text.assemble(clean(name), gap, (_prose(why), "dim"))


def _typed(pairs: Sequence[tuple[str, str]], room: Room) -> Iterable[RenderableType]:
    """Yield what one types behind what for, below each other; a command that would be broken stands below."""
    named = [(Text(clean(name)), Text(clean(command), style="cyan", overflow="fold")) for name, command in pairs]
    width = max((name.cell_len for name, _ in named), default=0) + GAP
    beside = all(width + command.cell_len <= room.text for _, command in named)
    for name, command in named:
        # One alone stands beside what it is for, where it has the room.
        width = width if beside else name.cell_len + GAP
        if width + command.cell_len <= room.text:
            yield Text.assemble(name, " " * (width - name.cell_len), command)
        else:
            yield name
            yield Padding(command, (0, 0, 0, INDENT))


def _hint(hint: Hint, room: Room) -> RenderableType:
    """Return a hint with its command behind it, or on a line of its own where it would be broken."""
    text, command = Text(clean(hint.text), style="dim"), Text(clean(hint.command), style="cyan", overflow="fold")
    if text.cell_len + 1 + command.cell_len <= room.text:
        return Text.assemble(text, " ", command)
    return Group(text, Padding(command, (0, 0, 0, INDENT)))


def _paragraph(about: str, sentences: Sequence[str], *, listed: bool, emphasis: Emphasis = "plain") -> Text:
    text = ("\n" if listed else " ").join(map(_prose, sentences))
    # Before a list it stands on a line of its own.
    lead = f"{clean(about)}:{chr(10) if listed and len(sentences) > 1 else ' '}" if about else ""
    return Text.assemble((lead, "bold"), (text, STYLES[emphasis]))


def _prose(text: str) -> str:
    return unbroken(clean(text))
