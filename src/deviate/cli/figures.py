"""``--figures DIR`` of ``deviate report`` and ``deviate compare``: figures as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deviate.cli.printing import say
from deviate.errors import BadOption

if TYPE_CHECKING:
    from deviate.report.figures import Figure

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_FORMAT = "pdf"


def figure_options(command: Command) -> Command:
    """Give a command the options that write figures; it gets them as `figures` and `figure_format`."""
    add_format = click.option(
        "--figure-format",
        type=click.Choice(["pdf", "svg", "png"]),
        help=f"Format of the files that --figures writes.  [default: {DEFAULT_FORMAT}]",
    )
    add_folder = click.option(
        "--figures",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Write every figure into this folder, as wide as a column of a paper. Add --format or -o to write the "
        "report too.",
    )
    return add_folder(add_format(command))


def check_figures(folder: Path | None, format_name: str | None) -> None:
    """Refuse a format of figures without figures.

    Raises
    ------
    BadOption
        If `format_name` is given and `folder` is not.
    """
    if format_name is not None and folder is None:
        raise BadOption("--figure-format says how --figures are written", hint="type --figures DIR, too")


def write_figure_files(figures: Sequence[Figure], folder: Path, format_name: str | None) -> None:
    """Write figures and say on standard error what was written.

    Raises
    ------
    BadOption
        If the folder or a file in it cannot be written.
    """
    from deviate.replicate.snapshot.own_files import note_written
    from deviate.report.figures.files import FIGURE_FORMATS, write_figures

    chosen = next(name for name in FIGURE_FORMATS if name == (format_name or DEFAULT_FORMAT))
    try:
        there = set(folder.iterdir()) if folder.is_dir() else set()
        for path in write_figures(figures, folder, chosen):
            note_written(path)
            say(f"{'replaced' if path in there else 'written to'} {path}", err=True)
    except OSError as problem:
        raise BadOption(
            f"cannot write {problem.filename or folder}: {problem.strerror}", hint="name a folder that can be written"
        ) from problem
    if not figures:
        click.echo("no figure: nothing was measured", err=True)
