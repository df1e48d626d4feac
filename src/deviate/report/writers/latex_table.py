"""Tables with booktabs rules, split where they have more rows than a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from deviate.report.figures.figure import slug
from deviate.report.page import Cell, Column, Row, Table
from deviate.report.text.words import code
from deviate.report.writers.latex_text import latex, latex_prose, number

#: Rows of a table that fit a page.
ROWS = 40

#: Heads that are symbols, which papers set as mathematics.
_SYMBOLS = frozenset({"n", "p", "N", "P"})

#: Column of notes on a row, which are sentences.
_WRAPPED = r"p{0.9\linewidth}@{}"


def latex_table(table: Table) -> list[str]:
    """Return a table as lines, as several where it has too many rows.

    Rows below a heading stay together; where they are too many for one table the next one repeats it.
    """
    pages = _pages(table.rows)
    below = _below(table)
    lines: list[str] = []
    for index, rows in enumerate(pages, 1):
        more = f" ({index} of {len(pages)})" if len(pages) > 1 else ""
        lines += [
            r"\begin{table*}[tbp]",
            # The classes of LaTeX itself leave no room between a caption and what is below it.
            r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}\setlength{\belowcaptionskip}{4pt}",
            rf"  \caption{{{latex(f'{table.caption} {table.remark}'.strip())}{more}}}",
            rf"  \label{{tab:{slug(table.slug or table.caption)}{f'-{index}' if index > 1 else ''}}}",
            *_tabular(table.columns, rows),
            *(below if index == len(pages) else []),
            r"\end{table*}",
            "",
        ]
    return lines


def _below(table: Table) -> list[str]:
    more = [f"{table.more.text} {code(table.more.command)}"] if table.more else []
    texts = [latex_prose(text) for text in (*more, *table.sentences, *table.notes)]
    return [r"  \par\smallskip\begin{minipage}{0.9\linewidth}", *texts, r"  \end{minipage}"] if texts else []


def _tabular(columns: Sequence[Column], rows: Sequence[Row]) -> Iterable[str]:
    letters = "".join("r" if column.numeric else "c" if column.centered else "l" for column in columns)
    yield rf"  \begin{{tabular}}{{@{{}}{letters}@{{}}}}"
    yield r"    \toprule"
    yield rf"    {' & '.join(_head(column.head) for column in columns)} \\"
    yield r"    \midrule"
    below = False
    for row in rows:
        below = below or row.is_heading
        yield f"    {_row(row, columns, below=below)}"
        notes = (rf"\quad {latex_prose(note)}" for note in row.notes)
        yield from (f"    {_across(note, len(columns), _WRAPPED)}" for note in notes)
    yield r"    \bottomrule"
    yield r"  \end{tabular}"


def _head(text: str) -> str:
    text = text.strip()
    return f"${text}$" if text in _SYMBOLS else latex(text)


def _row(row: Row, columns: Sequence[Column], *, below: bool) -> str:
    if row.is_heading:
        return _across(rf"\emph{{{_cell(row.cells[0], numeric=False)}}}", len(columns))
    cells = [_cell(cell, numeric=column.numeric) for cell, column in zip(row.cells, columns, strict=True)]
    start = r"\quad " if below else ""
    return rf"{start}{' & '.join(cells)} \\"


def _across(text: str, columns: int, shape: str = "l") -> str:
    return rf"\multicolumn{{{columns}}}{{@{{}}{shape}}}{{{text}}} \\"


def _cell(cell: Cell, *, numeric: bool) -> str:
    return number(cell.inline) if numeric else latex(cell.inline)


def _pages(rows: Sequence[Row]) -> list[list[Row]]:
    """Share rows among tables of at most `ROWS`, cut between the headings where that is possible."""
    pages: list[list[Row]] = [[]]
    for group in _groups(rows):
        if pages[-1] and len(pages[-1]) + len(group) > ROWS:
            pages.append([])
        pages[-1] += group
        while len(pages[-1]) > ROWS:
            again = [_continued(group[0])] if group[0].is_heading else []
            pages[-1:] = [pages[-1][:ROWS], [*again, *pages[-1][ROWS:]]]
    return pages


def _continued(heading: Row) -> Row:
    cell = heading.cells[0]
    return Row(cells=[msgspec.structs.replace(cell, text=f"{cell.inline} (continued)", remark="")])


def _groups(rows: Sequence[Row]) -> Iterable[list[Row]]:
    """Yield each heading with the rows below it; rows without a heading by themselves."""
    group: list[Row] = []
    for row in rows:
        headed = bool(group) and group[0].is_heading
        if group and (row.is_heading or not headed):
            yield group
            group = []
        group.append(row)
    if group:
        yield group
