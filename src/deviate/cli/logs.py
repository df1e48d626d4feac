"""``deviate logs``: what a run printed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deviate.cli.options import experiment_names, only_experiment
from deviate.cli.printing import examples, say
from deviate.core.shell_words import typed_word

#: Runs that are listed where none is named.
LISTED = 5

if TYPE_CHECKING:
    from deviate.store.folders import ExperimentFolder, RunFolder


@click.command("logs", epilog=examples("deviate logs base 3", "deviate logs base init-3 evaluate"))
@click.argument("name", required=False, shell_complete=experiment_names)
@click.argument("run", required=False)
@click.argument("evaluation", required=False)
@click.option("--stdout", "only_stdout", is_flag=True, help="Print standard output only.")
def command(name: str | None, run: str | None, evaluation: str | None, only_stdout: bool) -> None:
    """Print what a run printed, or an EVALUATION of it: standard output, then standard error.

    Tracebacks show your own lines. Without RUN, the runs to choose from are listed; an only run is printed. NAME may
    be left out where there is one experiment.
    """
    from deviate.store.folders import Workspace

    name = name or only_experiment("logs")
    experiment = Workspace.nearest(Path.cwd()).find_experiment(name)
    if run is None and len(experiment.runs()) != 1:
        say(*_choices(experiment))
        return
    folder = experiment.find_run(run) if run is not None else experiment.runs()[0]
    what, parts = folder.run.folder, [folder]
    if evaluation is not None:
        from deviate.runs.housekeeping import find_evaluation

        step = find_evaluation(experiment.read_experiment(), evaluation)
        what = f"{evaluation} of {what}"
        parts = [folder.step(step.name, repeat) for repeat in range(step.repeat)]
    for part in parts:
        if not part.path.is_dir():
            say(f"{evaluation} not started in {folder.run.folder}", err=True)
        logs = [part.stdout_file] if only_stdout else [part.stdout_file, part.stderr_file]
        if reason := _damage(part, logs):
            say(f"warning: {what} of {name} is shown as it is now: {reason}", err=True)
        for path in logs:
            if path.is_file():
                _print(path, experiment, folder)
        sys.stdout.buffer.flush()


def _choices(experiment: ExperimentFolder) -> list[str]:
    """Return a line for each run, those that failed first, above what to type for one of them."""
    from deviate.cli.printing import aligned, show_duration
    from deviate.report.words import count
    from deviate.store.run_files import Completed

    runs = [(folder, folder.read_outcome()) for folder in experiment.runs()]
    if not runs:
        return [f"no run of {experiment.name} has started yet"]
    runs.sort(key=lambda run: isinstance(run[1], Completed))
    rows = [
        (folder.run.folder, "goes on" if outcome is None else outcome.status,
         "" if outcome is None else show_duration(outcome.seconds or 0.0))
        for folder, outcome in runs
    ]  # fmt: skip
    more = f"… and {len(rows) - LISTED} more: deviate show {typed_word(experiment.name)}"
    return [
        f"{experiment.name} has {count(len(rows), 'run')}; type the name of one:",
        "",
        *aligned(rows[:LISTED]),
        *([more] if len(rows) > LISTED else []),
        "",
        f"deviate logs {typed_word(experiment.name)} {rows[0][0]}",
    ]


def _print(log: Path, experiment: ExperimentFolder, folder: RunFolder) -> None:
    """Print a log byte for byte, but for tracebacks: these name the files of the project as the user does."""
    from deviate.core.errors import WorkspaceUnusable
    from deviate.runs.snapshot.manifest import read_snapshot
    from deviate.runs.snapshot.working_copy import named_in_project, overlay_path

    try:
        info = folder.read_info()
        copy = overlay_path(folder if info is None else folder.made_in(info), read_snapshot(experiment))
    except WorkspaceUnusable:
        # No file says where the copy was: lines stay as they were printed.
        copy = None
    with log.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        lines = _split(file) if copy is None else named_in_project(_split(file), copy)
        for number, line in enumerate(lines):
            sys.stdout.buffer.write(f"{chr(10) if number else ''}{line}".encode("utf-8", "surrogateescape"))


def _split(file: Iterable[str]) -> Iterator[str]:
    """Yield what stands between line ends, as ``split`` does; without holding all of it."""
    ended = True
    for line in file:
        ended = line.endswith("\n")
        yield line.removesuffix("\n")
    if ended:
        yield ""


def _damage(folder: RunFolder, logs: Sequence[Path]) -> str:
    """Say how logs differ from what they were when the run ended; empty where they are whole, or it goes on."""
    from deviate.core.errors import WorkspaceUnusable
    from deviate.store.integrity import file_damage

    try:
        outcome = folder.read_outcome()
    except WorkspaceUnusable as error:
        return error.message
    stored = {path.name: outcome.files[path.name] for path in logs if outcome and path.name in outcome.files}
    return "; ".join(difference for name, each in stored.items() if (difference := file_damage(folder, name, each)))
