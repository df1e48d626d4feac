"""``deviate list``: the experiments of a project."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.printing import examples, say, say_json

if TYPE_CHECKING:
    from deviate.facts.overview import Unreadable


@click.command("list", epilog=examples("deviate list", "deviate list --json"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """List the experiments of this project, the best first.

    Mean and SD are of the metric that leads most reports, see `main` of deviate.toml. A line is the 95% interval of
    the mean, to scale. Behind a name stands what its command has and others lack; below the table, which ones were
    compared. An experiment that cannot be read, since a file was damaged, is listed last, with the reason.

    `deviate rm` removes one, `deviate mv` gives it another name, and `deviate prune` frees what its runs saved.
    """
    from deviate.cli.board import project_board
    from deviate.facts.overview import overviews
    from deviate.store.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    found, unreadable = overviews(workspace)
    if as_json:
        say_json(list_json(found, unreadable))
        return
    if not found and not unreadable:
        click.echo("no experiment here yet; make one, such as deviate run -n 8 -- python train.py")
        return
    say(*project_board(workspace, found), *unread_rows(unreadable))
    say(*hints(unreadable), err=True)
    # Programs read --json; the next command is for people.
    if sys.stdout.isatty():
        from deviate.cli.standing import next_steps

        say(*next_steps(workspace, found, most=1))


def list_json(found: Sequence[Mapping[str, Any]], unreadable: Iterable[Unreadable]) -> str:
    """Return one JSON object."""
    return json.dumps({"schema": 1, "experiments": found, "unreadable": [each._asdict() for each in unreadable]})


def unread_rows(unreadable: Iterable[Unreadable]) -> list[str]:
    """Return a line for each experiment that cannot be read."""
    from deviate.report.escape import clean

    return [f"✗ {each.name}  unreadable  {clean(each.problem)}" for each in unreadable]


def hints(unreadable: Iterable[Unreadable]) -> list[str]:
    """Return what to do about each experiment that cannot be read."""
    return [f"{each.name}: {each.hint}" for each in unreadable]
