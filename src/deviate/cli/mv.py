"""``deviate mv``: give an experiment another name."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.cli.completion import experiment_names
from deviate.cli.printing import examples, say


@click.command("mv", epilog=examples("deviate mv base baseline"))
@click.argument("name", metavar="NAME", shell_complete=experiment_names)
@click.argument("new", metavar="NEW")
def command(name: str, new: str) -> None:
    """Give an experiment another name.

    Comparisons that were made with it are still accounted for. An experiment whose runs are being made is refused.
    """
    from deviate.replicate.workspace.folders import Workspace
    from deviate.study.housekeeping import rename

    folder = rename(Workspace.nearest(Path.cwd()), name, new)
    say(f"{name} is now {folder.name}")
