"""Levels of repeated looks: against published boundaries, and by what they promise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deviate.stats.multiplicity import LATER_LOOKS, SMALLEST_LEVEL, look_levels, share_over_all_looks, stopped_level
from deviate.stats.results import fewest_runs

sizes_of_looks = st.lists(st.tuples(st.integers(5, 60), st.integers(5, 60)), min_size=1, max_size=8)


def test_planned_looks_have_the_published_boundaries():
    # Five equal looks, two-sided 5 %, the spending function of Lan and DeMets (1983) that is like O'Brien and
    # Fleming's: ldBounds in R's ldbounds, and gsDesign(k = 5, test.type = 2, sfu = sfLDOF).
    boundaries = [
        stats.norm.isf(level / 2) for level in look_levels([(n, n) for n in (2, 4, 6, 8, 10)], 0.05, (10, 10))
    ]
    assert boundaries == pytest.approx([4.8769, 3.3570, 2.6803, 2.2898, 2.0310], abs=1e-4)


def test_two_looks_agree_with_the_bivariate_normal_distribution():
    first, second = look_levels([(5, 5), (15, 15)], 0.05)
    edges = [stats.norm.isf(level / 2) for level in (first, second)]
    both = stats.multivariate_normal(cov=[[1, math.sqrt(5 / 15)], [math.sqrt(5 / 15), 1]])
    inside = both.cdf(edges, lower_limit=[-edge for edge in edges])
    assert 1 - inside == pytest.approx(0.05 * (1 + LATER_LOOKS * (1 - 5 / 15)), abs=1e-5)


@given(sizes_of_looks, st.sampled_from([0.1, 0.05, 0.01]))
def test_a_comparison_made_once_has_all_of_alpha(sizes, alpha):
    assert look_levels(sizes[:1], alpha) == [alpha]
    assert look_levels(sizes, alpha)[0] == alpha


@settings(max_examples=25, deadline=None)
@given(sizes_of_looks, st.sampled_from([None, (30, 30), (30, 8)]))
def test_levels_do_not_depend_on_later_looks_or_on_which_side_is_first(sizes, last):
    levels = look_levels(sizes, 0.05, last)
    assert look_levels(sizes[:-1] or sizes, 0.05, last) == pytest.approx(levels[: max(len(sizes) - 1, 1)], abs=1e-7)
    assert look_levels([(m, n) for n, m in sizes], 0.05, last and last[::-1]) == pytest.approx(levels)
    assert all(SMALLEST_LEVEL <= level <= 0.05 for level in levels)


def test_a_look_after_all_is_spent_shows_nothing():
    assert look_levels([(30, 30), (40, 40)], 0.05, last=(30, 30)) == [pytest.approx(0.05), SMALLEST_LEVEL]
    assert fewest_runs(SMALLEST_LEVEL) > 10


@pytest.mark.parametrize("most", [None, 30])
def test_simulated_false_alarms_over_all_looks_stay_at_what_is_promised(most):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 4000, 30))
    looks = [5, 8, 10, 15, 20, 25, 30]
    levels = look_levels([(n, n) for n in looks], 0.05, most and (most, most))
    alarms = np.zeros(4000, bool)
    for n, level in zip(looks, levels, strict=True):
        alarms |= stats.ttest_ind(a[:, :n], b[:, :n], axis=1, equal_var=False).pvalue <= level
    assert alarms.mean() <= share_over_all_looks(0.05, len(looks), planned=most is not None) + 0.01


def test_runs_that_ended_when_they_looked_alike_are_tested_more_strictly():
    assert stopped_level(0.05, 5) < stopped_level(0.05, 10) < 0.05
    assert stopped_level(0.01, 10) / 0.01 < stopped_level(0.05, 10) / 0.05
