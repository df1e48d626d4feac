"""``deviate export``: a whole experiment, or all cells of a grid, as one file."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.cli.options import experiments_and_grids
from deviate.cli.printing import examples, say, show_size
from deviate.core.errors import BadOption
from deviate.core.shell_words import typed_word


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
def command(name: str, output: Path | None, work: bool) -> None:
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
