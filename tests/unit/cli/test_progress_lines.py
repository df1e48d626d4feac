"""What is said of runs while they go on, a line each where no terminal shows bars."""

import io

import pytest
from rich.console import Console

from deviate.cli.progress import Progress
from deviate.core.experiment import Run
from deviate.runs.events import LeftToCluster, RunEnded, RunProgress, RunStarted
from deviate.runs.executors.executor import Slot
from deviate.runs.experiment_events import FactorsSeen
from deviate.store.run_files import Completed


def lines(planned, seconds, **ended):
    """Start and end runs of `planned` one after the other, each of which takes so many seconds."""
    now, text = [0.0], io.StringIO()
    progress = Progress(Console(file=text, width=60), clock=lambda: now[0])
    runs = [Run(variant=variant, index=index) for variant, count in planned.items() for index in range(count)]
    for number, run in enumerate(runs, 1):
        progress.observe(
            RunStarted(run=run, slot=Slot(index=0), number=number, total=len(runs), planned=planned),
        )
        now[0] += seconds
        progress.observe(RunEnded(run=run, outcome=Completed(seconds=seconds, ended=""), **ended))
    return text.getvalue().splitlines()


@pytest.mark.parametrize(
    ("planned", "heading"),
    [
        ({"init": 2, "impl": 2}, "4 runs: 2 variants (init and impl), 2 of each"),
        ({"init": 2, "impl": 1}, "3 runs: 2 of init and 1 of impl"),
        ({"init": 2}, "2 runs of init"),
    ],
)
def test_runs_are_counted_once_and_have_a_line_each(planned, heading):
    first, *others = lines(planned, 1.0)
    assert first == heading
    assert len(others) == sum(planned.values())


@pytest.mark.parametrize(("seconds", "left"), [(60.0, ["2 min", "60 s"]), (1.0, [])])
def test_the_time_left_is_said_where_it_is_long(seconds, left):
    _, first, second, third = lines({"init": 3}, seconds)
    about = [f", about {each} left" for each in left] or ["", ""]
    assert first.endswith(f"(1 of 3{about[0]})")
    assert second.endswith(f"(2 of 3{about[1]})")
    assert third.endswith("(3 of 3)")


def test_a_run_that_is_evaluated_later_shows_its_values_and_no_line_ends_in_blanks():
    values = {"test acc": 0.5, "evaluate: f1": 0.25}
    assert lines({"init": 1}, 1.0, values=values, trained=False)[1:] == [
        "✓ init-0  evaluated  test acc 0.5  evaluate: f1 0.25  (1 of 1)"
    ]
    assert lines({"init": 1}, 1.0, trained=False)[1:] == ["✓ init-0  evaluated  (1 of 1)"]


def test_one_run_is_one_run_and_no_time_is_left_after_the_last():
    progress = Progress(Console(file=io.StringIO()), clock=lambda: 5.0)
    progress.time.total = progress.time.ended = 1
    console = Console(file=io.StringIO(), width=60)
    console.print(progress._table())
    assert console.file.getvalue().split() == ["1", "of", "1", "run"]


def said(*events, width=80):
    file = io.StringIO()
    with Progress(Console(file=file, width=width)) as progress:
        for event in events:
            progress.observe(event)
    return file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("runs", "waiting", "cells", "line"),
    [
        (1, 2, 1, "1 run goes on in slurm without this command; 2 runs are not handed over yet: the same command goes "
                  "on; to end it, type"),
        (5, 2, 3, "5 runs of 3 cells go on in slurm without this command; 2 runs are not handed over yet: the same "
                  "command goes on; to end them, type"),
        (3, 0, 1, "3 runs go on in slurm without this command: the same command goes on; to end them, type"),
    ],
)  # fmt: skip
def test_what_is_left_to_a_cluster_is_counted(runs, waiting, cells, line):
    left = LeftToCluster(executor="slurm", runs=runs, cancel="scancel", waiting=waiting, cells=cells)
    assert said(left) == [line, "  scancel"]


@pytest.mark.parametrize(
    ("present", "line"),
    [
        (["init", "data"], "  randomness seen in: init, data"),
        ([], "  no draw was counted"),
    ],
)
def test_factors_are_named_where_randomness_is_seen(present, line):
    text = io.StringIO()
    event = FactorsSeen(run=Run(variant="algo", index=0), present=present)
    Progress(Console(file=text, width=80)).observe(event)
    assert text.getvalue().splitlines() == [line]


def test_values_of_runs_that_go_on_have_their_points_below_each_other():
    progress = Progress(Console(file=io.StringIO(), width=80))
    for index, (accuracy, loss) in enumerate([(100.0, 0.5), (99.72, 12.25), (8.125, -0.125)]):
        run = Run(variant="init", index=index)
        values = {"test acc": accuracy, "train loss": loss}
        progress.going[run] = RunProgress(run=run, iteration=1, seconds=1.0, values=values)
    shown = Console(file=io.StringIO(), width=80)
    shown.print(progress._table())
    rows = [line for line in shown.file.getvalue().splitlines() if "test acc" in line]
    assert len({tuple(place for place, sign in enumerate(row) if sign == ".") for row in rows}) == 1
    assert "99.7  train loss 12.25" in rows[1]
