"""Splits and seeds as random factors, against statsmodels 0.15.0 on Montgomery's four looms."""

import math

import numpy as np
import pytest
from scipy import stats

from deviate.stats.factorial import split_difference, split_spread

LOOMS = [[98, 97, 99, 96], [91, 90, 93, 92], [96, 95, 97, 95], [95, 96, 99, 98]]


def variances(found):
    return [part and part.sd**2 for part in (found.split, found.seed, found.rest)]


def test_nested_components_are_those_of_a_mixed_model():
    """`mixedlm("y ~ 1", groups="loom")` by REML: 6.958333 and 1.895833, the book's 6.96 and 1.90."""
    found = split_spread(LOOMS)
    assert variances(found) == [pytest.approx(6.958333333333333, abs=1e-9), None, pytest.approx(1.8958333333333333)]
    means = np.mean(LOOMS, axis=1)
    half = stats.t.ppf(0.975, 3) * means.std(ddof=1) / 2
    assert (found.ci_mean.low, found.ci_mean.high) == pytest.approx((means.mean() - half, means.mean() + half))
    f, chi = 29.729166666666668, stats.chi2.ppf([0.975, 0.025], 3)
    edges = [
        3 * (f - 1.8958333333333333 * stats.f.ppf(tail, 3, 12)) / 4 / c
        for tail, c in zip((0.975, 0.025), chi, strict=True)
    ]
    assert [found.split.interval.low**2, found.split.interval.high**2] == pytest.approx(edges, rel=1e-9)


def test_crossed_components_are_of_the_mean_squares_of_two_factors():
    """`anova_lm(ols("y ~ C(loom) + C(run)"))`: mean squares 29.729167, 4.729167 and 0.951389."""
    found = split_spread(LOOMS, crossed=True)
    squares = (29.729166666666668, 4.729166666666667, 0.951388888888889)
    wanted = [(squares[0] - squares[2]) / 4, (squares[1] - squares[2]) / 4, squares[2]]
    assert variances(found) == pytest.approx(wanted, rel=1e-9)
    assert found.whole == pytest.approx(math.sqrt(sum(wanted)), rel=1e-9)
    assert found.share == pytest.approx(wanted[0] / sum(wanted), rel=1e-9)


def test_unequal_numbers_of_runs_use_the_means_of_the_splits():
    found = split_spread([LOOMS[0], LOOMS[1][:3], LOOMS[2][:2]])
    means = [97.5, 274 / 3, 95.5]
    runs = 3 / (1 / 4 + 1 / 3 + 1 / 2)
    within = (5 + 14 / 3 + 0.5) / 6
    assert found.runs == pytest.approx(runs)
    assert found.split.sd**2 == pytest.approx(np.var(means, ddof=1) - within / runs, rel=1e-9)


def test_intervals_hold_their_level_and_a_split_without_effect_may_be_0():
    rng = np.random.default_rng(0)
    held = np.zeros(3)
    for _ in range(400):
        table = rng.normal(0, 0.5, (4, 1)) + rng.normal(0, 0.5, (1, 4)) + rng.standard_normal((4, 4))
        found = split_spread(table, crossed=True)
        held += [found.ci_mean.low < 0 < found.ci_mean.high] + [
            part.interval.low <= 0.5 <= part.interval.high for part in (found.split, found.seed)
        ]
    assert (held / 400 > 0.92).all()
    assert split_spread([[1, 2, 3], [1, 2, 3]]).split.sd == 0


@pytest.mark.parametrize("samples", [[[1.0, 2.0]], [[1.0, 2.0], [3.0]], [[1.0, 1.0], [2.0, 2.0]]])
def test_too_little_is_not_divided(samples):
    assert split_spread(samples) is None


def test_a_difference_over_splits_is_the_t_interval_of_those_of_the_splits():
    found = split_difference(LOOMS, [[100, 99], [93, 94, 92], [97, 96], [99, 98]], 0.9)
    each = [np.mean(b) - np.mean(a) for a, b in zip(LOOMS, [[100, 99], [93, 94, 92], [97, 96], [99, 98]], strict=True)]
    wanted = stats.ttest_1samp(each, 0).confidence_interval(0.9)
    assert (found.interval.low, found.interval.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    assert found.value == pytest.approx(np.mean(each), rel=1e-9)
    assert split_difference(LOOMS[:1], LOOMS[:1]) is None


def test_a_difference_of_runs_with_the_same_seeds_is_for_other_seeds_too():
    rng = np.random.default_rng(3)
    covered = {True: 0, False: 0}
    for _ in range(400):
        a, b = (rng.normal(0, 0.5, (5, 1)) + rng.normal(0, 1, (1, 3)) + rng.normal(0, 0.5, (5, 3)) for _ in range(2))
        for crossed in covered:
            interval = split_difference(a, b, crossed=crossed).interval
            covered[crossed] += interval.low < 0 < interval.high
    assert covered[True] >= 0.93 * 400 > covered[False]
