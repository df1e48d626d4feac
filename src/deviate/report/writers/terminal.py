"""A page on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from deviate.report.escape import clean
from deviate.report.page import (
    Answer,
    Block,
    ByMetric,
    Code,
    Drawing,
    Emphasis,
    Facts,
    Fold,
    Hint,
    Page,
    Remarks,
    Section,
    Sentences,
    Strips,
    Table,
)
from deviate.report.writers.console import INDENT, PLAIN_WIDTH, Room, page_in_ascii, plain_text, print_parts
from deviate.report.writers.terminal_table import STYLES, alike, grids, prose_grid, with_curves
from deviate.report.writers.unbroken import unbroken

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


def _parts(page: Page, room: Room) -> Iterable[RenderableType]:
    if page.title:
        beside = ("  ", (clean(page.subtitle), "dim")) if page.subtitle else ()
        yield Text.assemble((clean(page.title), "bold"), *beside)
    for section in page.sections:
        yield from _section(section, room)


def _section(section: Section, room: Room) -> Iterable[RenderableType]:
    parts = _blocks(section.blocks, room)
    if section.title and parts:
        yield Text(clean(section.title), style="bold")
    yield from parts


def _blocks(blocks: Sequence[Block], room: Room) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for common, run in groupby(blocks, key=_common):
        neighbours = list(run)
        tables = [block for block in neighbours if isinstance(block, Table)]
        if common and len(tables) > 1:
            together = zip(tables, grids(tables, room), strict=True)
            parts += [_around(table, grid, room) for table, grid in together]
        else:
            parts += [part for block in neighbours for part in _block(block, room)]
    return parts


def _common(block: Block) -> object:
    return alike(block) if isinstance(block, Table) and not block.prose else None


@singledispatch
def _block(block: Block, room: Room) -> list[RenderableType]:
    raise TypeError(f"no terminal shows {type(block).__name__}")


@_block.register
def _(block: Sentences, room: Room) -> list[RenderableType]:
    return [room.narrow(_paragraph(block.about, block.sentences, listed=block.listed, emphasis=block.emphasis))]


@_block.register
def _(block: Answer, room: Room) -> list[RenderableType]:
    lines = [_paragraph(block.about, block.sentences, listed=block.listed)]
    basis = [Text(_prose(block.basis), style="dim")] if block.basis else []
    return [room.narrow(Group(*lines, *basis))]


@_block.register
def _(block: Remarks, room: Room) -> list[RenderableType]:
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, min_width=1)
    # A long path is folded, not cut: the number of its line stands at its end.
    grid.add_column(overflow="fold")
    for remark in block.remarks:
        about = f"{remark.about}: " if remark.about else ""
        style = "" if remark.severity == "warning" else "dim"
        grid.add_row(
            _REMARK_SIGNS[remark.severity],
            Text(_prose(about + remark.message), style=style, overflow="fold"),
        )
    return [room.narrow(grid)] if block.remarks else []


@_block.register
def _(block: Table, room: Room) -> list[RenderableType]:
    return [_around(block, prose_grid(block) if block.prose else grids([block], room)[0], room)]


@_block.register
def _(block: Facts, room: Room) -> list[RenderableType]:
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
def _(block: Fold, room: Room) -> list[RenderableType]:
    title = Text.assemble(
        _SIGNS.get(block.emphasis, ""), (clean(block.title), "bold"), f" {_prose(block.remark)}" if block.remark else ""
    )
    return [Group(room.narrow(title), *_within(block.blocks, room.within))]


@_block.register
def _(block: ByMetric, room: Room) -> list[RenderableType]:
    return [part for panel in block.panels for part in _blocks(panel.blocks, room)]


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
    notes = [Text(_prose(note), style="dim") for note in table.notes]
    return Group(*([room.narrow(title)] if table.titled else []), grid, *map(room.narrow, [*more, *below, *notes]))


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
