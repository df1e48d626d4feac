"""What was printed is of the iteration that printed it."""

from __future__ import annotations

import numpy as np
import pytest
from made import make_experiment, make_run, write_process

from deviate.observe.iterations import read_timeline
from deviate.observe.processes import run_processes

TICK, STDOUT, STDERR = -1, -2, -3

#: Two iterations print: before the loop 10 bytes, in iteration 0 nothing, in 1 and 2 20 bytes each.
ROWS = [
    (TICK, 0, 1.0, 0.0), (STDOUT, 0, 1.0, 10.0), (TICK, 1, 2.0, 1.0), (TICK, 2, 3.0, 2.0), (STDOUT, 2, 3.0, 30.0),
]  # fmt: skip


def test_offsets_get_the_iteration_and_when_it_began(tmp_path):
    run = make_run(make_experiment(tmp_path, []), 0, ROWS)
    marks = read_timeline(run_processes(run)).marks
    iterations, seconds = marks["stdout"].at(np.array([0, 9, 10, 29, 30, 49]))
    assert iterations.tolist() == [-1, -1, 1, 1, 2, 2]
    assert seconds.tolist() == [0.0, 0.0, 2.0, 2.0, 3.0, 3.0]
    # Of standard error nothing was noted: it was all printed after the last look.
    assert marks["stderr"].at(np.array([0]))[0].tolist() == [2]


def test_without_a_loop_everything_is_before_it(tmp_path):
    run = make_run(make_experiment(tmp_path, []), 0, [(0, -1, 1.0, 0.5)])
    iterations, seconds = read_timeline(run_processes(run)).marks["stdout"].at(np.array([0, 1000]))
    assert (iterations.tolist(), seconds.tolist()) == ([-1, -1], [0.0, 0.0])


@pytest.mark.parametrize(("first", "longest"), [(ROWS, 0.0), (ROWS[:1], 5.0)])
def test_the_process_with_most_iterations_tells(tmp_path, first, longest):
    run = make_run(make_experiment(tmp_path, []), 0, first, time=10.0)
    write_process(run, [(TICK, 0, 1.0, 0.0), (TICK, 1, 2.0, 1.0), (STDOUT, 1, 2.0, 7.0)], stem="2-2", time=15.0)
    _, seconds = read_timeline(run_processes(run)).marks["stdout"].at(np.array([1000]))
    assert seconds.tolist() == [3.0 if not longest else 2.0 + longest]


def test_a_forked_child_that_goes_on_with_the_loop(tmp_path):
    rows = [(TICK, 5, 1.0, 5.0), (STDOUT, 5, 1.0, 10.0), (TICK, 6, 2.0, 6.0), (STDOUT, 6, 2.0, 20.0)]
    run = make_run(make_experiment(tmp_path, []), 0, rows)
    iterations, seconds = read_timeline(run_processes(run)).marks["stdout"].at(np.array([0, 10, 20]))
    assert iterations.tolist() == [4, 5, 6]
    assert seconds[1:].tolist() == [1.0, 2.0]
