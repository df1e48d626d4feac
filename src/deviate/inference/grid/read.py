"""Read the cells of a grid that ``deviate.toml`` lists, compare them, and record the look at them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from deviate.contrast.guards import FEWEST_RUNS
from deviate.contrast.sequential import look_levels, rounded_down
from deviate.errors import BadOption
from deviate.inference.comparison.options import ComparisonOptions, check_options, comparison_command
from deviate.inference.comparison.side import Side, read_sides, remember_typed
from deviate.inference.grid.compare import compare_cells
from deviate.inference.grid.facts import Grid, GridLook, MissingCell
from deviate.project.cells import AT, Cell, read_cells
from deviate.project.config import FILE_NAME
from deviate.replicate.environment.masking import mask_words
from deviate.replicate.workspace.folders import Workspace
from deviate.replicate.workspace.lock import locked_looks
from deviate.replicate.workspace.looks import ComparedSide, RecordedLooks, add_look, read_looks
from deviate.shell_words import typed_line


def names_grid(root: Path, names: Sequence[str]) -> bool:
    """Tell whether the words of ``deviate compare`` mean cells of ``deviate.toml``: none, or one of its experiments."""
    if len(names) > 1:
        return False
    cells = read_cells(root, _split(names[0])[0] if names else None)
    return len(cells) > 1 and (not names or names[0].partition(":")[0] != cells[0].name)


def _split(name: str) -> tuple[str, str]:
    before, _, variant = name.partition(":")
    return before, variant


def read_grid(workspace: Workspace, names: Sequence[str], options: ComparisonOptions) -> Grid:
    """Compare the cells of the experiments that ``deviate.toml`` lists; of one, ``NAME`` or ``NAME:VARIANT``.

    Raises
    ------
    BadOption
        If fewer than two cells have completed runs, or the options do not fit.
    """
    check_options(options)
    name, variant = _split(names[0]) if names else (None, "")
    cells = read_cells(workspace.project, name)
    present, missing = _present(workspace, cells)
    if len(present) < 2:
        what = f"cells of {name!r}" if name else f"cells of {FILE_NAME}"
        raise BadOption(
            f"{len(present)} of {len(cells)} {what} have completed runs", hint="make them with: deviate run"
        )
    with locked_looks(workspace):
        labels = [cell.name + (f":{variant}" if variant else "") for cell in present]
        sides = read_sides(workspace, labels, options.samples)
        before = _recorded(workspace, sides)
        command = typed_line(comparison_command(names, options))
        look = _look(sides, before, options.alpha)
        grid = compare_cells(present, sides, options, look, missing, command)
        remember_typed(workspace, sides, options.samples)
        return msgspec.structs.replace(grid, look=_record(workspace, before, sides, look))


def _present(workspace: Workspace, cells: Sequence[Cell]) -> tuple[list[Cell], list[MissingCell]]:
    """Return the cells that have completed runs of the command that the file says, and why the others have none."""
    stored = set(workspace.names())
    reasons = {}
    for cell in cells:
        folder = workspace.experiment(cell.name)
        if cell.name not in stored or not folder.completed_runs():
            reasons[cell.name] = "no run completed"
        elif folder.read_experiment().command != mask_words(cell.command):
            reasons[cell.name] = f"its runs were made with another command than {FILE_NAME} says now"
    present = [cell for cell in cells if cell.name not in reasons]
    return present, [MissingCell(experiment=name, reason=reason) for name, reason in reasons.items()]


def _recorded(workspace: Workspace, sides: Sequence[Side]) -> RecordedLooks:
    """Read the earlier looks at these cells, however they were named; other cells are another question."""
    made = "\n".join(_identity(side) for side in sides)
    grid = ComparedSide("grid", hashlib.sha256(made.encode()).hexdigest()[:24])
    return read_looks(workspace, grid, grid, "grid")


def _identity(side: Side) -> str:
    """Return what stays of a cell where it is renamed; results that were imported are known by their name alone."""
    return f"{side.experiment.partition(AT)[2] if side.created else side.experiment} {side.variant} {side.created}"


def _look(sides: Sequence[Side], before: RecordedLooks, alpha: float) -> GridLook:
    """Return what p must be below; the first look has all of alpha, and one at the same runs is no new one."""
    now = [side.completed for side in sides]
    runs = [look.runs_a for look in before.looks if look.runs_a != now]
    levels = look_levels([(sum(each), sum(each)) for each in [*runs, now]], alpha)
    return GridLook(number=len(levels), alpha=alpha if len(levels) == 1 else rounded_down(levels[-1]))


def _record(workspace: Workspace, before: RecordedLooks, sides: Sequence[Side], look: GridLook) -> GridLook:
    now = [side.completed for side in sides]
    # Where nothing could be claimed, nothing was looked at.
    if min(now) < FEWEST_RUNS or any(earlier.runs_a == now for earlier in before.looks):
        return look
    try:
        add_look(workspace, before, (now, now))
    except OSError as problem:
        return msgspec.structs.replace(look, unrecorded=problem.strerror or str(problem))
    return look
