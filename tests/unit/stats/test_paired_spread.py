"""Spread of runs that belong together two by two."""

import numpy as np
import pytest
from scipy import stats

from deviate.stats.contrast import contrast
from deviate.stats.paired_tests import paired_brown_forsythe, pitman_morgan


def pairs(n=12, ratio=1.0, seed=0):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(n)
    return common + 0.3 * rng.standard_normal(n), ratio * (common + 0.3 * rng.standard_normal(n))


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_numbers_are_those_of_scipy(ratio):
    a, b = pairs(ratio=ratio)
    distances = stats.ttest_rel(abs(a - np.median(a)), abs(b - np.median(b)))
    assert paired_brown_forsythe(a, b).p == pytest.approx(distances.pvalue, rel=1e-9)
    assert paired_brown_forsythe(a, b).statistic == pytest.approx(distances.statistic, rel=1e-9)
    assert pitman_morgan(a, b).p == pytest.approx(stats.pearsonr(a + b, a - b).pvalue, rel=1e-9)


def test_pitman_and_morgan_test_the_ratio_of_variances():
    """Their statistic in terms of F and r, as textbooks give it: an independent formula."""
    a, b = pairs(ratio=1.7)
    f, r, n = a.var(ddof=1) / b.var(ddof=1), np.corrcoef(a, b)[0, 1], a.size
    t = (f - 1) * np.sqrt(n - 2) / (2 * np.sqrt(f * (1 - r**2)))
    assert pitman_morgan(a, b).p == pytest.approx(2 * stats.t.sf(abs(t), n - 2), rel=1e-9)


@pytest.mark.parametrize("test", [paired_brown_forsythe, pitman_morgan])
def test_scale_and_place_of_the_values_change_nothing(test):
    a, b = pairs(ratio=2.0)
    assert test(1e-160 * a + 3e-160, 1e-160 * b + 3e-160).p == pytest.approx(test(a, b).p, rel=1e-6)


def test_halves_of_two_kinds_do_not_show_that_one_side_is_noisier():
    """All runs of the first lie equally far from its median, which t alone takes for a spread that is known."""
    a, b = np.random.default_rng(0).standard_normal((2, 8))
    a += [0, 20] * 4
    distances = stats.ttest_rel(abs(a - np.median(a)), abs(b - np.median(b)))
    assert distances.pvalue < 1e-8
    assert paired_brown_forsythe(a, b).p > 0.05 / 20


def test_what_cannot_be_tested_says_why():
    a, _ = pairs()
    assert "three pairs" in paired_brown_forsythe([1.0, 2.0], [1.0, 3.0]).reason
    assert "three pairs" in pitman_morgan([1.0, 2.0], [1.0, 3.0]).reason
    assert pitman_morgan([1.0, 2.0, 4.0], [2.0, 3.0, 5.0]).reason
    assert paired_brown_forsythe(a, a + 1).p == pytest.approx(1.0)
    assert paired_brown_forsythe([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]).p < 1
    with pytest.raises(ValueError, match="as many runs on each side"):
        paired_brown_forsythe([1.0, 2.0, 3.0], [1.0, 2.0])


def test_pairs_decide_on_the_spread_where_they_decide_on_the_means():
    a, b = pairs(ratio=2.0)
    rng = np.random.default_rng(0)
    together = contrast(a, b, rng, pairs=[(index, index) for index in range(a.size)])
    apart = contrast(a, b, rng)
    assert (together.spread.test, apart.spread.test) == ("paired_brown_forsythe", "brown_forsythe_permutation")
    assert together.tests["paired_brown_forsythe"].p < apart.tests["brown_forsythe"].p
    assert "pitman_morgan" not in apart.tests
