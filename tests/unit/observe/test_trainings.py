"""How often a run went through its main loop, and which iterations its processes counted."""

import pytest
from made import make_experiment, make_run, metric, read, series, write_process

from deviate.observe.iterations import read_timeline
from deviate.observe.processes import Trainings, run_processes, trainings_of
from deviate.observe.tables import open_tables

TICK = -1


def entry(item=None, number=1):
    return {"event": "loop", "number": number, "item": item}


def ticks(count, first=0):
    return [(TICK, first + step, 1.0 + step, float(first + step)) for step in range(count)]


def made(project, *processes):
    """Make a run of processes: when each started, what it recorded and how it entered its main loop."""
    folder = make_experiment(project, [metric("loss")])
    run = make_run(folder, 0)
    for number, (time, rows, events) in enumerate(processes):
        write_process(run, rows, stem=f"{number}-{number}", time=time, events=events)
    return folder, run


@pytest.mark.parametrize(
    ("processes", "expected"),
    [
        ([(10.0, ticks(3), [entry(0)])], Trainings(count=1)),
        ([(10.0, ticks(6), [entry(0), entry(0, 2)])], Trainings(count=2)),
        ([(10.0, ticks(6), [entry(None), entry(None, 2)])], Trainings(count=2)),
        # The second loop goes on where the first one ended.
        ([(10.0, ticks(6), [entry(0), entry(3, 2)])], Trainings(count=1)),
        # Of very many entries, not each is written.
        ([(10.0, ticks(6), [entry(0), entry(0, 64)])], Trainings(count=64)),
        ([(10.0, ticks(3), [entry(0)]), (20.0, ticks(3), [entry(0)])], Trainings(count=2)),
        ([(10.0, ticks(3), [entry(0)]), (20.0, ticks(3), [entry(3)])], Trainings(count=1)),
        ([(10.0, ticks(3), [entry(0)]), (11.0, ticks(3), [entry(0)])], Trainings(count=2, together=True)),
        ([(10.0, [], [])], Trainings()),
    ],
)
def test_trainings_are_counted(tmp_path, processes, expected):
    _, run = made(tmp_path, *processes)
    assert trainings_of(run_processes(run)) == expected


@pytest.mark.parametrize(
    ("item", "iterations"),
    # Another training, one that is resumed, one that does an iteration again which its checkpoint had not.
    [(0, [0, 1, 2, 3]), (2, [0, 1, 2, 3]), (1, [0, 1, 1, 2])],
)
def test_a_later_process_goes_on_counting(tmp_path, item, iterations):
    first, second = ([*ticks(2), *series(0, values)] for values in ([9.0, 8.0], [7.0, 6.0]))
    folder, run = made(tmp_path, (10.0, first, [entry(0)]), (20.0, second, [entry(item)]))
    with open_tables(folder, runs=read([run])) as tables:
        assert tables.records()["iteration"].tolist() == iterations
        assert tables.reports() == {"control": {"loss": [4]}}
        assert tables.looped == {"control": 4}
    assert read_timeline(run_processes(run)).clock.iterations.tolist() == [-1, *iterations]


def test_processes_side_by_side_count_their_own_iterations(tmp_path):
    rows = [*ticks(2), *series(0, [9.0, 8.0])]
    folder, run = made(tmp_path, (10.0, rows, [entry(0)]), (10.5, rows, [entry(0)]))
    with open_tables(folder, runs=read([run])) as tables:
        assert sorted(tables.records()["iteration"].tolist()) == [0, 0, 1, 1]


def test_a_forked_child_goes_on_counting_by_itself(tmp_path):
    _, run = made(tmp_path, (10.0, ticks(2), [entry(0)]), (20.0, ticks(2, first=2), [entry(None)]))
    assert read_timeline(run_processes(run)).clock.iterations.tolist() == [-1, 0, 1, 2, 3]
