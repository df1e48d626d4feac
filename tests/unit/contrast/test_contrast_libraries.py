"""Every test agrees with SciPy or statsmodels called directly, on whatever values."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.nonparametric import rank_compare_2indep
from statsmodels.stats.oneway import anova_oneway
from statsmodels.stats.oneway import test_scale_oneway as scale_oneway
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind, ttost_paired

from deviate.contrast.difference import mean_difference, tost
from deviate.contrast.dispersion import bartlett, brown_forsythe, levene
from deviate.contrast.location import brunner_munzel, mann_whitney_u, permutation, student_t, welch_t
from deviate.contrast.omnibus import welch_anova
from deviate.contrast.superiority import p_superiority

#: Multiples of 1/8: sums and differences of them are exact, and ties occur.
VALUES = st.integers(min_value=-400, max_value=400).map(lambda k: k / 8)
SAMPLES = st.lists(VALUES, min_size=3, max_size=12)


def rng():
    return np.random.default_rng(1)


def varied(*samples):
    for sample in samples:
        assume(len(set(sample)) > 2)
    return [np.array(sample) for sample in samples]


@given(SAMPLES, SAMPLES)
def test_t_tests_and_interval(a, b):
    a, b = varied(a, b)
    compared = CompareMeans(DescrStatsW(a), DescrStatsW(b))
    assert student_t(a, b).p == pytest.approx(compared.ttest_ind(usevar="pooled")[1], rel=1e-9, abs=1e-15)
    assert welch_t(a, b).p == pytest.approx(compared.ttest_ind(usevar="unequal")[1], rel=1e-9, abs=1e-15)
    low, high = compared.tconfint_diff(alpha=0.1, usevar="unequal")
    interval = mean_difference(a, b, 0.9).interval
    assert (interval.low, interval.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


@given(SAMPLES, SAMPLES)
def test_brunner_munzel(a, b):
    a, b = varied(a, b)
    test = brunner_munzel(a, b)
    assume(test.p is not None)
    expected = rank_compare_2indep(a, b, use_t=True)
    assert p_superiority(a, b).value == pytest.approx(expected.prob1, abs=1e-12)
    assert test.p == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-12)


@given(SAMPLES, SAMPLES)
def test_tests_of_spread(a, b):
    a, b = varied(a, b)
    assert bartlett(a, b).p == pytest.approx(stats.bartlett(a, b).pvalue, rel=1e-9, abs=1e-15)
    for test, center in ((brown_forsythe(a, b), "median"), (levene(a, b), "mean")):
        assume(test.p is not None)
        expected = scale_oneway([a, b], method="equal", center=center, transform="abs")
        # Where the mean distances are equal but for rounding, statsmodels gives no number.
        assume(math.isfinite(expected.pvalue))
        assert test.p == pytest.approx(float(expected.pvalue), rel=1e-9, abs=1e-15)


@given(SAMPLES, SAMPLES, st.floats(min_value=0.5, max_value=50))
def test_two_one_sided_tests(a, b, margin):
    a, b = varied(a, b)
    expected = ttost_ind(a, b, -margin, margin, usevar="unequal")[0]
    assert tost(a, b, margin).p == pytest.approx(expected, rel=1e-9, abs=1e-14)
    n = min(len(a), len(b))
    assume(len(set(a[:n] - b[:n])) > 1)
    assert tost(a[:n], b[:n], margin, paired=True).p == pytest.approx(
        ttost_paired(a[:n], b[:n], -margin, margin)[0], rel=1e-9, abs=1e-14
    )


@given(SAMPLES, SAMPLES, SAMPLES)
def test_welch_anova(a, b, c):
    samples = varied(a, b, c)
    expected = anova_oneway(samples, use_var="unequal")
    assert welch_anova(samples).p == pytest.approx(float(expected.pvalue), rel=1e-9, abs=1e-14)


@given(st.permutations(range(9)).map(lambda order: [rank / 4 for rank in order]), st.integers(2, 7))
def test_exact_rank_test_is_the_permutation_test_of_the_ranks(values, n):
    """Without ties U and the sum of ranks order all arrangements alike."""
    a, b = values[:n], values[n:]
    exact = mann_whitney_u(a, b, rng())
    assert exact.method == "exact"
    assert exact.p == pytest.approx(permutation(stats.rankdata(values)[:n], stats.rankdata(values)[n:], rng()).p)
