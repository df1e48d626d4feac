"""``deviate prune``, ``rm``, ``mv`` and ``export``: what becomes of experiments that are there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from deviate.cli.options import experiments_and_grids, require_yes, yes_option
from deviate.cli.printing import examples, say, show_size
from deviate.core.errors import BadOption, DeviateError
from deviate.core.shell_words import typed_line, typed_word


@click.command("prune", epilog=examples("deviate prune", "deviate prune baseline --yes"))
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=experiments_and_grids)
@yes_option
def prune(names: tuple[str, ...], yes: bool) -> None:
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
            sizes[name] = prunable(workspace.find_experiment(name))
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
    freed = sum(prune(workspace, name) for name, size in sizes.items() if size)
    say(f"freed {show_size(freed)}")


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
def rm(names: tuple[str, ...], evaluation: str | None, yes: bool) -> None:
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


@click.command("mv", epilog=examples("deviate mv base baseline", "deviate mv digits mnist     all cells of a grid"))
@click.argument("name", metavar="NAME", shell_complete=experiments_and_grids)
@click.argument("new", metavar="NEW")
def mv(name: str, new: str) -> None:
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


@click.command(
    "export",
    epilog=examples(
        "deviate export baseline",
        "deviate export baseline --with-work -o base.tar.gz",
        "deviate export digits                                  all cells of a grid",
    ),
)
@click.argument("name", metavar="NAME", shell_complete=experiments_and_grids)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file, which ends in .tar.gz.  [default: NAME.tar.gz]",
)
@click.option("--with-work", "work", is_flag=True, help="Also the working folders of runs, with all that they saved.")
def export(name: str, output: Path | None, work: bool) -> None:
    """Write a whole experiment to one archive; `deviate import` takes it in elsewhere.

    NAME is an experiment, or a grid, with all its cells. The archive holds the copy of the project, records, logs, and
    the predictions and weights that Deviate kept: every report is the same where it is imported. Data that runs link
    and files of credentials are not in it, and stars stand for keys in other files; what was left out is named. Where
    runs are being made, nothing is written.
    """
    from deviate.report.words import count
    from deviate.runs.cells import find_named, grid_of
    from deviate.runs.housekeeping import SUFFIX, export_experiments
    from deviate.runs.snapshot.manifest import note_written
    from deviate.store.folders import Workspace

    folders = find_named(Workspace.nearest(Path.cwd()), [name])
    grid = grid_of(name, folders)
    path = output or Path(f"{grid or name}{SUFFIX}")
    if not path.name.endswith(SUFFIX):
        raise BadOption(f"{path} does not end in {SUFFIX}", hint=f"type -o {path}{SUFFIX}")
    notes: list[str] = []
    try:
        export_experiments(folders, path, grid=grid, work=work, notes=notes)
    except OSError as problem:
        raise BadOption(
            f"cannot write {problem.filename or path}: {problem.strerror}", hint="name a file that can be written"
        ) from problem
    note_written(path)
    what = f"{count(len(folders), 'cell')} of {grid} written" if grid else "written"
    for note in notes:
        say(note)
    size = show_size(path.stat().st_size)
    say(f"{what} to {path} ({size}); take it in with: deviate import {typed_word(str(path))}")
