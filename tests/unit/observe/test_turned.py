"""The main loop is recognised by the lines that print, and counts the passes of what it prints itself."""

import numpy as np
import pytest
from made import make_experiment, make_run, write_process

from deviate.observe.iterations import Noted, Report, Site, by_passes, turned_loop
from deviate.observe.output.slots import mine_log
from deviate.observe.tables import open_tables

SOURCE = """\
from other import train, show
for seed in range(1):
    for epoch in range(9):
        train()
        print(epoch)
    for row in rows:
        show(row)
while True:
    print()
"""

OTHER = """\
def train():
    for batch in data:
        print(batch)
    print()


def show(row):
    print(row)
"""

EPOCH = (Site("train.py", 5),)
BATCH = (Site("train.py", 4), Site("other.py", 3))
AFTER_BATCHES = (Site("train.py", 4), Site("other.py", 4))
ROW = (Site("train.py", 7), Site("other.py", 8))


@pytest.fixture
def project(tmp_path):
    (tmp_path / "train.py").write_text(SOURCE)
    (tmp_path / "other.py").write_text(OTHER)
    return tmp_path


def loop_of(project, *stacks, seconds=1.0):
    found = turned_loop([Report(-2, at, at * seconds, sites) for at, sites in enumerate(stacks)], project)
    return found and (found.file, found.line, found.rounds)


@pytest.mark.parametrize(
    ("stacks", "expected"),
    [
        ([EPOCH, EPOCH, EPOCH], ("train.py", 3, 2)),
        ([BATCH, BATCH, EPOCH, BATCH, BATCH, EPOCH], ("train.py", 3, 1)),
        # Another line of the same pass comes between, so the outer loop went round.
        ([BATCH, AFTER_BATCHES, BATCH, AFTER_BATCHES], ("train.py", 3, 1)),
        ([BATCH, BATCH, BATCH], ("other.py", 2, 2)),
        # The loop over seeds was not seen to begin anew.
        ([EPOCH, EPOCH, ROW], ("train.py", 3, 1)),
        ([EPOCH, EPOCH, ROW, ROW, EPOCH, EPOCH], ("train.py", 2, 1)),
        ([(Site("train.py", 9),)] * 2, ("train.py", 8, 1)),
        ([EPOCH, ROW], None),
        ([(Site("gone.py", 3),)] * 2, None),
        ([], None),
    ],
)
def test_the_outermost_loop_that_goes_round(project, stacks, expected):
    assert loop_of(project, *stacks) == expected


def test_of_several_loops_it_is_the_one_that_takes_the_time(project):
    reports = [Report(-2, at, time, sites) for at, (time, sites) in
               enumerate([(0, EPOCH), (5, EPOCH), (5.1, ROW), (5.2, ROW), (5.3, ROW)])]  # fmt: skip
    assert turned_loop(reports, project).line == 3


LOG = b"start 1\nepoch 0 err 0.5\nvalid 0.7\nepoch 1 err 0.4\nepoch 2 err 0.3\nend 0.3\n"


def passes(direct, starts=(8, 34, 50)):
    noted = Noted(np.array(starts), np.array(direct), np.array([1.0, 2.0, 3.0]))
    series = mine_log(LOG, "stdout").series
    return {series[index].slot.name: places for index, places in by_passes(series, {"stdout": noted}).items()}


def test_what_the_loop_prints_in_each_pass_is_counted():
    found = passes([True, True, True])
    assert found.keys() == {"epoch", "err"}
    iterations, seconds = found["err"]
    assert (iterations.tolist(), seconds.tolist()) == ([0, 1, 2], [1.0, 2.0, 3.0])


def test_what_is_printed_elsewhere_too_has_no_pass():
    assert passes([True, False, True]) == {}


def test_what_is_printed_more_seldom_than_the_loop_goes_round_has_no_pass():
    assert passes([True, True, True], (8, 24, 34)).keys() == {"epoch", "err"}


def test_records_of_runs_without_a_main_loop_have_the_passes(tmp_path):
    experiment = make_experiment(tmp_path, [])
    experiment.snapshot.mkdir()
    (experiment.snapshot / "train.py").write_text("for epoch in range(3):\n    print()\n")
    for index in range(2):
        run = make_run(experiment, index, [])
        lines = [f"epoch {epoch} err {0.5 + index + epoch:.2f}\n" for epoch in range(3)]
        run.stdout_file.write_text("".join(lines))
        lines = [[-2, len(lines[0]) * epoch, epoch, 0] for epoch in range(3)]
        event = {"event": "reports", "stacks": [[["train.py", 2]]], "lines": lines}
        write_process(run, [], stem=f"{index}-1", events=[event])
    with open_tables(experiment) as tables:
        records = tables.records()
    assert records[records["run"] == 1]["iteration"].tolist() == [0, 1, 2]


def test_runs_that_printed_the_same_are_identical_whichever_process_took_longer(tmp_path):
    experiment = make_experiment(tmp_path, [])
    experiment.snapshot.mkdir()
    (experiment.snapshot / "train.py").write_text("for epoch in range(3):\n    print()\n")
    lines = [f"{name} err {0.5 + epoch:.2f}\n" for name in ("sgd", "adam") for epoch in range(3)]
    for index, pace in enumerate([(1, 2), (2, 1), (1, 2)]):
        run = make_run(experiment, index, [])
        last = "adam err 2.60\n" if index == 2 else lines[-1]
        run.stdout_file.write_text("".join([*lines[:-1], last]))
        for process, seconds in enumerate(pace):
            starts = [len("".join(lines[: 3 * process + epoch])) for epoch in range(3)]
            noted = [[-2, start, epoch * seconds, 0] for epoch, start in enumerate(starts)]
            event = {"event": "reports", "stacks": [[["train.py", 2]]], "lines": noted}
            write_process(run, [], stem=f"{index}-{process}", time=10.0 + 9 * process, events=[event])
    with open_tables(experiment) as tables:
        identity = tables.identities()["control"]
    assert identity.classes == [["control-0", "control-1"], ["control-2"]]
