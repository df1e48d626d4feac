"""How long the rest of the runs will take: one estimate, whoever shows it."""

import pytest

from deviate.core.experiment import Run
from deviate.runs.events import RunEnded, RunProgress, RunShared, RunStarted, TimeLeft, seconds_left
from deviate.runs.executors.executor import Slot
from deviate.store.run_files import Completed, Failed


@pytest.mark.parametrize(
    ("took", "going", "waiting", "slots", "left"),
    [
        ([], [3.0], 2, 2, None),
        ([10.0], [], 0, 2, 0.0),
        ([10.0, 12.0], [5.0, 1.0], 0, 2, 10.0),
        # The one that waits begins where the first ends.
        ([10.0], [8.0, 2.0], 1, 2, 12.0),
        ([10.0], [8.0, 2.0], 2, 2, 18.0),
        # A slot that is free is used, and more may be under way than there are slots known of.
        ([10.0], [4.0], 1, 2, 10.0),
        ([10.0], [4.0, 4.0, 4.0], 1, 1, 16.0),
        # One that takes longer than all others may end at any moment.
        ([10.0], [25.0], 0, 1, 0.0),
    ],
)
def test_runs_under_way_count_as_far_as_they_are(took, going, waiting, slots, left):
    assert seconds_left(took, going, waiting, slots) == left


def test_the_runs_of_a_call_are_followed_with_those_made_before():
    now = [0.0]
    time = TimeLeft(lambda: now[0])

    def run(index):
        return Run(variant="init", index=index)

    def start(index, **changes):
        time.observe(RunStarted(run=run(index), slot=Slot(index=0), number=index + 1, total=5, jobs=2, **changes))

    start(0, took=[20.0, 20.0])
    start(1)
    assert time.left() == 60.0
    now[0] = 6.0
    time.observe(RunProgress(run=run(1), seconds=5.0, iteration=None, values={}))
    assert time.left() == pytest.approx(14.0 + 40.0)
    time.observe(RunShared(run=run(4), twin=run(0)))
    assert time.left() == pytest.approx(15.0 + 20.0)
    time.observe(RunEnded(run=run(0), outcome=Failed(seconds=6.0, reason="exit status 1")))
    time.observe(RunEnded(run=run(1), outcome=Completed(seconds=8.0)))
    assert (time.ended, time.total) == (2, 4)
    # What failed says nothing of how long a training takes.
    assert time.left() == pytest.approx((20.0 + 20.0 + 8.0) / 3)


def test_evaluations_of_runs_that_are_there_take_the_time_of_evaluations():
    now = [0.0]
    time = TimeLeft(lambda: now[0])
    for index in (0, 1):
        run = Run(variant="init", index=index)
        assert time.left() == (None if index == 0 else 6.0)
        time.observe(RunStarted(run=run, slot=Slot(index=0), number=index + 1, total=3))
        now[0] += 3.0
        time.observe(RunEnded(run=run, outcome=Completed(seconds=100.0), trained=False))
    assert time.left() == 3.0
