"""``deviate`` alone: where a project stands, and what to type next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deviate.core.paths import folders_below, globbed
from deviate.core.shell_words import typed_line, typed_word

if TYPE_CHECKING:
    from deviate.facts.overview import Unreadable
    from deviate.source.cells import Cell
    from deviate.store.folders import ExperimentFolder, Workspace

#: Experiments that are listed; `deviate list` has all.
LISTED = 5

#: Files of these names, or that begin or end with one of them, are likely to train.
TRAINING_NAMES = ("train", "main", "run", "fit")

#: How many folders deep such a script is looked for, and folders that hold none.
SEARCHED_DEEP = 2
ASIDE = ("tests", "test", "docs", "venv", "env", "build", "node_modules", "site_packages")


def standing_lines() -> list[str]:
    """Return at most twelve lines on the project around the current folder, and four where an experiment is damaged."""
    from deviate.facts.overview import overviews
    from deviate.store.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    found, unreadable = overviews(workspace)
    if found:
        return [*_with_experiments(workspace, found), *_unread(unreadable)]
    return _unread(unreadable) or _without(likely_scripts(Path.cwd()), len(_cells(workspace)))


def _unread(unreadable: Sequence[Unreadable]) -> list[str]:
    """Name the experiments that cannot be read, and say what to do about the first."""
    if not unreadable:
        return []
    first, *others = unreadable
    more = f", and {len(others)} more: deviate list" if others else ""
    return ["", f"{first.name} cannot be read{more}", f"  {first.problem}", f"  {first.hint}"]


def likely_scripts(folder: Path) -> list[str]:
    """Return the Python files in `folder` that look like a training's, the likeliest first.

    Where there is none, those in folders below it, such as ``tools/train_net.py``.
    """
    return _ranked([path.name for path in globbed(folder, "*.py")]) or _ranked(
        [
            str((inner / name).relative_to(folder))
            for inner, names in folders_below(
                folder, SEARCHED_DEEP, lambda name: name.isidentifier() and name not in ASIDE
            )
            for name in names
            if name.endswith(".py")
        ]
    )


def _ranked(scripts: Sequence[str]) -> list[str]:
    stems = {script: Path(script).stem.lower() for script in scripts}
    ranked = [name for word in TRAINING_NAMES for name, stem in stems.items() if _begins_or_ends(stem, word)]
    return list(dict.fromkeys(ranked))


def _begins_or_ends(stem: str, word: str) -> bool:
    return stem.startswith(word) or stem.endswith(word)


def _with_experiments(workspace: Workspace, overviews: Sequence[Mapping[str, Any]]) -> list[str]:
    from deviate.cli.list import lines, newest_first

    shown = lines(overviews, heads=True)[: LISTED + 1]
    newest, *others = newest_first(overviews)
    more = [f"… and {len(overviews) - LISTED} more: deviate list"] if len(overviews) > LISTED else []
    folder = workspace.experiment(newest["name"])
    completed = [workspace.experiment(each["name"]) for each in (newest, *others) if any(each["completed"].values())]
    commands = [*_reading(folder), *_run_commands(folder), *_comparing(workspace, completed)]
    return [*shown, *more, "", *_explained([*commands, ("deviate --help", "all commands")])]


def _comparing(workspace: Workspace, completed: Sequence[ExperimentFolder]) -> list[tuple[str, str]]:
    """Return the command that compares the cells of a grid that was run, else two experiments; none where neither is.

    `completed` are the experiments with completed runs, the newest first.
    """
    if grid := _grid_run(workspace, {folder.name for folder in completed}):
        return [(f"deviate compare {typed_word(grid)}", "which cell of the grid is best?")]
    pairs = combinations(completed[:LISTED], 2)
    if pair := next(((a.name, b.name) for b, a in pairs if _are_comparable(a, b)), None):
        return [(f"deviate compare {typed_line(pair)}", "is one better than the other?")]
    return []


def _grid_run(workspace: Workspace, completed: Collection[str]) -> str:
    """Return the first grid of ``deviate.toml`` that has two cells with completed runs; empty: none."""
    cells = _cells(workspace)
    run = Counter(cell.entry.name for cell in cells if cell.settings and cell.name in completed)
    return next((name for name, number in run.items() if number > 1), "")


def _cells(workspace: Workspace) -> list[Cell]:
    """Return the experiments that ``deviate.toml`` lists; none where it cannot be read."""
    from deviate.core.errors import BadConfig
    from deviate.source.cells import read_cells

    try:
        return read_cells(workspace.project)
    except BadConfig:
        # Every command that reads the file says what is wrong with it.
        return []


def _reading(folder: ExperimentFolder) -> list[tuple[str, str]]:
    """Return the command that reads what there is of an experiment: its runs, else why one of them failed."""
    if folder.completed_runs():
        return [(f"deviate report {typed_word(folder.name)}", "how much its runs differ")]
    failed = [run.run.folder for run in folder.runs() if run.is_done]
    return [(f"deviate logs {typed_word(folder.name)} {failed[0]}", "what a failed run printed")] if failed else []


def _are_comparable(a: ExperimentFolder, b: ExperimentFolder) -> bool:
    """Tell whether two experiments train with one script, or were imported, and report a number in common."""
    entries = {folder.read_experiment().entry for folder in (a, b) if folder.read_experiment().imported is None}
    first, second = (_finite(folder) for folder in (a, b))
    return len(entries) < 2 and (first is None or second is None or bool(first & second))


def _finite(folder: ExperimentFolder) -> set[str] | None:
    """Return the metrics whose last value in the first completed run is finite; None where it recorded none."""
    from deviate.store.records import read_progress

    names = [metric.name for metric in folder.read_experiment().metrics]
    _, values = read_progress(folder.completed_runs()[0], names)
    return {name for name, value in values.items() if math.isfinite(value)} if values else None


def _explained(commands: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each command, behind what it does: so that a long one can be copied."""
    from deviate.cli.list import aligned

    return aligned([(what, command) for command, what in commands])


