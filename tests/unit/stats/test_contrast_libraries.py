"""Every test agrees with SciPy or statsmodels called directly, on whatever values."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.nonparametric import rank_compare_2indep
from statsmodels.stats.oneway import anova_oneway
from statsmodels.stats.oneway import test_scale_oneway as scale_oneway
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind, ttost_paired

from deviate.stats.effects import mean_difference, p_superiority, tost
from deviate.stats.tests import (
    PERMUTED_UP_TO,
    bartlett,
    brown_forsythe,
    brown_forsythe_permutation,
    brunner_munzel,
    levene,
    mann_whitney_u,
    permutation,
    student_t,
    welch_anova,
    welch_permutation,
    welch_t,
)
from deviate.stats.tests import test_of_means as choose_test

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
    if choose_test(a, b) is welch_permutation:
        assert interval.low <= low + 1e-9
        assert interval.high >= high - 1e-9
    else:
        assert (interval.low, interval.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


@given(st.lists(VALUES, min_size=3, max_size=5), st.lists(VALUES, min_size=3, max_size=5))
def test_permutations_are_counted_one_by_one(a, b):
    a, b = varied(a, b)
    pooled, places = np.concatenate([a, b]), range(len(a) + len(b))

    def arranged(statistic):
        for chosen in combinations(places, len(a)):
            others = [place for place in places if place not in chosen]
            yield statistic(pooled[list(chosen)], pooled[others])

    def larger_p(statistic, plain):
        every, seen = list(arranged(statistic)), statistic(a, b)
        sides = [sum(t <= seen + 1e-9 for t in every), sum(t >= seen - 1e-9 for t in every)]
        return max(plain.p, min(1.0, 2 * min(sides) / len(every)))

    assert welch_permutation(a, b).p == pytest.approx(larger_p(t_of, welch_t(a, b)), rel=1e-9)
    plain = brown_forsythe(a, b)
    assume(plain.p is not None)
    expected = larger_p(distance_of, plain) if plain.p <= PERMUTED_UP_TO else plain.p
    assert brown_forsythe_permutation(a, b).p == pytest.approx(expected, rel=1e-9)


def t_of(a, b):
    """Return Welch's t; infinite where both sides are constant."""
    error = np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b)
    gap = np.mean(a) - np.mean(b)
    return gap / error**0.5 if error else np.copysign(np.inf, gap) if gap else 0.0


def distance_of(a, b):
    """Return t of the distances from each side's median."""
    distances = [np.abs(side - np.median(side)) for side in (a, b)]
    gap = distances[0].mean() - distances[1].mean()
    if abs(gap) < 1e-9:
        return 0.0
    within = sum(each.var() * each.size for each in distances)
    return gap / (within / (len(a) + len(b) - 2) * (1 / len(a) + 1 / len(b))) ** 0.5 if within else gap * np.inf


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
    if choose_test(a, b) is welch_permutation:
        assert tost(a, b, margin).p >= min(expected, 0.5) - 1e-9
    else:
        assert tost(a, b, margin).p == pytest.approx(expected, rel=1e-9, abs=1e-14)
    n = min(len(a), len(b))
    assume(len(set(a[:n] - b[:n])) > 1)
    assert tost(a[:n], b[:n], margin, paired=True).p == pytest.approx(
        ttost_paired(a[:n], b[:n], -margin, margin)[0], rel=1e-9, abs=1e-14
    )


@given(SAMPLES, SAMPLES, SAMPLES)
def test_welch_anova(a, b, c):
    samples = varied(a, b, c)
    expected, found = anova_oneway(samples, use_var="unequal"), welch_anova(samples)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12, abs=1e-14)


@given(st.permutations(range(9)).map(lambda order: [rank / 4 for rank in order]), st.integers(2, 7))
def test_exact_rank_test_is_the_permutation_test_of_the_ranks(values, n):
    """Without ties U and the sum of ranks order all arrangements alike."""
    a, b = values[:n], values[n:]
    exact = mann_whitney_u(a, b, rng())
    assert exact.method == "exact"
    assert exact.p == pytest.approx(permutation(stats.rankdata(values)[:n], stats.rankdata(values)[n:], rng()).p)
