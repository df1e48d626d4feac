"""Which runs are made, and in which order."""

from hypothesis import given
from hypothesis import strategies as st

from deviate.core.experiment import Run
from deviate.runs.todo import schedule

names = st.sampled_from(["control", "as-is", "algo+impl", "impl"])
plans = st.dictionaries(names, st.integers(1, 8), min_size=1)
seeds = st.integers(0, 2**32 - 1)


@given(plans, seeds)
def test_every_run_is_planned_once(planned, seed):
    listed = schedule(planned, set(), seed)
    assert len(listed) == len(set(listed))
    assert set(listed) == {Run(variant=name, index=index) for name in planned for index in range(planned[name])}


@given(plans, seeds)
def test_variants_are_interleaved_in_rounds(planned, seed):
    indices = [run.index for run in schedule(planned, set(), seed)]
    assert indices == sorted(indices)


@given(plans, seeds, st.data())
def test_what_is_done_is_left_out_and_the_order_stays(planned, seed, data):
    listed = schedule(planned, set(), seed)
    done = data.draw(st.sets(st.sampled_from(listed)))
    assert schedule(planned, done, seed) == [run for run in listed if run not in done]


@given(plans, names, st.integers(1, 12), seeds)
def test_more_runs_and_more_variants_keep_the_order_of_the_others(planned, name, runs, seed):
    grown = {**planned, name: max(runs, planned.get(name, 0))}
    before = schedule(planned, set(), seed)
    assert [run for run in schedule(grown, set(), seed) if run in set(before)] == before


def test_the_order_within_rounds_differs():
    listed = schedule(dict.fromkeys(["control", "as-is", "algo+impl"], 20), set(), 1)
    assert len({tuple(run.variant for run in listed[start : start + 3]) for start in range(0, 60, 3)}) > 1


def test_nothing_planned_is_nothing_to_do():
    assert schedule({}, set(), 1) == []
