"""Churn between two sets of runs, against loops and by property."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from made_predictions import LABELS

from deviate.stats.churn import churn, churn_between
from deviate.stats.pairs import METHOD_FEWER, between_groups, combined, corrected_interval, share_interval, within_group

SIDES = st.tuples(st.integers(2, 5), st.integers(2, 5), st.integers(1, 10)).flatmap(
    lambda shape: st.tuples(
        *(arrays.arrays(np.int64, (runs, shape[2]), elements=st.integers(0, 3)) for runs in shape[:2])
    )
)
OTHERS = np.where(np.arange(60) % 4 == 1, 2, LABELS[:3])


@given(SIDES)
def test_between_is_the_mean_over_pairs_across(sides):
    a, b = sides
    measured = churn_between(a, b)
    expected = np.mean([[np.mean(x != y) for y in b] for x in a])
    assert measured.between.value == pytest.approx(expected, abs=1e-12)
    assert measured.matrix.shape == (len(a), len(b)) == (measured.runs_a, measured.runs_b)
    assert measured.within_a == churn(a).mean
    assert measured.within_b == churn(b).mean
    assert measured.over_a.value == pytest.approx(expected - churn(a).mean.value, abs=1e-12)
    within = (churn(a).mean.value + churn(b).mean.value) / 2
    assert measured.excess.value == pytest.approx(expected - within, abs=1e-12)


@given(SIDES.filter(lambda sides: len(sides[0]) == len(sides[1])))
def test_of_paired_runs_those_of_different_pairs_count(sides):
    a, b = sides
    measured = churn_between(a, b, paired=True)
    across = [np.mean(a[i] != b[k]) for i in range(len(a)) for k in range(len(b)) if i != k]
    within = (churn(a).mean.value + churn(b).mean.value) / 2
    assert measured.between.value == pytest.approx(np.mean(across), abs=1e-12)
    assert measured.excess.value == pytest.approx(np.mean(across) - within, abs=1e-12)
    assert measured.paired == pytest.approx(np.mean([np.mean(x != y) for x, y in zip(a, b, strict=True)]), abs=1e-12)


def test_a_repeated_training_changes_as_much_as_training_again():
    measured, again = churn_between(LABELS, LABELS, paired=True), churn(LABELS)
    assert (measured.paired, measured.excess.value) == (0.0, 0.0)
    assert measured.between == again.mean
    with pytest.raises(ValueError, match="as many runs"):
        churn_between(LABELS, LABELS[:2], paired=True)


@given(SIDES)
def test_exchanging_the_sets_exchanges_the_numbers(sides):
    there, back = churn_between(*sides), churn_between(*reversed(sides))
    assert there.matrix.T.tolist() == back.matrix.tolist()
    assert there.within_a == back.within_b
    for name in ("between", "excess"):
        assert getattr(there, name).value == pytest.approx(getattr(back, name).value, abs=1e-12)
        first, second = (getattr(measured, name).interval for measured in (there, back))
        assert first.known == second.known
        if first.known:
            assert (first.low, first.high) == pytest.approx((second.low, second.high), abs=1e-9)


@pytest.mark.parametrize("name", ["between", "over_a", "excess"])
def test_intervals_leave_out_runs_of_both(name):
    whole = getattr(churn_between(LABELS, OTHERS), name)
    lefts = [
        np.array([getattr(churn_between(np.delete(LABELS, r, axis=0), OTHERS), name).value for r in range(4)]),
        np.array([getattr(churn_between(LABELS, np.delete(OTHERS, r, axis=0)), name).value for r in range(3)]),
    ]
    if name == "between":
        assert churn_between(LABELS, OTHERS).matrix.var(ddof=1) > whole.value * (1 - whole.value) / LABELS.shape[1]
        expected = share_interval(whole.value, *lefts, by_chance=False, as_wholes=METHOD_FEWER)
    else:
        weights = {"over_a": (1.0, 0.0), "excess": (0.5, 0.5)}[name]
        within = [within_group(churn(labels).matrix) for labels in (LABELS, OTHERS)]
        second = combined(between_groups(churn_between(LABELS, OTHERS).matrix), *zip(weights, within, strict=True))
        expected = corrected_interval(whole.value, *lefts, second=second)
    assert (whole.interval.low, whole.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_runs_of_one_recipe_have_no_excess_in_expectation():
    """The unbiased estimate scatters about 0, on both sides of it."""
    rng = np.random.default_rng(0)
    shares = rng.random(50)
    estimates = [churn_between(*(rng.random((2, 4, 50)) < shares)).excess.value for _ in range(150)]
    assert abs(np.mean(estimates)) < 4 * np.std(estimates) / np.sqrt(150)
    assert min(estimates) < 0 < max(estimates)


def test_what_one_run_cannot_tell_is_none_with_a_reason():
    single = churn_between(LABELS[:1], LABELS[1:])
    assert single.between.value == pytest.approx(churn(LABELS).matrix[0, 1:].mean())
    assert single.between.interval.reason == "an interval needs two runs or more in A and in B"
    assert (single.over_a.value, single.over_a.reason) == (None, "the churn within a set needs two runs of it")
    assert single.excess.value is None
    back = churn_between(LABELS[1:], LABELS[:1])
    assert back.over_a.value is not None
    assert not back.over_a.interval.known
    assert back.excess.value is None


def test_two_runs_a_side_have_an_interval_between_and_none_of_the_difference():
    measured = churn_between(LABELS[:2], LABELS[1:])
    assert measured.between.interval.known
    assert measured.over_a.interval.reason == "an interval over pairs needs three runs or more"


def test_both_sets_are_of_the_same_examples():
    with pytest.raises(ValueError, match="A has 60, B has 59"):
        churn_between(LABELS, LABELS[:, 1:])
