"""What is said of runs while they go on, a line each where no terminal is."""

import io

import pytest
from rich.console import Console

from deviate.cli.progress import Progress
from deviate.replicate.events import LeftToCluster


def said(*events, width=80):
    file = io.StringIO()
    with Progress(Console(file=file, width=width)) as progress:
        for event in events:
            progress.observe(event)
    return file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("runs", "waiting", "line"),
    [
        (1, 2, "1 run goes on in slurm without this command; 2 runs are not handed over yet: the same command goes on; "
               "to end it, type"),
        (3, 0, "3 runs go on in slurm without this command: the same command goes on; to end them, type"),
    ],
)  # fmt: skip
def test_what_is_left_to_a_cluster_is_counted(runs, waiting, line):
    assert said(LeftToCluster(executor="slurm", runs=runs, cancel="scancel", waiting=waiting)) == [line, "  scancel"]
