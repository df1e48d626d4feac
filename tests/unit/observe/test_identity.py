"""Which runs reported the same, bit by bit, and where the first difference is."""

import math

import pytest
from made import make_experiment, make_run, metric, series

from deviate.observe.tables import open_tables
from deviate.report.topics.proof import place_text

TICK, ACC, LOSS = -1, 0, 1


def compared(tmp_path, *runs, metrics=None):
    """Return how far runs with these rows agree."""
    tmp_path.mkdir(exist_ok=True)
    folder = make_experiment(tmp_path, metrics or [metric("acc"), metric("loss")])
    for index, rows in enumerate(runs):
        make_run(folder, index, rows)
    with open_tables(folder) as tables:
        return tables.identities().get("control")


def interleaved(accs, losses):
    return sorted(series(ACC, accs) + series(LOSS, losses), key=lambda row: (row[1], -row[0]))


def test_one_run_is_compared_with_nothing(tmp_path):
    assert compared(tmp_path, series(ACC, [1.0])) is None


def test_equal_runs_are_identical_in_all_their_values(tmp_path):
    rows = interleaved([0.5, math.nan, 0.7], [3.0, 2.0, 1.0])
    found = compared(tmp_path, rows, rows, rows)
    assert found.identical
    assert found.values == 6
    assert found.classes == [["control-0", "control-1", "control-2"]]


def test_the_first_difference_is_the_one_reported_first(tmp_path):
    one = interleaved([0.5, 0.6, 0.7], [3.0, 2.0, 1.0])
    other = interleaved([0.5, 0.61, 0.7], [3.0, math.nextafter(2.0, 3), 1.0])
    (difference,) = compared(tmp_path, one, one, other).differences
    assert (difference.run, difference.other) == ("control-2", "control-0")
    assert (difference.metric, difference.iteration) == ("loss", 1)
    assert (difference.value, difference.other_value) == (math.nextafter(2.0, 3), 2.0)


def test_what_is_reported_before_the_main_loop_comes_first_though_it_is_one_value(tmp_path):
    runs = [[(LOSS, -1, 0.1, start), *series(ACC, [start, start])] for start in (0.5, 0.6)]
    (difference,) = compared(tmp_path, *runs).differences
    assert place_text(difference) == "loss before the main loop"


def test_zero_is_not_minus_zero_and_an_iteration_later_is_not_the_same(tmp_path):
    assert not compared(tmp_path / "a", series(ACC, [0.0]), series(ACC, [-0.0])).identical
    later = [(ACC, 1, 0.0, 0.5)]
    assert not compared(tmp_path / "b", series(ACC, [0.5]), later).identical


@pytest.mark.parametrize("swapped", [False, True])
def test_a_run_that_reports_less_differs_where_it_ends(tmp_path, swapped):
    runs = [series(ACC, [0.5, 0.6, 0.7]), series(ACC, [0.5, 0.6])]
    (difference,) = compared(tmp_path, *(reversed(runs) if swapped else runs)).differences
    assert difference.iteration == 2
    values = difference.other_value, difference.value
    assert values == ((None, 0.7) if swapped else (0.7, None))


def test_a_metric_that_one_run_lacks_is_a_difference(tmp_path):
    (difference,) = compared(tmp_path, series(ACC, [0.5]), interleaved([0.5], [1.0])).differences
    assert (difference.metric, difference.value, difference.other_value) == ("loss", 1.0, None)


def test_what_measures_the_machine_is_not_compared(tmp_path):
    metrics = [metric("acc"), metric("images/s", kind="speed")]
    found = compared(tmp_path, interleaved([0.5], [100.0]), interleaved([0.5], [101.0]), metrics=metrics)
    assert found.identical
    assert found.values == 1


def test_runs_are_put_together_by_what_they_reported(tmp_path):
    found = compared(tmp_path, *(series(ACC, [value]) for value in (0.5, 0.6, 0.5, 0.6, 0.7)))
    assert [len(group) for group in found.classes] == [2, 2, 1]
    assert len(found.differences) == 3


@pytest.mark.parametrize(("iterations", "placed"), [([0, 1, 2], True), ([2, 2, 2], False)])
def test_values_that_all_stand_in_one_iteration_may_have_been_written_after_the_loop(tmp_path, iterations, placed):
    ticks = [(TICK, 3, 0.5, 3.0)]
    runs = [
        [*ticks, *((LOSS, at, float(at), value + run) for at, value in zip(iterations, [3.0, 2.0, 1.0], strict=True))]
        for run in range(2)
    ]
    (difference,) = compared(tmp_path, *runs).differences
    assert (difference.metric, difference.placed) == ("loss", placed)


@pytest.mark.parametrize(("iteration", "text"), [(1, "in the 2nd iteration"), (2, "in or after the 3rd iteration")])
def test_what_differs_in_the_last_iteration_may_be_of_what_came_after_the_loop(tmp_path, iteration, text):
    accs = [0.5, 0.6, 0.7]
    others = [*accs[:iteration], 0.1, *accs[iteration + 1 :]]
    (difference,) = compared(tmp_path, series(ACC, accs), series(ACC, others)).differences
    assert difference.last is (iteration == 2)
    assert place_text(difference) == f"acc {text}"


@pytest.mark.parametrize(("first", "opening"), [(3, True), (1, False)])
def test_where_nothing_was_reported_before_it_a_difference_opens_what_was(tmp_path, first, opening):
    runs = [[(ACC, 1, 1.0, 0.5), (ACC, 3, 3.0, value), (ACC, 4, 4.0, value)] for value in (0.1, 0.2)]
    (difference,) = compared(tmp_path, *([row for row in run if row[1] >= first] for run in runs)).differences
    assert (difference.iteration, difference.opening) == (3, opening)
