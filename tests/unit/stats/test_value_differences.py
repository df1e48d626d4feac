"""Differences of predicted values, against loops over pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deviate.stats.agreement import value_differences

TABLES = arrays.arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 8)), elements=st.integers(-50, 50))


@given(TABLES)
def test_it_is_the_mean_over_pairs(values):
    measured = value_differences(values)
    pairs = [np.abs(a - b) for a, b in combinations(values, 2)]
    assert measured.absolute.value == pytest.approx(np.mean(pairs), abs=1e-12)


@given(TABLES, st.integers(-5, 5))
def test_shifting_changes_nothing_and_scaling_scales(values, power):
    before, after = value_differences(values), value_differences(values * 2.0**power + 1)
    assert after.matrix == pytest.approx(before.matrix * 2.0**power, abs=1e-12)


def test_one_run_has_no_difference_and_nan_is_refused():
    assert value_differences([[1.0]]).absolute.reason == "a pair needs two runs"
    with pytest.raises(ValueError, match="NaN"):
        value_differences([[np.nan], [1.0]])
