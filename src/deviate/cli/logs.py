"""``deviate logs``: what a run printed."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from deviate.cli.completion import experiment_names
from deviate.cli.printing import examples


@click.command("logs", epilog=examples("deviate logs train 3", "deviate logs train init-3"))
@click.argument("name", shell_complete=experiment_names)
@click.argument("run")
@click.option("--stderr", "only_stderr", is_flag=True, help="Print standard error only.")
@click.option("--stdout", "only_stdout", is_flag=True, help="Print standard output only.")
def command(name: str, run: str, only_stderr: bool, only_stdout: bool) -> None:
    """Print what a run printed: standard output, then standard error."""
    import shutil

    from deviate.replicate.workspace.folders import Workspace

    folder = Workspace.nearest(Path.cwd()).find_experiment(name).find_run(run)
    for path, shown in ((folder.stdout_file, not only_stderr), (folder.stderr_file, not only_stdout)):
        if shown and path.is_file():
            with path.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
