"""Lines on standard output and standard error, in which nothing of a user's text does anything."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from deviate.report.escape import clean


class Styled(str):
    """A line with styles of ours in it, whose other parts are clean."""

    __slots__ = ()


def say(*lines: str, err: bool = False) -> None:
    """Print lines; what a terminal would obey is taken out of each of them."""
    for line in lines:
        click.echo(line if isinstance(line, Styled) else clean(line), err=err)


def say_json(text: str) -> None:
    """Print the object of ``--json``, all of it also where a signal comes meanwhile."""
    from deviate.replicate.interrupts import whole

    with whole():
        click.echo(text)


def shortened(text: str, before: int = 0) -> str:
    """Cut a text that starts behind `before` characters to the rest of the terminal's line; whole where there is none.

    Examples
    --------
    >>> shortened("print(loss)")
    'print(loss)'
    """
    width = terminal_width()
    return text if width is None or before + len(text) <= width else f"{text[: max(width - before - 1, 0)]}…"


def terminal_width() -> int | None:
    """Return the width of the terminal; None where standard output is none, and nothing is cut."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def listing(title: str, described: Mapping[str, str]) -> str:
    """Return a paragraph of a sub-command's help: a line for each name, with what it is."""
    width = max(map(len, described))
    return "\b\n" + "\n".join([f"{title}:", *(f"  {name:{width}}  {text}" for name, text in described.items())])


def examples(*commands: str) -> str:
    """Return the last paragraph of a sub-command's help: `commands` to type, a line each."""
    # click keeps the lines of a paragraph that begins with a backspace.
    return "\b\n" + "\n".join(["Examples:", *(f"  {command}" for command in commands)])
