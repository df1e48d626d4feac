"""Numbers of runs, against R's power.t.test, published tables and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import integrate, stats

from deviate.stats.power import (
    detectable_sd_ratio,
    mean_half_width,
    paired_t_power,
    planned_difference,
    planned_runs,
    runs_for_precision,
    runs_for_sd_ratio,
    simulated_power,
    welch_power,
)


def test_power_is_that_of_r():
    """``power.t.test`` leaves the other tail out unless ``strict``: at these powers it is below 1e-5.

    It is that of Student's test, to which Welch's comes near with many runs.
    """
    assert paired_t_power(1.0, 10) == pytest.approx(0.803096208690599, abs=1e-5)
    assert welch_power(0.2, 400, 400) == pytest.approx(0.8065, abs=1e-4)
    assert planned_runs(0.5, power=0.9) == 86


@pytest.mark.parametrize(
    ("effect", "n80", "n90"), [(0.5, 64, 86), (0.8, 26, 34), (1.0, 17, 23), (1.5, 9, 11), (2.0, 6, 7), (3.0, 4, 4)]
)
def test_numbers_of_runs_are_those_of_cohens_tables(effect, n80, n90):
    assert planned_runs(effect) == n80
    assert planned_runs(-effect, power=0.9) == n90


@pytest.mark.parametrize(("effect", "n", "m"), [(2.0, 5, 5), (1.2, 8, 12), (1.5, 5, 30), (1.5, 30, 5), (2.5, 3, 3)])
def test_power_is_what_happens(effect, n, m):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((40_000, n)) + effect, rng.standard_normal((40_000, m))
    share = np.mean(stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue <= 0.05)
    assert welch_power(effect, n, m) == pytest.approx(share, abs=0.01)


def test_power_of_the_test_of_spread_is_what_happens():
    """Brown-Forsythe, normal values, SD ratio 2: 0.31, 0.56 and 0.90 in simulations of 2,000."""
    rng = np.random.default_rng(2)
    powers = [simulated_power(n, n, rng)(2.0, 0.05) for n in (10, 16, 30)]
    assert powers == pytest.approx([0.31, 0.56, 0.90], abs=0.035)
    a, b = rng.standard_normal((300, 10)), 2 * rng.standard_normal((300, 10))
    ps = [stats.levene(x, y, center="median").pvalue for x, y in zip(a, b, strict=True)]
    assert np.mean(np.array(ps) <= 0.05) == pytest.approx(powers[0], abs=0.1)


def test_runs_for_an_sd_ratio_reach_the_power():
    n = runs_for_sd_ratio(2.0)
    assert n == runs_for_sd_ratio(0.5)
    assert simulated_power(n, n, np.random.default_rng(9))(2.0, 0.05) == pytest.approx(0.8, abs=0.03)
    assert detectable_sd_ratio(n) == pytest.approx(2.0, rel=0.06)
    assert detectable_sd_ratio(5) is None
    assert runs_for_sd_ratio(1.001) is None


@given(st.integers(2, 60), st.floats(0.3, 4.0))
@examples(30)
def test_more_runs_and_larger_effects_show_more(n, effect):
    assert welch_power(effect, n + 1, n + 1) >= welch_power(effect, n, n) - 1e-9
    assert welch_power(effect + 0.1, n, n) >= welch_power(effect, n, n) - 1e-9
    assert planned_difference(n + 1) <= planned_difference(n) + 1e-6


@given(st.floats(0.3, 8.0), st.sampled_from([0.05, 0.01]), st.sampled_from([0.5, 0.8, 0.95]), st.booleans())
@examples(40)
def test_number_of_runs_is_the_first_that_is_enough(effect, alpha, power, paired):
    n = planned_runs(effect, alpha, power, paired=paired)
    reached = paired_t_power if paired else (lambda e, k, a: welch_power(e, k, k, a))
    assert reached(effect, n, alpha) >= power
    assert n == 2 or reached(effect, n - 1, alpha) < power


@pytest.mark.parametrize("half_width", [0.1, 0.37, 0.5, 1.2])
def test_precision_is_reached_and_not_with_one_run_less(half_width):
    n = runs_for_precision(half_width)
    assert mean_half_width(n) <= half_width < mean_half_width(n - 1)


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ValueError, match="alpha below power"):
        planned_runs(1.0, 0.9, 0.8)
    with pytest.raises(ValueError, match="SD ratio"):
        runs_for_sd_ratio(1.0)
    assert planned_runs(1e-9) is None
    assert welch_power(1e3, 3, 3) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("effect", "n", "m", "alpha"), [(2.875, 7, 11, 0.001), (4.0, 5, 5, 0.01), (0.3, 9, 9, 0.05), (1.0, 4, 20, 0.05)]
)
def test_the_power_is_the_integral_over_both_sds_also_where_the_far_tail_is_no_number(effect, n, m, alpha):
    nodes, weights = np.polynomial.legendre.leggauss(150)
    first, second = (stats.chi2.ppf((nodes + 1) / 2, each - 1) / (each - 1) / each for each in (n, m))
    va, vb = np.meshgrid(first, second)
    freedom = (va + vb) ** 2 / (va**2 / (n - 1) + vb**2 / (m - 1))
    center, edges = effect, stats.t.isf(alpha / 2, freedom) * np.sqrt(va + vb)
    error = math.sqrt(1 / n + 1 / m)
    shown = stats.norm.sf((edges - center) / error) + stats.norm.cdf((-edges - center) / error)
    assert welch_power(effect, n, m, alpha) == pytest.approx(weights @ shown @ weights / 4, abs=2e-4)


@pytest.mark.parametrize(("effect", "pairs", "alpha"), [(2.875, 9, 0.001), (4.0, 5, 0.01), (0.3, 9, 0.05)])
def test_the_power_of_pairs_is_the_integral_over_the_sd(effect, pairs, alpha):
    freedom, center = pairs - 1, effect * math.sqrt(pairs)
    critical = stats.t.isf(alpha / 2, freedom)

    def density(chi):
        at = critical * chi / math.sqrt(freedom)
        return stats.chi.pdf(chi, freedom) * (stats.norm.sf(at - center) + stats.norm.cdf(-at - center))

    integral, _ = integrate.quad(density, 0, math.sqrt(freedom) + 12, points=[math.sqrt(freedom)])
    assert paired_t_power(effect, pairs, alpha) == pytest.approx(integral, abs=1e-8)
