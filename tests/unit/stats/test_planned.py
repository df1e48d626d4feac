"""Runs that reach a power: against simulations of the tests, and by what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats

from deviate.stats.power import (
    detectable_sd_ratio,
    paired_t_power,
    planned_difference,
    planned_power,
    planned_runs,
    runs_to_make,
    welch_power,
)


@pytest.mark.parametrize(("n", "effect"), [(5, 2.02), (8, 1.5), (17, 1.0)])
def test_power_is_that_of_welchs_test(n, effect):
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((20_000, n)) + effect, rng.standard_normal((20_000, n))
    share = np.mean(stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue <= 0.05)
    assert planned_power(effect, n) == pytest.approx(share, abs=0.01)


def test_power_with_a_known_sd_is_that_of_the_test():
    assert planned_power(0.9, 12, paired=True) == pytest.approx(paired_t_power(0.9, 12), abs=1e-6)
    assert planned_power(0.1, 1500) == pytest.approx(welch_power(0.1, 1500, 1500), abs=1e-9)


@pytest.mark.parametrize("pilot", [5, 8, 16])
def test_runs_planned_from_a_pilot_reach_the_power_on_average(pilot):
    rng = np.random.default_rng(pilot)
    sds = rng.standard_normal((150, pilot)).std(axis=1, ddof=1)
    reached = [planned_power(1.0, planned_runs(1.0 / sd, freedom=pilot - 1)) for sd in sds]
    assert np.mean(reached) >= 0.78


@given(st.floats(0.3, 6.0), st.sampled_from([None, 3, 9]), st.booleans())
@examples(20)
def test_runs_are_the_first_that_are_enough(effect, freedom, paired):
    n = planned_runs(effect, paired=paired, freedom=freedom)
    assert planned_power(effect, n, paired=paired, freedom=freedom) >= 0.8
    assert n == 2 or planned_power(effect, n - 1, paired=paired, freedom=freedom) < 0.8
    assert planned_difference(n, paired=paired, freedom=freedom) <= effect + 1e-5


def test_far_off_differences_are_shown_for_sure_without_scipy():
    # Its noncentral t takes ten seconds for no number where the search for this difference begins.
    assert planned_power(planned_difference(40, freedom=3), 40, freedom=3) == pytest.approx(0.8, abs=1e-5)


def test_runs_to_make_leave_enough_on_average():
    assert runs_to_make(20, 0.2) == 25
    with pytest.raises(ValueError, match="below 1"):
        runs_to_make(20, 1.0)


def test_an_sd_ratio_of_very_many_runs_goes_on_where_simulation_ends():
    assert detectable_sd_ratio(2001) == pytest.approx(detectable_sd_ratio(2000), rel=0.01)
    assert 1 < detectable_sd_ratio(100_000) < 1.02
