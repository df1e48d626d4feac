"""``deviate export``: a whole experiment as one file."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.cli.completion import experiment_names
from deviate.cli.printing import examples, say
from deviate.errors import BadOption


@click.command(
    "export", epilog=examples("deviate export baseline", "deviate export baseline --with-work -o base.tar.gz")
)
@click.argument("name", metavar="NAME", shell_complete=experiment_names)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file, which ends in .tar.gz.  [default: NAME.tar.gz]",
)
@click.option("--with-work", "work", is_flag=True, help="Also the working folders of runs, with all that they saved.")
def command(name: str, output: Path | None, work: bool) -> None:
    """Write a whole experiment to one archive; `deviate import` takes it in elsewhere.

    It holds the copy of the project, records, logs, and the predictions and weights that Deviate kept: every report is
    the same where it is imported. An experiment whose runs are being made is refused.
    """
    from deviate.replicate.snapshot.own_files import note_written
    from deviate.replicate.workspace.folders import Workspace
    from deviate.study.archive import SUFFIX, export_experiment

    folder = Workspace.nearest(Path.cwd()).find_experiment(name)
    path = output or Path(f"{name}{SUFFIX}")
    if not path.name.endswith(SUFFIX):
        raise BadOption(f"{path} does not end in {SUFFIX}", hint=f"type -o {path}{SUFFIX}")
    try:
        export_experiment(folder, path, work=work)
    except OSError as problem:
        raise BadOption(
            f"cannot write {problem.filename or path}: {problem.strerror}", hint="name a file that can be written"
        ) from problem
    note_written(path)
    say(f"written to {path} ({path.stat().st_size / 1e6:.1f} MB); take it in with: deviate import {path}")
