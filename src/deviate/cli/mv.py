"""``deviate mv``: give an experiment another name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from deviate.cli.options import experiments_and_grids
from deviate.cli.printing import examples, say
from deviate.core.errors import DeviateError


@click.command("mv", epilog=examples("deviate mv base baseline", "deviate mv digits mnist     all cells of a grid"))
@click.argument("name", metavar="NAME", shell_complete=experiments_and_grids)
@click.argument("new", metavar="NEW")
def command(name: str, new: str) -> None:
    """Give an experiment another name.

    NAME is an experiment, or a grid: its cells keep their settings. Comparisons that were made with it are still
    accounted for. Where runs are being made, nothing is renamed.
    """
    from deviate.core.experiment import AT
    from deviate.runs.cells import find_named, new_names, require_free
    from deviate.runs.housekeeping import rename
    from deviate.source.config import FILE_NAME
    from deviate.store.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    names = new_names(workspace, name, find_named(workspace, [name]), new)
    require_free((workspace.experiment(each) for each in names), "mv")
    for old, target in names.items():
        folder = rename(workspace, old, target)
        say(f"{old} is now {folder.name}")
    listed = name.partition(AT)[0]
    if _lists(workspace.project, listed):
        say(f"{FILE_NAME} lists {listed}: rename it there, too, or `deviate run` makes its runs anew")


def _lists(project: Path, name: str) -> bool:
    from deviate.source.config import read_config

    # One that cannot be read lists nothing that could be renamed.
    with suppress(DeviateError):
        return any(entry.name == name for entry in read_config(project).experiment)
    return False
