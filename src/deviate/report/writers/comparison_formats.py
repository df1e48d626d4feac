"""The formats a comparison can be written in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from deviate.errors import BadOption
from deviate.report.comparison.parts import Comparison
from deviate.report.writers.comparison_csv import render_comparison_csv
from deviate.report.writers.comparison_json import render_comparison_json
from deviate.report.writers.comparison_latex import render_comparison_latex
from deviate.report.writers.comparison_markdown import render_comparison_markdown
from deviate.report.writers.comparison_terminal import render_comparison_terminal


def _render_html(comparison: Comparison) -> str:
    # Loads the figures' library, about a second that no other format needs.
    from deviate.report.writers.html.page import render_comparison_html

    return render_comparison_html(comparison)


COMPARISON_FORMATS: dict[str, Callable[[Comparison], str]] = {
    "terminal": render_comparison_terminal,
    "md": render_comparison_markdown,
    "tex": render_comparison_latex,
    "json": render_comparison_json,
    "html": _render_html,
    "csv": render_comparison_csv,
}

_SUFFIXES = {
    ".txt": "terminal",
    ".md": "md",
    ".markdown": "md",
    ".tex": "tex",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".csv": "csv",
}

#: Other words for a format.
_ALIASES = {"markdown": "md", "latex": "tex", "text": "terminal", "htm": "html"}


def find_comparison_format(format_name: str | None, path: Path | None) -> str:
    """Return the name of the format that is asked for, or else the one that the name of a file asks for.

    Raises
    ------
    BadOption
        If no format has that name, or none the file's suffix.
    """
    if format_name is not None:
        word = format_name.strip().lower()
        word = _ALIASES.get(word, word)
        if word not in COMPARISON_FORMATS:
            known = ", ".join(COMPARISON_FORMATS)
            raise BadOption(f"--format {format_name!r} is no format; expected one of {known}", "type --format md")
        return word
    if path is None:
        return "terminal"
    if path.suffix.lower() not in _SUFFIXES:
        known = ", ".join(_SUFFIXES)
        raise BadOption(
            f"{path.name!r} does not say which format to write; expected a name that ends in one of {known}",
            f"type --format with one of {', '.join(COMPARISON_FORMATS)}",
        )
    return _SUFFIXES[path.suffix.lower()]
