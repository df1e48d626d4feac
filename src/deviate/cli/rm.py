"""``deviate rm``: remove experiments."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.cli.options import experiments_and_grids, require_yes, yes_option
from deviate.cli.printing import examples, say, show_size
from deviate.core.shell_words import typed_line


@click.command(
    "rm",
    epilog=examples(
        "deviate rm base-2",
        "deviate rm digits@lr=0.1,width=32 digits@lr=0.1,width=64 --yes",
        "deviate rm digits                             all cells of a grid",
        "deviate rm 'digits@lr=0.1,*'                  some of them",
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=experiments_and_grids)
@click.option("--evaluation", metavar="EVALUATION", help="Remove this evaluation alone, with what it recorded.")
@yes_option
def command(names: tuple[str, ...], evaluation: str | None, yes: bool) -> None:
    """Remove experiments with all their runs.

    NAME is an experiment, or a grid, with all its cells. Data folders that runs link stay, and so does every other
    experiment. Asks before anything is removed. Where runs are being made, nothing is removed. With --evaluation, an
    evaluation goes and the rest stays, such as one that was mistyped; a command that still asks for it makes it again.
    """
    from deviate.report.words import count
    from deviate.runs.cells import find_named, require_free
    from deviate.runs.housekeeping import disk_size, find_evaluation, remove, remove_evaluation
    from deviate.store.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    folders = find_named(workspace, names)
    if evaluation is not None:
        for folder in folders:
            step = find_evaluation(folder.read_experiment(), evaluation)
            say(f"{folder.name}: {evaluation}, {typed_line(step.command)}", err=True)
        require_yes(f"Remove {evaluation} of {count(len(folders), 'experiment')} for good?", yes=yes)
        require_free(folders, "rm")
        for folder in folders:
            remove_evaluation(workspace, folder.name, evaluation)
            say(f"removed {evaluation} of {folder.name}")
        return
    for folder in folders:
        runs = count(len(folder.runs()), "run")
        say(f"{folder.name}: {runs}, {show_size(disk_size(folder.path))}", err=True)
    require_yes(f"Remove {count(len(folders), 'experiment')} for good?", yes=yes)
    require_free(folders, "rm")
    for folder in folders:
        remove(workspace, folder.name)
        say(f"removed {folder.name}")
