"""``deviate logs``: what a run printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deviate.cli.completion import experiment_names
from deviate.cli.printing import examples, say

if TYPE_CHECKING:
    from deviate.replicate.workspace.folders import RunFolder


@click.command("logs", epilog=examples("deviate logs base 3", "deviate logs base init-3 evaluate"))
@click.argument("name", shell_complete=experiment_names)
@click.argument("run")
@click.argument("evaluation", required=False)
@click.option("--stderr", "only_stderr", is_flag=True, help="Print standard error only.")
@click.option("--stdout", "only_stdout", is_flag=True, help="Print standard output only.")
def command(name: str, run: str, evaluation: str | None, only_stderr: bool, only_stdout: bool) -> None:
    """Print what a run printed, or an EVALUATION of it: standard output, then standard error."""
    from deviate.replicate.workspace.folders import Workspace
    from deviate.study.housekeeping import find_evaluation

    experiment = Workspace.nearest(Path.cwd()).find_experiment(name)
    folder = experiment.find_run(run)
    if evaluation is None:
        _print(folder, name, folder.run.folder, only_stderr=only_stderr, only_stdout=only_stdout)
        return
    step = find_evaluation(experiment.read_experiment(), evaluation)
    for repeat in range(step.repeat):
        part = folder.step(step.name, repeat)
        if not part.path.is_dir():
            say(f"{evaluation} not started in {folder.run.folder}", err=True)
        _print(part, name, f"{evaluation} of {folder.run.folder}", only_stderr=only_stderr, only_stdout=only_stdout)


def _print(folder: RunFolder, name: str, what: str, *, only_stderr: bool, only_stdout: bool) -> None:
    import shutil

    logs = [
        path for path, shown in ((folder.stdout_file, not only_stderr), (folder.stderr_file, not only_stdout)) if shown
    ]
    if reason := _damage(folder, logs):
        say(f"warning: {what} of {name} is shown as it is now: {reason}", err=True)
    for path in logs:
        if path.is_file():
            with path.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _damage(folder: RunFolder, logs: Sequence[Path]) -> str:
    """Say how logs differ from what they were when the run ended; empty where they are whole, or it goes on."""
    from deviate.errors import WorkspaceUnusable
    from deviate.replicate.workspace.integrity import file_damage

    try:
        outcome = folder.read_outcome()
    except WorkspaceUnusable as error:
        return error.message
    stored = {path.name: outcome.files[path.name] for path in logs if outcome and path.name in outcome.files}
    return "; ".join(difference for name, each in stored.items() if (difference := file_damage(folder, name, each)))
