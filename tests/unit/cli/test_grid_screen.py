"""The map of a grid whose runs go on."""

import io
import itertools

import pytest
from rich.console import Console
from test_progress_lines import begun, started

from deviate.cli.grid_screen import GridScreen
from deviate.cli.progress import Progress
from deviate.core.experiment import Run
from deviate.runs.events import RunEnded
from deviate.source.cells import Cell
from deviate.source.config import ExperimentEntry
from deviate.store.run_files import Completed

GRID = {"lr": [0.1, 0.2, 0.3], "batch": [32, 128]}


def cells(grid):
    entry = ExperimentEntry(name="digits", command="python train.py", grid=grid)
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        label = ",".join(f"{key}={value}" for key, value in settings.items())
        yield Cell(name=f"digits@{label}", entry=entry, command=["python", "train.py"], settings=settings)


def lines(width, grid=GRID):
    """Two cells have begun, with five runs each: one has ended three and makes one, the other makes one."""
    now, console = [0.0], Console(file=io.StringIO(), width=width)
    screen = GridScreen(list(cells(grid)), console, clock=lambda: now[0])
    runs = [Run(variant="algo+impl", index=index) for index in range(5)]
    first, second = (
        screen.follow(cell, Progress(console, clock=lambda: now[0], label=cell.label)) for cell in screen.cells[:2]
    )
    for observe in (first, second):
        observe(begun({"algo+impl": 5}, jobs=2))
    for number, value in enumerate((95.0, 96.0, 97.0), 1):
        first(started(runs[number - 1], number, 5, jobs=2))
        now[0] += 10
        outcome = Completed(seconds=10.0, ended="")
        first(RunEnded(run=runs[number - 1], outcome=outcome, values={"test acc": value}))
    first(started(runs[3], 4, 5, jobs=2))
    second(started(runs[0], 1, 5, jobs=2))
    return screen.lines()


def test_the_cells_lie_in_rows_and_columns_with_what_they_show_so_far():
    assert lines(60) == [
        "digits   6 cells × 5 runs, 2 at a time",
        "test acc  batch 32     batch 128",
        "lr 0.1    96.00 ●●●◐○  ◐○○○○",
        "lr 0.2    ○○○○○        ○○○○○",
        "lr 0.3    ○○○○○        ○○○○○",
        "3 of 30 done, 2 running   30 s   about 2 min left",
    ]


@pytest.mark.parametrize(("width", "grid"), [(30, GRID), (60, {"lr": [0.1, 0.2, 0.3]})])
def test_without_room_for_a_map_the_cells_that_go_on_are_listed(width, grid):
    _, first, second, _ = lines(width, grid)
    assert first.startswith("lr 0.1")
    assert first.endswith("96.00 ●●●◐○")
    assert second.endswith("◐○○○○")
