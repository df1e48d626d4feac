"""``-o``, ``--json`` and ``--format``: facts in any format, on standard output or in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from deviate.cli.printing import ReaderGone, say, write_output
from deviate.core.errors import BadOption
from deviate.core.interrupts import whole

if TYPE_CHECKING:
    from deviate.report.views import View
    from deviate.report.writers.registry import Writer

Command = TypeVar("Command", bound=Callable[..., Any])


def output_options(formats: str) -> Callable[[Command], Command]:
    """Give a command ``--format``, which takes one of `formats`, and ``-o``."""

    def add(command: Command) -> Command:
        return click.option("--format", "format_name", help=formats)(_output("Write to this file.")(command))

    return add


def output_option(suffixes: str) -> Callable[[Command], Command]:
    """Give a command ``-o``, which writes in the format that one of `suffixes` names."""
    return _output(f"Write to this file, whose name ends in {suffixes}.")


def _output(text: str) -> Callable[[Command], Command]:
    return click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help=text)


#: What the name of a file that holds a page, or its facts, may end in.
PAGE_SUFFIXES = ".txt, .md, .tex, .json or .html"


def json_option(command: Command) -> Command:
    """Give a command ``--json``, which is short for ``--format json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def set_option(command: Command) -> Command:
    """Give a command ``--set``; it gets what was typed as `settings`."""
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Say for this command what deviate.toml may say: entry=train.py, exclude=GLOB, factor=FILE:LINE=NAME, "
        "timeout=SECONDS, memory=GIB, container=IMAGE, gres=gpu:1; a wrong key lists all. Repeatable.",
    )(command)


def request_fields(settings: tuple[str, ...], project: Path | None) -> dict[str, Any]:
    """Return what the ``[run]`` table of deviate.toml and ``--set`` say, by the fields of a request."""
    from deviate.source.config import file_settings, read_settings

    return {**file_settings(project), **read_settings(settings)}


def format_named(format_name: str | None, *, as_json: bool) -> str | None:
    """Return the format that ``--format`` and ``--json`` name.

    Raises BadOption if they name two.
    """
    if as_json and (format_name or "json").strip().lower() != "json":
        raise BadOption("--json and --format say different things", hint="leave one out")
    return "json" if as_json else format_name


def verbose_option(command: Command) -> Command:
    """Give a command ``-v``."""
    return click.option("-v", "--verbose", is_flag=True, help="Print also what the answer rests on.")(command)


def show(
    view: View[Any],
    writer: Writer,
    output: Path | None,
    again: str,
    stem: str = "report",
    *,
    verbose: bool = False,
    following: Callable[[], Sequence[tuple[str, str]]] = tuple,
) -> None:
    """Write a view to the file, or print it; in a terminal with its width and colours, on one screen unless `verbose`.

    `again` is the command that shows the same, for a hint; `stem` is of the file that the hint names. A screen ends
    with what is typed next, behind the questions that it answers.
    Where nobody reads to the end (``| head``), the command goes on: its exit status is its answer.
    """
    if output is not None:
        write_output(output, written(view, writer))
        return
    with suppress(ReaderGone):
        if writer.name == "terminal":
            _print_screen(view, following, verbose=verbose)
        else:
            _print(view, writer, again, stem)


def _print_screen(view: View[Any], following: Callable[[], Sequence[tuple[str, str]]], *, verbose: bool) -> None:
    from rich.console import Console

    from deviate.report.page import Facts, Section
    from deviate.report.writers.terminal import print_page

    page = view.page("brief" if verbose else "screen")
    if not verbose and (pairs := following()):
        steps = Section(slug="next", blocks=[Facts(pairs=[*pairs], typed=True)])
        page = msgspec.structs.replace(page, sections=[*page.sections, steps])
    print_page(page, Console())


def _print(view: View[Any], writer: Writer, again: str, stem: str) -> None:
    with whole() if writer.name == "json" else nullcontext():
        for part in written(view, writer):
            click.echo(part.rstrip("\n"))
    if writer.name == "html":
        # Options end where the user's own command begins.
        words, dashes, command = again.partition(" -- ")
        say(f"to a file: {words} -o {stem}.html{dashes}{command}", err=True)


def written(view: View[Any], writer: Writer) -> Iterator[str]:
    """Return facts in a format, part by part; none is empty."""
    rendered = writer.render(view.page(writer.reader) if writer.reader else view.facts)
    return filter(None, [rendered] if isinstance(rendered, str) else rendered)
