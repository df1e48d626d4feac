"""``deviate rm``: remove experiments."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.cli.asking import require_yes, yes_option
from deviate.cli.completion import experiment_names
from deviate.cli.printing import examples, say


@click.command(
    "rm", epilog=examples("deviate rm base-2", "deviate rm digits@lr=0.1,width=32 digits@lr=0.1,width=64 --yes")
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=experiment_names)
@yes_option
def command(names: tuple[str, ...], yes: bool) -> None:
    """Remove experiments with all their runs.

    Data folders that runs link stay, and so does every other experiment. Asks before anything is removed. An experiment
    whose runs are being made is refused.
    """
    from deviate.replicate.workspace.folders import Workspace
    from deviate.report.text.words import count
    from deviate.study.housekeeping import disk_size, remove

    workspace = Workspace.nearest(Path.cwd())
    folders = [workspace.find_experiment(name) for name in dict.fromkeys(names)]
    for folder in folders:
        runs = count(len(folder.runs()), "run")
        say(f"{folder.name}: {runs}, {disk_size(folder.path) / 1e6:.1f} MB", err=True)
    require_yes(f"Remove {count(len(folders), 'experiment')} for good?", yes=yes)
    for folder in folders:
        remove(workspace, folder.name)
        say(f"removed {folder.name}")
