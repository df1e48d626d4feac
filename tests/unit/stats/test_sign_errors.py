"""Type S and type M errors against the paper's own examples, against simulation, and by property."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from deviate.stats.power import paired_t_power, shown_errors, welch_power


@pytest.mark.parametrize(
    ("effect", "error", "power", "wrong", "exaggeration"),
    [(0.1, 3.28, 0.05, 0.46, 77), (2, 8.1, 0.06, 0.24, 9.5)],
)
def test_the_examples_of_gelman_and_carlin(effect, error, power, wrong, exaggeration):
    # Their first two examples, with known standard errors: very many runs.
    n = 1_000_000
    errors = shown_errors(effect / error * math.sqrt(2 / n), n, n)
    assert round(errors.power, 2) == power
    assert round(errors.wrong_sign, 2) == wrong
    assert errors.exaggeration == pytest.approx(exaggeration, rel=0.01)


@pytest.mark.parametrize(("n", "m", "effect"), [(5, 5, 0.75), (3, 8, 0.6), (2, 2, 1.0), (30, 30, 0.2)])
def test_simulated_t_tests_are_as_often_and_as_far_wrong(n, m, effect):
    rng, repeats = np.random.default_rng(1), 100_000
    a, b = rng.normal(effect, 1, (repeats, n)), rng.normal(0, 1, (repeats, m))
    shown = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue <= 0.05
    differences = (a.mean(axis=1) - b.mean(axis=1))[shown]
    errors = shown_errors(effect, n, m)
    assert errors.power == pytest.approx(shown.mean(), abs=0.005)
    assert errors.wrong_sign == pytest.approx((differences < 0).mean(), abs=0.01)
    assert errors.exaggeration == pytest.approx(np.abs(differences).mean() / effect, rel=0.02)


@example(3.375, 2, 2, 0.001)
@given(st.floats(0.05, 4), st.integers(2, 60), st.integers(2, 60), st.sampled_from([0.001, 0.01, 0.05, 0.2]))
def test_the_power_is_that_of_welchs_test_and_errors_lie_in_their_range(effect, n, m, alpha):
    errors = shown_errors(effect, n, m, alpha)
    assert errors.power == pytest.approx(welch_power(effect, n, m, alpha), rel=1e-5)
    assert 0 <= errors.wrong_sign <= 0.5
    assert errors.exaggeration >= 1 - 1e-9


@pytest.mark.parametrize(("pairs", "effect"), [(2, 1.0), (5, 0.6), (40, 0.3)])
def test_pairs_have_the_power_of_the_paired_test(pairs, effect):
    errors = shown_errors(effect, pairs, pairs, paired=True)
    assert errors.power == pytest.approx(paired_t_power(effect, pairs), rel=1e-6)


def test_a_larger_true_difference_has_smaller_errors():
    each = [shown_errors(effect, 6, 6) for effect in (0.1, 0.4, 0.8, 1.6, 3.2)]
    assert sorted((one.wrong_sign for one in each), reverse=True) == [one.wrong_sign for one in each]
    assert sorted((one.exaggeration for one in each), reverse=True) == [one.exaggeration for one in each]
