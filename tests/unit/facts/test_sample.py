"""What enters a sample, and what is excluded from it."""

import math

from hypothesis import given
from hypothesis import strategies as st

from deviate.core.experiment import Experiment
from deviate.facts.run import RunResult
from deviate.facts.samples import DEFAULTS, Bar, SampleOptions, samples_of
from deviate.observe.metrics import MeasuredMetric, SampleRow

ACCURACY = MeasuredMetric(name="test acc", aggregate="last", direction="higher", kind="quality")

EXPERIMENT = Experiment(
    name="e", command=["python", "t.py"], entry="t.py", main_loop=None, source="", seed=3, created="", metrics=[],
    planned={"algo": 1},
)  # fmt: skip


def sampled(values, options=DEFAULTS):
    runs = [RunResult(variant="algo", index=index, status="completed") for index in range(len(values))]
    rows = [SampleRow("algo", index, "test acc", "last", value) for index, value in enumerate(values)]
    return samples_of(rows, runs, {"test acc": ACCURACY}, EXPERIMENT, options)


@given(st.lists(st.floats(), min_size=1))
def test_excluding_loses_no_run(values):
    (sample,) = sampled(values)
    left = [each.run for each in sample.excluded]
    assert sorted([*sample.runs, *left]) == list(range(len(values)))
    assert all(math.isfinite(value) for value in sample.values)
    assert not any(math.isfinite(values[run]) for run in left)
    assert [values[run] for run in sample.runs] == sample.values
    assert sample.without_value == len(left)


@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0, 100))
def test_weak_runs_are_excluded_with_the_rule_and_kept_beside(values, bar):
    (sample,) = sampled(values, SampleOptions(weak=(Bar("test acc", "<", bar),)))
    weak = [each.run for each in sample.excluded if each.weak]
    assert weak == [run for run, value in enumerate(values) if value < bar]
    assert sample.without_value == 0
    if weak:
        assert sample.including_weak.values == values
    else:
        assert sample.including_weak is None
