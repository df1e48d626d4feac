"""Ask before something is deleted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from deviate.core.errors import BadOption

Command = TypeVar("Command", bound=Callable[..., Any])


def yes_option(command: Command) -> Command:
    """Give a command ``--yes``."""
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(command)


def require_yes(question: str, *, yes: bool) -> None:
    """Go on where the user agrees.

    Raises BadOption where this is no terminal, so Deviate cannot ask. Raises click.Abort if the user does not agree.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadOption("nothing was removed: this is no terminal, so Deviate cannot ask", hint="add --yes")
    click.confirm(question, abort=True, err=True)
