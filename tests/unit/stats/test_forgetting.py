"""Forgetting events, against a loop over passes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deviate.stats.predictions import forgetting, forgetting_spread


@given(arrays.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 6))))
def test_it_is_what_following_each_example_gives(correct):
    run = forgetting(correct)
    for i, column in enumerate(correct.T.tolist()):
        assert run.events[i] == sum(before and not after for before, after in pairwise(column))
        assert run.first_learnt[i] == (column.index(True) if True in column else len(column))
        assert run.learnt[i] == (True in column)
        # Learnt and never forgotten: wrong in the first passes only.
        assert run.unforgettable[i] == (column[-1] and column == sorted(column))
    assert (run.events <= run.passes // 2).all()


def test_a_last_pass_ends_no_event():
    run = forgetting([[1], [0], [1], [0], [1]])
    assert (run.events.tolist(), run.first_learnt.tolist()) == ([2], [0])


@pytest.mark.parametrize("correct", [[True], [[]], np.empty((0, 3)), [[0.5]], [[np.nan]]])
def test_what_is_no_correctness_is_refused(correct):
    with pytest.raises(ValueError, match="correctness"):
        forgetting(correct)


def test_several_runs_worked_by_hand():
    # Example 0 is learnt at passes 0, 1 and 2; example 1 is forgotten once in run 0, and never learnt in run 2.
    correct = [
        [[1, 1], [1, 0], [1, 1]],
        [[0, 1], [1, 1], [1, 1]],
        [[0, 0], [0, 0], [1, 0]],
    ]
    known = forgetting_spread(correct)
    assert known.events.tolist() == [[0, 1], [0, 0], [0, 0]]
    assert known.first_learnt.tolist() == [[0, 0], [1, 0], [2, 3]]
    assert known.mean_events.mean == pytest.approx(1 / 6)
    assert known.unforgettable.mean == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert known.never_learnt.mean == pytest.approx(1 / 6)
    assert (known.mean_first_learnt, known.first_learnt_sd, known.learnt_by_all) == (1.0, 1.0, 0.5)


def test_where_no_example_is_learnt_by_all_runs_no_pass_is_known():
    known = forgetting_spread([[[0, 1]], [[1, 0]]])
    assert (known.mean_first_learnt, known.first_learnt_sd, known.learnt_by_all) == (None, None, 0)
    assert forgetting_spread([[[1, 1]]]).first_learnt_sd is None
