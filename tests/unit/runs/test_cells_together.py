"""Cells that wait for a cluster are followed side by side, those of this machine made one after another."""

import os
import signal
from contextlib import nullcontext
from functools import partial

import pytest

from deviate.core.errors import BadOption
from deviate.core.interrupts import listening
from deviate.runs import cells as module
from deviate.runs.cells import _make_all, _Making, make_cells
from deviate.runs.events import Idle, LeftToCluster
from deviate.runs.executors.executor import Places
from deviate.runs.request import Request
from deviate.store.folders import Workspace

IDLE = Idle(seconds=0.0)


@pytest.fixture
def log():
    return []


def making(log, name, steps, runs=2, width=None):
    def events():
        with listening() as stop:
            for step in steps:
                log.append(f"{name}{step}")
                if isinstance(step, Exception):
                    raise step
                yield IDLE
                if stop.count:
                    log.append(f"{name} left")
                    break
        if stop.count:
            raise KeyboardInterrupt

    return _Making(
        None, Request(command=["sh"], runs=runs, variants=("algo",)), width, lambda: nullcontext(log.append), events
    )


def test_all_cells_are_handed_over_before_one_is_waited_for(log):
    _make_all([making(log, name, "12") for name in "abc"])
    assert log[:5] == ["a1", "a2", "b1", "b2", "c1"]
    assert log.index("c1") < len(log) - 1


def test_a_cell_that_never_waits_ends_before_the_next_begins(log):
    def events():
        yield from ("begin", "end")

    request = Request(command=["sh"], runs=2, variants=("algo",))
    _make_all([_Making(None, request, None, lambda: nullcontext(log.append), events) for _ in range(2)])
    assert log == ["begin", "end"] * 2


def test_no_more_runs_go_on_at_a_time_than_the_user_allows(log):
    _make_all([making(log, name, "123", width=4) for name in "abc"])
    assert log.index("b1") < log.index("a3") < log.index("c1")
    log.clear()
    _make_all([making(log, name, "123", runs=8, width=4) for name in "ab"])
    assert log == ["a1", "a2", "a3", "b1", "b2", "b3"]


def test_a_cell_that_fails_leaves_the_others_going(log):
    cells = [making(log, "a", [1, BadOption("no", hint="")]), making(log, "b", [1, 2, 3])]
    _make_all(cells)
    assert "b3" in log
    assert str(cells[0]._problem) == "no"


def test_ctrl_c_reaches_every_cell_and_begins_no_other(log):
    def press():
        os.kill(os.getpid(), signal.SIGINT)
        yield IDLE

    request = Request(command=["sh"], runs=2, variants=("algo",))
    pressing = _Making(None, request, None, lambda: nullcontext(log.append), press)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        _make_all([making(log, "a", "1234"), making(log, "b", "1234"), pressing, making(log, "c", "12")])
    assert {"a left", "b left"} <= set(log)
    assert "c1" not in log
    assert signal.getsignal(signal.SIGINT) is before


GRID = """
executor = "slurm"
[[experiment]]
name = "g"
command = "sh go.sh {lr}"
n = 4
[experiment.grid]
lr = [1, 2, 3]
"""


def test_what_cells_leave_to_a_cluster_is_said_once_with_one_line_that_ends_it(log, tmp_path, monkeypatch):
    """Two cells have handed two of their four runs over when Ctrl-C comes, the third has not begun."""
    (tmp_path / "deviate.toml").write_text(GRID)

    def study(request, referee, engines):
        name = request.name.replace("@lr=", "-")
        known = engines.known(request, Workspace(tmp_path).experiment(request.name))
        yield from (IDLE, IDLE)
        names = frozenset({name})
        yield LeftToCluster(executor="slurm", address=known.engine.address, runs=2, waiting=2, submissions=names,
                            cancel=known.engine.cancel_words(names))  # fmt: skip
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "study", study)
    left = []
    request = Request(command=[], here=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        make_cells(request, {"executor": "slurm", "jobs": 8}, lambda *_: nullcontext(log.append), leave=left.append)
    assert log == []
    (said,) = left
    assert (said.cells, said.runs, said.waiting) == (2, 4, 8)
    assert said.cancel == "scancel --me --name=deviate-g-1,deviate-g-2"


def test_who_listens_may_end_in_any_order():
    before = signal.getsignal(signal.SIGINT)
    first, second = listening(), listening()
    one = first.__enter__()
    os.kill(os.getpid(), signal.SIGINT)
    two = second.__enter__()
    first.__exit__(None, None, None)
    os.kill(os.getpid(), signal.SIGINT)
    second.__exit__(None, None, None)
    assert (one.count, two.count) == (1, 2)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_cell_on_this_machine_begins_where_others_leave_a_slot_free(log):
    places = Places(shared=True)

    def events(name, slots):
        for slot in slots:
            places.take(slot, 2)
        log.append(f"{name} runs")
        yield from [IDLE] * 3
        for slot in slots:
            places.leave(slot)
        log.append(f"{name} ended")

    request = Request(command=["sh"], runs=2, variants=("algo",))
    cells = [("a", [0]), ("b", [1]), ("c", [0])]
    quiet = partial(nullcontext, log.append)
    _make_all([_Making(None, request, 2, quiet, partial(events, *cell), places) for cell in cells])
    assert log == ["a runs", "b runs", "a ended", "b ended", "c runs", "c ended"]


def test_runs_with_another_share_of_the_machine_wait():
    places = Places()
    places.take(0, 2)
    assert places.free(2) == 1
    assert places.free(4) is None
    places.leave(0)
    assert places.free(4) == 0
