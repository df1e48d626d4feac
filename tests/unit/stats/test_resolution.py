"""Resolution of an accuracy, against the binomial distribution."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deviate.stats.spread import finite_test, resolution


@given(st.integers(min_value=0, max_value=1000).map(lambda k: k / 1000), st.integers(min_value=1, max_value=10**6))
def test_standard_error_is_that_of_a_binomial_share(accuracy, examples):
    limits = resolution(accuracy, examples)
    assert limits.standard_error == pytest.approx(stats.binom.std(examples, accuracy) / examples, rel=1e-9, abs=1e-12)
    assert limits.step == 1 / examples


@given(st.integers(min_value=0, max_value=1000).map(lambda k: k / 1000), st.integers(min_value=1, max_value=10**6))
def test_a_percentage_is_a_hundred_times_the_share(accuracy, examples):
    share, percentage = resolution(accuracy, examples), resolution(100 * accuracy, examples, full=100)
    assert percentage.standard_error == pytest.approx(100 * share.standard_error, rel=1e-6, abs=1e-9)
    assert percentage.step == pytest.approx(100 * share.step)


@pytest.mark.parametrize(("accuracy", "examples"), [(1.2, 100), (-0.1, 100), (0.5, 0)])
def test_impossible_arguments_are_refused(accuracy, examples):
    with pytest.raises(ValueError, match=r"lies between|1 example or more"):
        resolution(accuracy, examples)


@given(
    st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=40),
    st.floats(min_value=1e-3, max_value=1.0),
)
def test_independent_errors_never_spread_more_than_the_standard_error(shares, sd):
    """The bound's proof, in numbers: sum q(1-q)/n² <= p(1-p)/n for any examples."""
    probabilities = np.asarray(shares)
    between_runs = math.sqrt(float(np.sum(probabilities * (1 - probabilities)))) / len(shares)
    finite = finite_test(sd, resolution(float(probabilities.mean()), len(shares)))
    assert between_runs <= finite.standard_error + 1e-12
    assert 0 <= finite.share_at_most <= 1


@given(st.floats(min_value=1e-3, max_value=10), st.floats(min_value=0.5, max_value=99.5))
def test_percent_and_share_give_the_same_comparison(sd, accuracy):
    percent = finite_test(sd, resolution(accuracy, 500, full=100))
    share = finite_test(sd / 100, resolution(accuracy / 100, 500))
    assert percent.sd_in_errors == pytest.approx(share.sd_in_errors, rel=1e-9)
    assert percent.share_at_most == pytest.approx(share.share_at_most, rel=1e-9)


def test_runs_whose_errors_are_coin_flips_spread_by_one_standard_error():
    rng = np.random.default_rng(0)
    accuracies = rng.binomial(1000, 0.9, 4000) / 1000
    finite = finite_test(accuracies.std(ddof=1), resolution(accuracies.mean(), 1000))
    assert finite.sd_in_errors == pytest.approx(1, abs=0.03)


def test_what_is_not_defined_is_unknown():
    assert finite_test(0.0, resolution(0.5, 100)).share_at_most is None
    assert finite_test(0.1, resolution(1.0, 100)).sd_in_errors is None
