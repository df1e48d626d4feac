"""Forgetting events, against a loop over passes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deviate.measure.forgetting import forgetting


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
