"""Resolution of an accuracy, against the binomial distribution."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deviate.measure.resolution import resolution


@given(st.integers(min_value=0, max_value=1000).map(lambda k: k / 1000), st.integers(min_value=1, max_value=10**6))
def test_standard_error_is_that_of_a_binomial_share(accuracy, examples):
    found = resolution(accuracy, examples)
    assert found.standard_error == pytest.approx(stats.binom.std(examples, accuracy) / examples, rel=1e-9, abs=1e-12)
    assert found.step == 1 / examples


@given(st.integers(min_value=0, max_value=1000).map(lambda k: k / 1000), st.integers(min_value=1, max_value=10**6))
def test_a_percentage_is_a_hundred_times_the_share(accuracy, examples):
    share, percentage = resolution(accuracy, examples), resolution(100 * accuracy, examples, full=100)
    assert percentage.standard_error == pytest.approx(100 * share.standard_error, rel=1e-6, abs=1e-9)
    assert percentage.step == pytest.approx(100 * share.step)


@pytest.mark.parametrize(("accuracy", "examples"), [(1.2, 100), (-0.1, 100), (0.5, 0)])
def test_impossible_arguments_are_refused(accuracy, examples):
    with pytest.raises(ValueError, match=r"lies between|1 example or more"):
        resolution(accuracy, examples)
