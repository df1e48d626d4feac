"""``deviate`` alone: where a project stands, and what to type next."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deviate.core.errors import DeviateError
from deviate.core.factors import DEFAULT_VARIANT, main_variant
from deviate.core.paths import folders_below, globbed
from deviate.core.shell_words import typed_line, typed_word

if TYPE_CHECKING:
    from deviate.core.experiment import Experiment
    from deviate.facts.overview import Standing, Unreadable
    from deviate.source.cells import Cell
    from deviate.store.folders import ExperimentFolder, Workspace
    from deviate.store.looks import ComparedSide

#: Experiments that are listed; `deviate list` has all. Commands that are shown at most, and scripts that are named.
LISTED, STEPS, SCRIPTS_NAMED = 10, 3, 3

#: Runs of a recipe that are suggested at least.
FIRST_LOOK = 8

#: What a file has in it that trains: gradients, steps of an optimiser, fits.
_TRAINS = re.compile(
    rb"\.backward\(|optimizer\.step\(|\.fit\(|\.partial_fit\(|apply_gradients|value_and_grad|train_one_epoch|"
    rb"\.train_on_batch\(|for epoch in|Trainer\("
)

#: What a file has in it that reads options, or leaves that to a file of the project.
_READS_OPTIONS = re.compile(
    rb"argv|arg_?parse|parse_args|click|fire|typer|hydra|docopt|absl|tyro|\.ya?ml|\.toml|\.json|gin\.|from \."
)

#: Bytes of a file that are read for it, and files that are read.
READ, MOST_READ = 200_000, 200

#: Files of these names, or that begin or end with one of them, are likely to train.
TRAINING_NAMES = ("train", "main", "run", "fit")

#: How many folders deep such a script is looked for, and folders that hold none.
SEARCHED_DEEP = 4
ASIDE = ("tests", "test", "docs", "venv", "env", "build", "node_modules", "site_packages")


def standing_lines() -> list[str]:
    """Return the experiments of the project around the current folder, and at most three commands that come next."""
    from deviate.facts.overview import overviews
    from deviate.store.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    found, unreadable = overviews(workspace)
    if found:
        return [*_with_experiments(workspace, found), *_unread(unreadable)]
    return _unread(unreadable) or _without(likely_scripts(Path.cwd()), len(_cells(workspace)))


def _unread(unreadable: Sequence[Unreadable]) -> list[str]:
    if not unreadable:
        return []
    first, *others = unreadable
    more = f", and {len(others)} more: deviate list" if others else ""
    return ["", f"{first.name} cannot be read{more}", f"  {first.problem}", f"  {first.hint}"]


def likely_scripts(folder: Path) -> list[str]:
    """Return the Python files in `folder` that look like a training's, the likeliest first.

    That is so by what is in them, then by what they are called. Where there is none, those in folders below it are
    returned, such as ``tools/train_net.py``.
    """
    return _ranked(folder, [path.name for path in globbed(folder, "*.py")]) or _ranked(
        folder,
        [
            str((inner / name).relative_to(folder))
            for inner, names in folders_below(
                folder, SEARCHED_DEEP, lambda name: name.isidentifier() and name not in ASIDE
            )
            for name in names
            if name.endswith(".py")
        ],
    )


def _ranked(folder: Path, scripts: Sequence[str]) -> list[str]:
    """Sort files by whether they train, whether they are started as scripts, and by their names; leave others out."""
    ranks = [rank for script in scripts[:MOST_READ] if (rank := _rank(folder, script)) is not None]
    return [script for *_, script in sorted(ranks)]


def _rank(folder: Path, script: str) -> tuple[bool, int, bool, int, str] | None:
    stem = Path(script).stem.lower()
    named = next((at for at, word in enumerate(TRAINING_NAMES) if _begins_or_ends(stem, word)), len(TRAINING_NAMES))
    content = b""
    with suppress(OSError), (folder / script).open("rb") as file:
        content = file.read(READ)
    trains, starts = _TRAINS.search(content) is not None, b"__main__" in content
    is_named = named < len(TRAINING_NAMES)
    if not (trains or is_named):
        return None
    # One that is called after training may start it in another file.
    return not is_named, named if is_named else 0, not (trains or starts), script.count(os.sep), script


def _begins_or_ends(stem: str, word: str) -> bool:
    return stem.startswith(word) or stem.endswith(word)


def _with_experiments(workspace: Workspace, overviews: Sequence[Mapping[str, Any]]) -> list[str]:
    from deviate.cli.board import newest_first, project_board

    newest = newest_first(overviews)[:LISTED]
    more = [f"{len(overviews) - LISTED} more: deviate list"] if len(overviews) > LISTED else []
    return [*project_board(workspace, newest), *more, "", *next_steps(workspace, overviews)]


def next_steps(workspace: Workspace, overviews: Sequence[Mapping[str, Any]], most: int = STEPS) -> list[str]:
    """Return the commands that come next in a project, each behind the question that it answers."""
    from deviate.cli.board import newest_first
    from deviate.cli.printing import steps as printed

    newest, *others = newest_first(overviews)
    folder = workspace.experiment(newest["name"])
    completed = [workspace.experiment(each["name"]) for each in (newest, *others) if any(each["completed"].values())]
    grid = _grid_run(workspace, {folder.name for folder in completed})
    steps = [
        *(
            ("what are they doing?", f"deviate watch {typed_word(each['name'])}")
            for each in overviews
            if each["running"]
        ),
        *(_failed(folder) if not folder.has_completed() else []),
        *([] if newest["running"] else _missing_runs(folder)),
        *(
            _best_cell(workspace, grid, completed)
            or _two_recipes([each for each in completed if not _is_in(each, grid)])
        ),
        *_second(completed),
        *_report(folder),
        *(_plan(completed[-1]) if completed[1:] else []),
    ]
    return printed(steps[:most])


def _report(folder: ExperimentFolder) -> list[tuple[str, str]]:
    if not folder.has_completed():
        return []
    return [(f"how much do runs of {folder.name} differ?", f"deviate report {typed_word(folder.name)}")]


def _plan(folder: ExperimentFolder) -> list[tuple[str, str]]:
    """Return the command that plans with the first metric that differs between runs."""
    from deviate.cli.board import main_standings
    from deviate.facts.overview import summary_of

    standings: list[Standing] = []
    with suppress(DeviateError):
        # Where a variant has to be named, `plan` asks for it.
        if main_variant(folder.read_experiment().planned):
            standings = main_standings(summary_of(folder))
    differing = [each.name for each in standings if each.sd and each.kind != "speed"]
    if not differing:
        return []
    metric = "" if differing[0] == standings[0].name else f" --metric {typed_word(differing[0])}"
    return [("how many runs show less?", f"deviate plan {typed_word(folder.name)}{metric}")]


def following(folder: ExperimentFolder) -> list[tuple[str, str]]:
    """Return what comes next of an experiment whose runs all completed: a comparison with another recipe, or one."""
    from deviate.core.experiment import AT
    from deviate.store.folders import Workspace

    experiment, ended = folder.read_experiment(), len(folder.completed_runs())
    planned = max(sum(experiment.planned.values()), len(folder.runs()))
    if set(experiment.planned) != {DEFAULT_VARIANT} or ended < planned:
        return []
    if ended == 1:
        more = typed_line(["deviate", "run", "-n", str(FIRST_LOOK), "--name", folder.name, "--", *experiment.command])
        return [("how much do runs differ?", more)]
    workspace = Workspace(folder.project)
    others = []
    for name in workspace.names():
        # One that cannot be read is named where experiments are listed.
        with suppress(DeviateError):
            other = workspace.experiment(name)
            its = other.read_experiment()
            if (its.entry, [*its.planned]) == (experiment.entry, [DEFAULT_VARIANT]) and name != folder.name:
                others += [(AT not in name, datetime.fromisoformat(its.created).astimezone(), name, other)]
    completed = [folder, *(recipe for *_, recipe in sorted(others, reverse=True) if recipe.has_completed())]
    return _two_recipes(completed) or _second(completed) or _plan(folder)


def _second(completed: Sequence[ExperimentFolder]) -> list[tuple[str, str]]:
    """Return what makes a second recipe, and what tells what sources do, where there is one experiment of a script."""
    if not completed or (experiment := completed[0].read_experiment()).imported is not None:
        return []
    if any(other.read_experiment().entry == experiment.entry for other in completed[1:]):
        return []
    command, runs = typed_line(experiment.command), _enough(experiment)
    script = completed[0].project / experiment.entry
    edited = script.is_file() and _READS_OPTIONS.search(script.read_bytes()) is None
    return [
        (
            f"is another recipe better?{f' edit {experiment.entry}, then' if edited else ''}",
            f"deviate run -n {runs} --name NAME -- {command}{'' if edited else ' …'}",
        ),
        *([("how much does each source matter?", why_command(experiment))] if len(experiment.planned) == 1 else []),
    ]


def why_command(experiment: Experiment) -> str:
    """Return the command that makes runs of each source of the randomness of an experiment."""
    options = ["-n", str(_enough(experiment)), "--name", f"{experiment.name}-why", "--vary", "sources"]
    return typed_line(["deviate", "run", *options, "--", *experiment.command])


def _enough(experiment: Experiment) -> int:
    return max(*experiment.planned.values(), FIRST_LOOK)


def _is_in(folder: ExperimentFolder, grid: str) -> bool:
    from deviate.core.experiment import AT

    return bool(grid) and folder.name.startswith(f"{grid}{AT}")


def _best_cell(workspace: Workspace, grid: str, completed: Sequence[ExperimentFolder]) -> list[tuple[str, str]]:
    if not grid:
        return []
    known = {folder.name: folder for folder in completed}
    cells = [
        _compared_by(known[cell.name])
        for cell in _cells(workspace)
        if cell.entry.name == grid and cell.name in known and cell.is_of(known[cell.name].read_experiment())
    ]
    if len(cells) < 2 or not all(runs for _, runs in cells) or _is_compared(workspace, cells):
        return []
    return [("which cell of the grid is best?", f"deviate compare {typed_word(grid)}")]


def _is_compared(workspace: Workspace, cells: Sequence[tuple[ComparedSide, list[int]]]) -> bool:
    """Tell whether the cells of a grid, as `_compared_by` gives them, were compared with the runs that they have."""
    from deviate.store.looks import grid_side, read_looks

    side, numbers = grid_side(each for each, _ in cells), [len(runs) for _, runs in cells]
    # Comparing the grid again says what is wrong with a damaged file.
    with suppress(DeviateError):
        return any(look.runs_a == numbers for look in read_looks(workspace, side, side, "grid").looks)
    return False


def _two_recipes(completed: Sequence[ExperimentFolder]) -> list[tuple[str, str]]:
    """Return the command that compares two recipes of those with completed runs; none where there are not two.

    None either where both were compared with the runs that they have: each further look makes a claim harder.
    The first of `completed` is one of them if it can be. The worse one is typed first.
    """
    known = {folder.name: folder.read_experiment() for folder in completed[:LISTED]}
    usable = [folder for folder in completed[:LISTED] if _compared_by(folder)[1]]
    # One that has several kinds of variation is there to tell why runs differ.
    whole = sorted(usable, key=lambda folder: len(known[folder.name].planned) > 1)
    pairs = list(combinations(whole, 2))
    # Experiments of one command differ in what varied, if in anything.
    others = [(a, b) for b, a in pairs if known[a.name].command != known[b.name].command]
    same = [(a, b) for b, a in pairs if known[a.name].command == known[b.name].command]
    pair = next((pair for pair in [*others, *same] if _are_comparable(*pair)), None)
    if pair is None or _are_compared(*pair):
        return []
    worse, better = (each.name for each in _by_value(*pair))
    return [(f"is {better} better than {worse}?", f"deviate compare {typed_line((worse, better))}")]


def _are_compared(*pair: ExperimentFolder) -> bool:
    """Tell whether each completed run of both experiments was compared with those of another."""
    from deviate.store.folders import Workspace
    from deviate.store.looks import comparisons

    seen = {
        (side, run)
        for looks in comparisons(Workspace(pair[0].project))
        for look in looks.looks
        for side, runs in ((looks.a, look.runs_a), (looks.b, look.runs_b))
        for run in runs
    }
    return all((side, run) in seen for side, runs in map(_compared_by, pair) for run in runs)


def _compared_by(folder: ExperimentFolder) -> tuple[ComparedSide, list[int]]:
    """Return the variant that an experiment is compared by, as comparisons record it, and its completed runs.

    There are none where a comparison would have to name a variant.
    """
    from deviate.store.looks import ComparedSide

    experiment = folder.read_experiment()
    main = main_variant(experiment.planned)
    side = ComparedSide(folder.name, main or "", "" if experiment.imported else experiment.created)
    return side, [each.run.index for each in folder.completed_runs() if each.run.variant == main]


def _by_value(*pair: ExperimentFolder) -> tuple[ExperimentFolder, ...]:
    """Return two experiments, the one with the better mean of the main metric last."""
    from deviate.cli.board import main_standings
    from deviate.facts.overview import summary_of

    try:
        first, second = (main_standings(summary_of(each))[:1] for each in pair)
    except DeviateError:
        return pair
    if not (first and second) or first[0].mean is None or second[0].mean is None or first[0].name != second[0].name:
        return pair
    is_better = first[0].mean > second[0].mean
    return pair[::-1] if is_better != (first[0].direction == "lower") else pair


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


def _failed(folder: ExperimentFolder) -> list[tuple[str, str]]:
    failed = [run.run.folder for run in folder.runs() if run.is_done]
    name = typed_word(folder.name)
    return [(f"why did {folder.name} fail?", f"deviate logs {name} {failed[0]}")] if failed else []


def _are_comparable(a: ExperimentFolder, b: ExperimentFolder) -> bool:
    """Tell whether two experiments train with one script, or were imported, and report a number in common.

    A number that stands for a run in one way is not compared with one that does in another.
    """
    experiments = [folder.read_experiment() for folder in (a, b)]
    entries = {experiment.entry for experiment in experiments if experiment.imported is None}
    one, other = ({metric.name: metric.aggregate for metric in experiment.metrics} for experiment in experiments)
    if len(entries) > 1 or any(one[name] != other[name] for name in one.keys() & other.keys()):
        return False
    first, second = (_finite(folder) for folder in (a, b))
    return first is None or second is None or bool(first & second)


def _finite(folder: ExperimentFolder) -> set[str] | None:
    """Return the metrics whose last value in the first completed run is finite; None where it recorded none."""
    from deviate.store.records import read_progress

    names = [metric.name for metric in folder.read_experiment().metrics]
    values = read_progress(folder.completed_runs()[0], names).values
    return {name for name, value in values.items() if math.isfinite(value)} if values else None


def _missing_runs(folder: ExperimentFolder) -> list[tuple[str, str]]:
    from deviate.facts.side import run_command
    from deviate.report.words import count
    from deviate.store.run_files import Completed

    experiment = folder.read_experiment()
    if experiment.imported is not None:
        return []
    ended = [run for run in folder.runs() if run.is_done]
    failed = sum(not isinstance(run.read_outcome(), Completed) for run in ended)
    options = ["--name", folder.name, *(["--retry-failed"] if failed else [])]
    if failed:
        return [(f"make the {count(failed, 'failed run')} again:", run_command(experiment, *options))]
    missing = sum(experiment.planned.values()) - len(ended)
    return [(f"make the {count(missing, 'missing run')}:", run_command(experiment, *options))] if missing > 0 else []


def _without(scripts: Sequence[str], cells: int) -> list[str]:
    from deviate.cli.printing import steps as printed
    from deviate.report.words import count

    command = f"python {typed_word(scripts[0])}" if scripts else "python train.py"
    named = f" {scripts[0]} seems to train." if scripts else ""
    more = f" Or {', '.join(scripts[1:SCRIPTS_NAMED])}?" if scripts[1:] else ""
    steps = [
        *([(f"make the {count(cells, 'experiment')} of deviate.toml:", "deviate run")] if cells else []),
        ("is the right number measured?", f"deviate extract -- {command}"),
        ("how much do runs differ?", f"deviate run -n 8 -- {command}"),
        ("what is random in it?", f"deviate audit -- {command}"),
    ]
    return [f"No experiment here yet.{named}{more}", "", *printed(steps[:STEPS]), "all commands: deviate --help"]
