"""What is said of runs while they go on, a line each where no terminal shows bars."""

import io

import pytest
from rich.console import Console

from deviate.cli.live_screen import screen_lines
from deviate.cli.progress import Progress
from deviate.core.experiment import Capture, Experiment, MainLoop, Metric, Run
from deviate.runs.events import Begun, LeftToCluster, RunEnded, RunProgress, RunStarted
from deviate.runs.executors.executor import Slot
from deviate.store.run_files import Completed, Failed

METRICS = [
    Metric(name=name, variable=name, expression=name, file="train.py", line=9, end_line=9, function="<module>",
           sink="print", kind=kind, direction=direction, aggregate="last", confidence=0.9, why="", decimals=decimals,
           capture=Capture(how="value"))
    for name, kind, direction, decimals in (
        ("train loss", "loss", "lower", None),
        ("test acc", "quality", "higher", 2),
        ("train acc", "quality", "higher", 2),
    )
]  # fmt: skip


def begun(planned, jobs=1, **before):
    loop = MainLoop(file="train.py", line=5, variable="epoch", kind="for", why="", rounds=15)
    experiment = Experiment(
        name="base", command=["python", "train.py"], entry="train.py", metrics=METRICS, main_loop=loop, source="",
        seed=0, planned=planned, created="2026-03-01T12:00:00+00:00",
    )  # fmt: skip
    return Begun(experiment=experiment, jobs=jobs, values=before.get("values", {}))


def started(run, number, total, jobs=1):
    return RunStarted(run=run, slot=Slot(index=0), number=number, total=total, jobs=jobs)


def lines(planned, seconds, **ended):
    """Start and end runs of `planned` one after the other, each of which takes so many seconds."""
    now, text = [0.0], io.StringIO()
    progress = Progress(Console(file=text, width=60), clock=lambda: now[0])
    runs = [Run(variant=variant, index=index) for variant, count in planned.items() for index in range(count)]
    progress.observe(begun(planned))
    for number, run in enumerate(runs, 1):
        progress.observe(started(run, number, len(runs)))
        now[0] += seconds
        progress.observe(RunEnded(run=run, outcome=Completed(seconds=seconds, ended=""), **ended))
    return text.getvalue().splitlines()


@pytest.mark.parametrize(
    ("planned", "title", "first"),
    [
        ({"init": 2, "impl": 2}, "4 runs, 2 each of 2 kinds", "initialisation, run 0  1.0 s  (1 of 4)"),
        ({"init": 2, "impl": 1}, "3 runs", "initialisation, run 0  1.0 s  (1 of 3)"),
        ({"init": 2}, "2 runs", "run 0  1.0 s  (1 of 2)"),
    ],
)
def test_runs_are_counted_once_and_have_a_line_each(planned, title, first):
    head, *others = lines(planned, 1.0)
    assert head == f"base   python train.py   {title}"
    assert others[0] == first
    assert len(others) == sum(planned.values())


@pytest.mark.parametrize(("seconds", "left"), [(60.0, ["2 min", "60 s"]), (1.0, [])])
def test_the_time_left_is_said_where_it_is_long(seconds, left):
    _, first, second, third = lines({"init": 3}, seconds)
    about = [f", about {each} left" for each in left] or ["", ""]
    assert first.endswith(f"(1 of 3{about[0]})")
    assert second.endswith(f"(2 of 3{about[1]})")
    assert third.endswith("(3 of 3)")


def test_a_line_has_the_main_metric_with_the_decimals_of_the_program():
    # The main metric comes first.
    values = {"test acc": 87.6, "train loss": 0.25}
    assert lines({"init": 1}, 13.4, values=values)[1:] == ["run 0  13.4 s  test acc 87.60  (1 of 1)"]
    values = {"evaluate: f1": 0.5}
    assert lines({"init": 1}, 1.0, values=values, trained=False)[1:] == [
        "run 0  evaluated  evaluate: f1 0.5000  (1 of 1)"
    ]
    assert lines({"init": 1}, 1.0, trained=False)[1:] == ["run 0  evaluated  (1 of 1)"]


def test_a_run_that_failed_says_why():
    failed = Failed(seconds=2.0, exit_code=1, reason="it ended with status 1: ValueError")
    said = io.StringIO()
    progress = Progress(Console(file=said, width=60))
    run = Run(variant="init", index=0)
    for event in (begun({"init": 1}), started(run, 1, 1), RunEnded(run=run, outcome=failed)):
        progress.observe(event)
    assert said.getvalue().splitlines()[1:] == ["run 0  2.0 s  failed: it ended with status 1: ValueError  (1 of 1)"]


def shown(width):
    """Return the screen with three runs of eight done and two under way."""
    now = [0.0]
    progress = Progress(Console(file=io.StringIO(), width=width), clock=lambda: now[0])
    runs = [Run(variant="algo+impl", index=index) for index in range(8)]
    progress.observe(begun({"algo+impl": 8}, jobs=2))
    for number, (run, accuracy) in enumerate(zip(runs, (95.56, 96.22, 97.11), strict=False), 1):
        progress.observe(started(run, number, 8, jobs=2))
        ended = Completed(seconds=12.0, ended="")
        progress.observe(RunEnded(run=run, outcome=ended, values={"test acc": accuracy, "train loss": 0.5}))
    for place, (run, iteration, values) in enumerate(
        [(runs[3], 14, {"train loss": 0.25, "test acc": 94.67, "train acc": 87.6}),
         (runs[4], 1, {"train loss": 1.5, "test acc": 63.33, "train acc": 34.22})]
    ):  # fmt: skip
        progress.observe(started(run, 4 + place, 8, jobs=2))
        progress.observe(
            RunProgress(run=run, seconds=13 - 4 * place, iteration=iteration, values=values, reported=14 * (1 - place))
        )
    now[0] = 28.0
    return screen_lines(progress.runs.screen(progress.time), width)


def test_the_screen_of_runs_under_way():
    assert shown(100) == [
        "base   python train.py   8 runs, 2 at a time",
        "run 3  ██████████████████████████████  epoch 15/15  13 s  test acc 94.67  train acc 87.60",
        "run 4  ██                              epoch  1/15   9 s  test acc 63.33  train acc 34.22",
        "test acc so far  96.30 ± 0.78 (3 runs)   95.56 •·········•············• 97.11",
        "3 of 8 done, 2 running, 3 waiting   28 s   about 24 s left",
    ]
    assert shown(60) == [
        "base   python train.py   8 runs, 2 at a time",
        "run 3  ██████████  15/15  13 s  test acc 94.67",
        "run 4  █            1/15   9 s  test acc 63.33",
        "test acc so far  96.30 ± 0.78 (3 runs)",
        "3 of 8 done, 2 running   28 s   about 24 s left",
    ]


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
