"""The second-order part of means over pairs, against least squares, brute force and what it estimates."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from deviate.stats.pairs import (
    NEEDS_THREE,
    NO_PAIRS,
    bent,
    between_groups,
    combined,
    corrected_estimate,
    corrected_interval,
    jackknife_interval,
    pair_mean,
    within_group,
)

RNG = np.random.default_rng(5)


def symmetric(runs, rng=RNG):
    table = rng.normal(size=(runs, runs))
    return np.triu(table, 1) + np.triu(table, 1).T


def jackknife_variance(left_out):
    return (left_out.size - 1) / left_out.size * ((left_out - left_out.mean()) ** 2).sum()


@pytest.mark.parametrize("runs", [4, 5, 9])
def test_pairs_are_the_residuals_of_least_squares(runs):
    """A mean and an effect of each run, fitted to all pairs."""
    table, pairs = symmetric(runs), list(combinations(range(runs), 2))
    design = np.array([[1, *(run in pair for run in range(runs))] for pair in pairs], float)
    values = np.array([table[pair] for pair in pairs])
    residuals = values - design @ np.linalg.lstsq(design, values)[0]
    part = within_group(table)
    assert [part.pairs[pair] for pair in pairs] == pytest.approx(residuals / len(pairs), abs=1e-12)
    assert part.pairs == pytest.approx(part.pairs.T)
    square = (residuals**2).sum() / (len(pairs) - runs)
    assert part.variance == pytest.approx(square / len(pairs))


@pytest.mark.parametrize("runs", [4, 6, 11])
def test_the_corrected_variance_is_the_unbiased_one(runs):
    """``U**2`` less the mean of ``h_ij * h_kl`` over pairs without a run in common, by brute force."""
    table = symmetric(runs) + 3 * np.add.outer(*[np.arange(runs) ** 2.0] * 2)
    np.fill_diagonal(table, 0)
    pairs = list(combinations(range(runs), 2))
    value, left_out = pair_mean(table)
    apart = [table[one] * table[other] for one in pairs for other in pairs if not set(one) & set(other)]
    variance, freedom = within_group(table).corrected([jackknife_variance(left_out)], [runs])
    assert variance == pytest.approx(value**2 - np.mean(apart))
    assert 1 <= freedom <= runs - 1


def test_between_two_groups_it_is_the_interaction_of_the_two_way_table():
    cross = RNG.normal(size=(3, 5))
    design = np.array([[*(np.arange(3) == r), *(np.arange(5) == s)] for r in range(3) for s in range(5)], float)
    residuals = cross.ravel() - design @ np.linalg.lstsq(design, cross.ravel())[0]
    part = between_groups(cross)
    assert part.pairs[:3, 3:].ravel() == pytest.approx(residuals / 15)
    assert part.pairs == pytest.approx(part.pairs.T)
    assert not part.pairs[:3, :3].any()
    assert part.variance == pytest.approx((residuals**2).sum() / 8 / 15)
    assert part.excess == part.variance


def test_shares_of_the_means_within_are_subtracted():
    cross, a, b = between_groups(RNG.normal(size=(4, 5))), within_group(symmetric(4)), within_group(symmetric(5))
    whole = combined(cross, (1.0, a), (0.5, b))
    assert whole.pairs[:4, :4] == pytest.approx(-a.pairs)
    assert whole.pairs[4:, 4:] == pytest.approx(-b.pairs / 2)
    assert whole.pairs[:4, 4:] == pytest.approx(cross.pairs[:4, 4:])
    assert whole.variance == pytest.approx(cross.variance + a.variance + b.variance / 4)
    assert whole.excess == pytest.approx(cross.excess + a.excess + b.excess / 4)
    assert whole.uncertainty == pytest.approx(cross.uncertainty + a.uncertainty + b.uncertainty / 16)


def test_pairs_alone_leave_their_own_variance():
    """Where the jackknife counts no more than chance between pairs makes, that is the variance."""
    part = within_group(symmetric(6))
    assert part.corrected([part.excess], [6]) == (part.variance, 5)


def test_the_variance_of_a_product_is_unbiased_where_the_jackknife_is_not():
    """``h_rs = x_r * x_s`` of standard normal x has no part of single runs: its mean over pairs has 2 / (R (R - 1))."""
    rng, runs, tables = np.random.default_rng(0), 5, []
    for _ in range(4000):
        values = rng.standard_normal(runs)
        tables.append(np.outer(values, values))
    true = 2 / (runs * (runs - 1))
    by_jackknife = np.mean([jackknife_variance(pair_mean(table)[1]) for table in tables])
    assert by_jackknife == pytest.approx(true * 2 * (runs - 1) / (runs - 2), rel=0.1)
    assert np.mean([within_group(table).variance for table in tables]) == pytest.approx(true, rel=0.1)


@pytest.mark.parametrize(
    ("skewness", "curvature"), [(0.4, 0.0), (0.0, -0.3), (-0.5, 0.2), (1e-9, 0), (0.3, -0.2), (0, 0)]
)
@pytest.mark.parametrize("x", [-3.0, -0.1, 0.0, 2.5])
def test_bent_solves_the_cubic(x, skewness, curvature):
    t, a = bent(x, skewness, curvature), skewness / 3 + curvature / 2
    cubic = t + a * t**2 + a**2 * t**3 / 3 + skewness / 6 + curvature / 2
    assert cubic == pytest.approx(x, abs=1e-9)


def test_the_cubic_removes_the_first_term_of_the_edgeworth_expansion():
    """The studentized Gini difference of exponential values: with the term of pairs its quantiles are nearer normal."""
    rng, runs = np.random.default_rng(1), 20
    plain, removed = [], []
    for _ in range(2000):
        values = rng.exponential(size=runs)
        table = np.abs(np.subtract.outer(values, values))
        value, left_out = pair_mean(table)
        influences = (runs - 1) / runs * (left_out.mean() - left_out)
        t = (value - 1) / math.sqrt(jackknife_variance(left_out))
        skewness = stats.skew(influences) / math.sqrt(runs)
        a, c = (skewness / part + within_group(table).curvature(influences) / 2 for part in (3, 6))
        plain.append(t)
        removed.append(t + a * t**2 + a**2 * t**3 / 3 + c)
    below, above = (np.mean(np.array(plain) < -2.093), np.mean(np.array(plain) > 2.093))
    assert below > 0.07 > 0.01 > above
    assert abs(np.mean(np.array(removed) < -2.093) - np.mean(np.array(removed) > 2.093)) < (below - above) * 2 / 3


def test_without_a_part_of_pairs_it_is_the_jackknife_of_both_groups():
    left_out = np.array([1.0, 1.2, 0.7, 1.4]), np.array([0.9, 1.0, 1.3])
    plain = jackknife_interval(0.1, *left_out, bounds=(-1, 1))
    nothing = NO_PAIRS._replace(pairs=np.zeros((7, 7)))
    corrected = corrected_interval(0.1, *left_out, second=nothing)
    assert (corrected.low, corrected.high) == pytest.approx((plain.low, plain.high))


def test_three_runs_say_nothing_of_pairs_and_two_have_no_interval():
    assert not within_group(symmetric(3)).pairs.any()
    assert corrected_estimate(np.array([[0.0, 0.5], [0.5, 0.0]])).interval.reason == NEEDS_THREE
