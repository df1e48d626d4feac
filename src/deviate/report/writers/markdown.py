"""A page as Markdown, for a repository or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import singledispatch

from deviate.report.escape import markdown, markdown_code, markdown_prose
from deviate.report.page import (
    Answer,
    Bars,
    Block,
    ByMetric,
    Cell,
    Code,
    Drawing,
    Facts,
    Fold,
    Hint,
    KeyFigure,
    Latex,
    Page,
    Remark,
    Remarks,
    Row,
    Section,
    Sentences,
    Strips,
    Table,
)
from deviate.report.strips import add_bars, add_curves
from deviate.report.words import code

#: Characters of a learning curve.
CURVE_WIDTH = 20

_SIGNS = {"good": "✓ ", "bad": "✗ "}

#: Numbers, intervals and p-values need no escape.
_NUMBER = re.compile(r"<?[-−–±.,%\d e+\[\]]*(?: to [-−.\de]+)?")

#: Lines without a blank one between them.
Lines = list[str]


def render_markdown(page: Page) -> str:
    """Return the page, every row of its tables included."""
    parts = [[f"# {markdown(page.title)}"]] if page.title else []
    parts += [[markdown_prose(page.subtitle)]] if page.subtitle else []
    parts += [part for section in page.sections for part in _section(section)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _section(section: Section) -> Iterable[Lines]:
    parts = _blocks(section.blocks)
    return [[f"## {markdown(section.title)}"], *parts] if section.title and parts else parts


def _blocks(blocks: Sequence[Block]) -> list[Lines]:
    return [part for block in blocks for part in _block(block) if part]


@singledispatch
def _block(block: Block) -> Iterable[Lines]:
    raise TypeError(f"no Markdown shows {type(block).__name__}")


@_block.register
def _(block: Sentences) -> Iterable[Lines]:
    if block.listed:
        yield [f"**{markdown_prose(block.about)}**"] if block.about else []
        yield [f"- {markdown_prose(sentence)}" for sentence in block.sentences]
    else:
        yield _paragraph(block.about, block.sentences)


@_block.register
def _(block: Answer) -> Iterable[Lines]:
    if block.figure and block.figure.basis:
        yield [(f"**{markdown_prose(block.about)}:** " if block.about else "") + _key_figure(block.figure)]
        yield _paragraph("", block.sentences) if block.sentences else []
    elif not block.sentences:
        yield [f"**{markdown(block.about)}**"] if block.about else []
    elif block.listed:
        yield [f"**{markdown(block.about)}**"] if block.about else []
        yield from ([markdown_prose(sentence)] for sentence in block.sentences)
    else:
        yield _paragraph(block.about, block.sentences)


def _key_figure(figure: KeyFigure) -> str:
    beside = f": {markdown_prose(', '.join(figure.beside))}" if figure.beside else ""
    return f"**{markdown(figure.label)} {markdown(figure.text)}** ({markdown_prose(figure.basis)}){beside}."


@_block.register
def _(block: Remarks) -> Iterable[Lines]:
    yield list(map(_remark, block.remarks))


@_block.register
def _(block: Table) -> Iterable[Lines]:
    remark = f" {markdown(block.remark)}" if block.remark else ""
    yield [f"**{markdown(block.caption)}**{remark}" if block.caption else remark.strip()] if block.titled else []
    yield list(map(_item, block.rows)) if block.prose else _table(block)
    yield [f"- {_text(row.cells[0])}: {markdown_prose(note)}" for row in block.rows for note in row.notes]
    yield [f"- {markdown(name)}: {markdown_prose(why)}" for name, why in block.folded]
    yield [_hint(block.more)] if block.more else []
    yield from ([markdown_prose(sentence)] for sentence in (*block.sentences, *block.small_print))


@_block.register
def _(block: Facts) -> Iterable[Lines]:
    if block.typed:
        yield [f"- {markdown_prose(f'{name} {code(command)}')}" for name, command in block.pairs]
        return
    strong = "**" if block.emphasis == "strong" else ""
    # A pair without a name goes on with the item before.
    yield [
        f"- {strong}{markdown(name)}{strong}: {markdown_prose(text)}" if name else f"  {markdown_prose(text)}"
        for name, text in block.pairs
    ]


@_block.register
def _(block: Code) -> Iterable[Lines]:
    yield markdown_code(block.lines) if block.lines else []


@_block.register
def _(block: Hint) -> Iterable[Lines]:
    yield [_hint(block)]


@_block.register
def _(block: Drawing) -> Iterable[Lines]:
    return []


@_block.register
def _(block: Strips) -> Iterable[Lines]:
    return _block(add_curves(block, CURVE_WIDTH))


@_block.register
def _(block: Bars) -> Iterable[Lines]:
    return _block(add_bars(block, CURVE_WIDTH))


@_block.register
def _(block: Fold) -> Iterable[Lines]:
    remark = f" {markdown_prose(block.remark)}" if block.remark else ""
    if block.emphasis == "plain":
        yield [f"### {markdown(block.title)}{remark}"]
    else:
        yield [f"{_SIGNS.get(block.emphasis, '')}**{markdown(block.title)}**{remark}"]
    yield from _blocks(block.blocks)


@_block.register
def _(block: ByMetric) -> Iterable[Lines]:
    return [part for panel in block.in_text for part in _blocks(panel.blocks)]


@_block.register
def _(block: Latex) -> Iterable[Lines]:
    return []


def _paragraph(about: str, sentences: Sequence[str]) -> Lines:
    lead = f"**{markdown_prose(about)}:** " if about else ""
    return [lead + " ".join(map(markdown_prose, sentences))]


def _remark(remark: Remark) -> str:
    about = f"{markdown(remark.about)}: " if remark.about else ""
    return f"- {'**Warning.** ' if remark.severity == 'warning' else ''}{about}{markdown_prose(remark.message)}"


def _table(table: Table) -> Lines:
    rule = ["---:" if column.numeric else "---" for column in table.columns]
    rows = [_row(map(_text, row.cells)) for row in table.rows]
    return [_row(markdown(column.head.strip()) for column in table.columns), _row(rule), *rows]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(cell: Cell) -> str:
    return cell.text if _NUMBER.fullmatch(cell.inline) else markdown(cell.inline)


def _item(row: Row) -> str:
    """Return a row of sentences: what is asked, what is answered, and further texts behind it."""
    question, answer, *more = [cell.text for cell in row.cells] + [""] * (2 - len(row.cells))
    behind = "; ".join(markdown(text) for text in more if text)
    return f"- *{markdown(question)}* {markdown_prose(answer)}{f' ({behind})' if behind else ''}"


def _hint(hint: Hint) -> str:
    return markdown_prose(f"{hint.text} {code(hint.command)}".strip())
