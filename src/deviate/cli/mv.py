"""``deviate mv``: give an experiment another name."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.cli.completion import experiments_and_grids
from deviate.cli.printing import examples, say


@click.command("mv", epilog=examples("deviate mv base baseline", "deviate mv digits mnist     all cells of a grid"))
@click.argument("name", metavar="NAME", shell_complete=experiments_and_grids)
@click.argument("new", metavar="NEW")
def command(name: str, new: str) -> None:
    """Give an experiment another name.

    NAME is an experiment, or a grid: its cells keep their settings. Comparisons that were made with it are still
    accounted for. Where runs are being made, nothing is renamed.
    """
    from deviate.replicate.workspace.folders import Workspace
    from deviate.study.housekeeping import rename
    from deviate.study.named import find_named, new_names, require_free

    workspace = Workspace.nearest(Path.cwd())
    names = new_names(workspace, name, find_named(workspace, [name]), new)
    require_free((workspace.experiment(each) for each in names), "mv")
    for old, target in names.items():
        folder = rename(workspace, old, target)
        say(f"{old} is now {folder.name}")
