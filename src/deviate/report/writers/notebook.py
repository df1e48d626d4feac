"""A page as a small piece of HTML for a notebook, and figures as Altair charts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import singledispatch
from html import escape
from typing import Any

from deviate.report.escape import clean, encodable
from deviate.report.figures import Figure, drawing_module, themed
from deviate.report.page import (
    Answer,
    Bars,
    Block,
    ByMetric,
    Code,
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
    Sentences,
    Strips,
    Table,
)
from deviate.report.words import count

#: Rows of a table; more are counted.
ROWS_SHOWN = 40

#: Before the title of what passed and what failed.
_SIGNS: dict[Emphasis, str] = {"good": "✓ ", "bad": "✗ "}

#: Pixels of a chart: not every notebook knows how wide its cells are.
NOTEBOOK_WIDTH = 560


class Figures(Mapping[str, Any]):
    """Altair charts by slug, each made when it is asked for: making one takes a moment.

    Parameters
    ----------
    figures : sequence of Figure
        With slugs of their own.
    """

    def __init__(self, figures: Sequence[Figure]) -> None:
        self._figures = {figure.slug: figure for figure in figures}

    def __getitem__(self, slug: str) -> Any:
        alt = drawing_module("altair")
        figure = self._figures[slug]
        return alt.Chart.from_dict({**themed(figure, title=True), "width": NOTEBOOK_WIDTH})

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __repr__(self) -> str:
        return f"<{count(len(self), 'figure')}: {', '.join(self)}>"

    def describe(self, slug: str) -> str:
        """Return the numbers that a figure shows, as a caption."""
        return self._figures[slug].description


def render_notebook(page: Page) -> str:
    """Return title, answers and tables: no script, no style of its own, every text escaped.

    `page`: remarks are counted; figures, what is folded, and what one types are left out.
    """
    pieces = [f"<p><strong>{_text(page.title)}</strong></p>"] if page.title else []
    blocks = [block for section in page.sections for block in section.blocks]
    pieces += [piece for block in blocks for piece in _block(block)]
    return f"<div>{''.join(pieces)}{_counted(blocks, page.command)}</div>"


@singledispatch
def _block(block: Block) -> Iterable[str]:
    raise TypeError(f"no notebook shows {type(block).__name__}")


@_block.register(Sentences)
@_block.register(Answer)
def _(block: Sentences | Answer) -> Iterable[str]:
    if isinstance(block, Answer) and block.figure and block.figure.basis:
        yield _key_figure(block.figure)
    about = f"<strong>{_text(block.about)}:</strong> " if block.about else ""
    sentences = block.sentences if block.listed or not block.sentences else [" ".join(block.sentences)]
    for index, sentence in enumerate(sentences):
        yield f"<p>{'' if index else about}{_text(sentence)}</p>"


def _key_figure(figure: KeyFigure) -> str:
    beside = f": {_text(', '.join(figure.beside))}" if figure.beside else ""
    return f"<p><strong>{_text(figure.label)} {_text(figure.text)}</strong> ({_text(figure.basis)}){beside}</p>"


@_block.register
def _(block: Table) -> Iterable[str]:
    kept = [index for index, column in enumerate(block.columns) if not column.drawn]
    if len(kept) < 2 <= len(block.columns):
        return
    caption = f"{block.caption} {block.remark}".strip()
    yield f"<p>{_text(caption)}</p>" if block.titled else ""
    head = "".join(f"<th>{_text(block.columns[index].head)}</th>" for index in kept)
    body = "".join(f"<tr>{_cells(row, kept)}</tr>" for row in block.rows[:ROWS_SHOWN])
    body += "".join(f"<tr><td>{_text(name)}</td><td>{_text(why)}</td></tr>" for name, why in block.folded)
    yield f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    if block.more:
        yield f"<p>{_text(f'{block.more.text} {block.more.command}')}</p>"
    if len(block.rows) > ROWS_SHOWN:
        yield f"<p>and {count(len(block.rows) - ROWS_SHOWN, f'more {_noun(block)}')}</p>"


@_block.register
def _(block: ByMetric) -> Iterable[str]:
    return [piece for inner in block.leading.blocks for piece in _block(inner)]


@_block.register
def _(block: Fold) -> Iterable[str]:
    # What passed or failed is an answer; other blocks below a heading are details.
    if block.emphasis in _SIGNS:
        title = f"{_SIGNS[block.emphasis]}{block.title} {block.remark}".strip()
        yield f"<p><strong>{_text(title)}</strong></p>"
        yield from (piece for inner in block.blocks for piece in _block(inner))


@_block.register(Remarks)
@_block.register(Facts)
@_block.register(Code)
@_block.register(Hint)
@_block.register(Drawing)
@_block.register(Strips)
@_block.register(Bars)
@_block.register(Latex)
def _(block: Block) -> Iterable[str]:
    return []


def _cells(row: Row, kept: Sequence[int]) -> str:
    cells = [row.cells[index].inline if index < len(row.cells) else "" for index in kept]
    return "".join(f"<td>{_text(cell)}</td>" for cell in cells)


def _noun(table: Table) -> str:
    head = _text(table.columns[0].head).lower()
    return head if head.isalpha() else "row"


def _counted(blocks: Iterable[Block], command: str) -> str:
    remarks = [remark for block in blocks if isinstance(block, Remarks) for remark in block.remarks]
    if not remarks:
        return ""
    warnings = sum(remark.severity == "warning" for remark in remarks)
    text = f"{count(warnings, 'warning')} and {count(len(remarks) - warnings, 'note')}"
    return f"<p>{_text(f'{text}: {command}' if command else text)}</p>"


def _text(text: str) -> str:
    return escape(encodable(clean(text)))
