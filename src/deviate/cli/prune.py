"""``deviate prune``: delete what runs saved, and keep what they recorded."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.cli.options import experiments_and_grids, require_yes, yes_option
from deviate.cli.printing import examples, say, show_size
from deviate.core.errors import DeviateError


@click.command("prune", epilog=examples("deviate prune", "deviate prune baseline --failed --yes"))
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=experiments_and_grids)
@click.option("--failed", is_flag=True, help="Also those of runs that failed, which may show why.")
@yes_option
def command(names: tuple[str, ...], failed: bool, yes: bool) -> None:
    """Delete the working folders of completed runs, with their checkpoints.

    Records, logs, and the predictions and weights that Deviate kept stay, so that every report is as it was. Runs
    without their folder cannot be evaluated later. NAME is an experiment, or a grid, with all its cells; without NAME,
    all experiments that can be read. Asks before anything is deleted.
    """
    from deviate.runs.cells import find_named
    from deviate.runs.housekeeping import prunable, prune
    from deviate.store.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    sizes = {}
    for name in [folder.name for folder in find_named(workspace, names)] or workspace.names():
        try:
            sizes[name] = prunable(workspace.find_experiment(name), failed=failed)
        except DeviateError as error:
            if names:
                raise
            say(f"{name} is left as it is: {error.message}; {error.hint}", err=True)
    for name, size in sizes.items():
        if size:
            say(f"{name}: {show_size(size)}", err=True)
    if not any(sizes.values()):
        say("nothing to delete: no completed run has a working folder")
        return
    require_yes(f"Delete working folders of {show_size(sum(sizes.values()))} for good?", yes=yes)
    freed = sum(prune(workspace, name, failed=failed) for name, size in sizes.items() if size)
    say(f"freed {show_size(freed)}")