def _run_commands(folder: ExperimentFolder) -> list[tuple[str, str]]:
    """Return the command that makes what is missing of an experiment, or more runs, and what it does."""
    import msgspec

    from deviate.facts.reproduce import run_command
    from deviate.report.words import count
    from deviate.store.run_files import Completed

    experiment = folder.read_experiment()
    if experiment.imported is not None:
        return []
    ended = [run for run in folder.runs() if run.is_done]
    failed = sum(not isinstance(run.read_outcome(), Completed) for run in ended)
    options = ["--name", folder.name, *(["--retry-failed"] if failed else [])]
    if failed:
        return [(run_command(experiment, *options), f"make the {count(failed, 'failed run')} again, same seeds")]
    if missing := sum(experiment.planned.values()) - len(ended):
        return [(run_command(experiment, *options), f"make the {count(missing, 'missing run')}")]
    doubled = {variant: 2 * runs for variant, runs in experiment.planned.items()}
    return [(run_command(msgspec.structs.replace(experiment, planned=doubled, until=None), *options), "add runs")]


def _without(scripts: Sequence[str], cells: int) -> list[str]:
    from deviate.report.words import count

    command = f"python {typed_word(scripts[0])}" if scripts else "python train.py"
    seen = f"Scripts that may train: {', '.join(scripts[:LISTED])}." if scripts else ""
    return [
        f"No experiment in this folder yet. {seen}".rstrip(),
        "",
        *_explained(
            [
                *([("deviate run", f"make the {count(cells, 'experiment')} that deviate.toml lists")] if cells else []),
                (f"deviate run -n 8 -- {command}", "train 8 times and report how much the metrics differ"),
                (f"deviate audit -- {command}", "list the sources of nondeterminism, before a long training"),
                (f"deviate init -- {command}", "show what a run would do, and write a deviate.toml to edit"),
                ("deviate doctor", "check this machine and its settings"),
                ("deviate --help", "all commands"),
            ]
        ),
    ]
