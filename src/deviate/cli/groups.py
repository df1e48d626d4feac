"""Options on groups of examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def group_options(command: Command) -> Command:
    """Give a command ``--groups`` and ``--positive``."""
    positive = click.option(
        "--positive",
        metavar="CLASS",
        help="With --groups: the class that counts as positive.  [default: the greater of two]",
    )
    return groups_option("Report also how well runs do on groups of the evaluated examples")(positive(command))


def groups_option(what: str) -> Callable[[Command], Command]:
    """Give a command ``--groups``; `what` is what it does with them."""
    return click.option(
        "--groups",
        multiple=True,
        metavar="FILE|COLUMN",
        help=f"{what}: columns of a file (csv, tsv, jsonl, parquet, npy or npz), or a column of the file of "
        "predictions that each run writes; repeatable.",
    )
