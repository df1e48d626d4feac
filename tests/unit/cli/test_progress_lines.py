"""What is said of runs while they go on, a line each where no terminal shows bars."""

import io

import pytest
from rich.console import Console

from deviate.cli.progress import Progress
from deviate.experiment import Run
from deviate.replicate.events import LeftToCluster, RunEnded, RunStarted
from deviate.replicate.executors.executor import Slot
from deviate.replicate.workspace.run_files import Completed


def lines(planned, seconds):
    """Start and end runs of `planned` one after the other, each of which takes so many seconds."""
    now, text = [0.0], io.StringIO()
    progress = Progress(Console(file=text, width=200), clock=lambda: now[0])
    runs = [Run(variant=variant, index=index) for variant, count in planned.items() for index in range(count)]
    for number, run in enumerate(runs, 1):
        progress.observe(
            RunStarted(run=run, slot=Slot(index=0), number=number, total=len(runs), planned=planned),
        )
        now[0] += seconds
        progress.observe(RunEnded(run=run, outcome=Completed(seconds=seconds, ended="")))
    return [line for line in text.getvalue().splitlines() if "✓" not in line]


def test_several_variants_are_counted_before_the_first_run_starts():
    assert lines({"init": 2, "impl": 2}, 1.0)[0] == "4 runs: 2 variants (init and impl), 2 of each"
    assert lines({"init": 2, "impl": 1}, 1.0)[0] == "3 runs: 2 of init and 1 of impl"
    assert lines({"init": 2}, 1.0)[0] == "init-0 started (1 of 2)"


@pytest.mark.parametrize(("seconds", "left"), [(60.0, ", about 2 min 00 s left"), (1.0, "")])
def test_the_time_left_is_said_once_a_run_has_ended_and_where_it_is_long(seconds, left):
    first, second, third = lines({"init": 3}, seconds)
    assert first == "init-0 started (1 of 3)"
    assert second == f"init-1 started (2 of 3{left})"
    assert third.startswith("init-2 started (3 of 3")


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
