"""``deviate logs``: what a run printed."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command("logs")
@click.argument("name")
@click.argument("run")
@click.option("--stderr", "only_stderr", is_flag=True, help="Only what it printed to standard error.")
@click.option("--stdout", "only_stdout", is_flag=True, help="Only what it printed to standard output.")
def command(name: str, run: str, only_stderr: bool, only_stdout: bool) -> None:
    """Print what run RUN of experiment NAME printed: standard output, then standard error."""
    import shutil

    from deviate.replicate.workspace.folders import Workspace

    folder = Workspace.nearest(Path.cwd()).find_experiment(name).find_run(run)
    for path, shown in ((folder.stdout_file, not only_stderr), (folder.stderr_file, not only_stdout)):
        if shown and path.is_file():
            with path.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
