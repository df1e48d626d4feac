"""Find the writer for a format or a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from deviate.errors import BadOption
from deviate.report.parts import Document
from deviate.report.writers.csv import render_records, render_summary
from deviate.report.writers.json import render_json
from deviate.report.writers.latex import render_latex
from deviate.report.writers.markdown import render_markdown
from deviate.report.writers.terminal import render_terminal

if TYPE_CHECKING:
    import pandas as pd

#: Reads every record, only when a writer asks.
ReadRecords = Callable[[], "pd.DataFrame"]


class Writer(msgspec.Struct, frozen=True, kw_only=True):
    """A format a document can be written in."""

    name: str
    suffixes: tuple[str, ...]
    render: Callable[[Document, ReadRecords], str]
    #: What the format is for, for ``--help``.
    purpose: str


def _render_html(document: Document, read_records: ReadRecords) -> str:
    # Loads the figures' library, about a second that no other format needs.
    from deviate.report.writers.html.page import render_html

    return render_html(document, read_records)


def _render_latex(document: Document, read_records: ReadRecords) -> str:
    from deviate.report.curves import curves_of

    return render_latex(document, curves_of(document, read_records()))


WRITERS = {
    writer.name: writer
    for writer in (
        Writer(
            name="terminal",
            suffixes=(".txt",),
            render=lambda document, _: render_terminal(document),
            purpose="plain text",
        ),
        Writer(
            name="md",
            suffixes=(".md", ".markdown"),
            render=lambda document, _: render_markdown(document),
            purpose="every metric, as Markdown",
        ),
        Writer(
            name="tex",
            suffixes=(".tex",),
            render=_render_latex,
            purpose="tables and a methods paragraph, to be put into a paper",
        ),
        Writer(
            name="json",
            suffixes=(".json",),
            render=lambda document, _: render_json(document),
            purpose="everything, for other programs",
        ),
        Writer(
            name="html",
            suffixes=(".html", ".htm"),
            render=_render_html,
            purpose="a page with figures that works offline, in one file",
        ),
        Writer(
            name="csv",
            suffixes=(".csv",),
            render=lambda document, read: render_records(document, read()),
            purpose="every record, one a row",
        ),
        Writer(
            name="summary",
            suffixes=(".summary.csv",),
            render=lambda document, _: render_summary(document),
            purpose="one row a metric, as CSV",
        ),
    )
}

#: Other words for a format.
_ALIASES = {"markdown": "md", "latex": "tex", "text": "terminal", "txt": "terminal", "htm": "html", "records": "csv"}

DEFAULT_FORMAT = "terminal"


def find_writer(format_name: str | None = None, path: Path | None = None) -> Writer:
    """Return the writer for a format, or else the one that the name of a file asks for.

    Parameters
    ----------
    format_name : str, optional
        What ``--format`` says; it wins over the file's name.
    path : Path, optional
        Where the document will be written.

    Raises
    ------
    BadOption
        If no writer has that name, or none the file's suffix.
    """
    if format_name is not None:
        return _by_name(format_name)
    return WRITERS[DEFAULT_FORMAT] if path is None else _by_suffix(path)


def _by_name(name: str) -> Writer:
    word = name.strip().lower()
    writer = WRITERS.get(_ALIASES.get(word, word))
    if writer is None:
        raise BadOption(f"--format {name!r} is no format; expected one of {', '.join(WRITERS)}", "type --format md")
    return writer


def _by_suffix(path: Path) -> Writer:
    fitting = [
        (len(suffix), writer.name)
        for writer in WRITERS.values()
        for suffix in writer.suffixes
        if path.name.lower().endswith(suffix)
    ]
    if not fitting:
        known = ", ".join(suffix for writer in WRITERS.values() for suffix in writer.suffixes)
        raise BadOption(
            f"{path.name!r} does not say which format to write; expected a name that ends in one of {known}",
            f"type --format with one of {', '.join(WRITERS)}",
        )
    return WRITERS[max(fitting)[1]]
