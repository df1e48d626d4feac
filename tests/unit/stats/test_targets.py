"""Targets: SciPy, the rule of modded-nanogpt on a published record, and MLPerf's checker on published points."""

import numpy as np
import pytest
from scipy import stats

from deviate.stats.gates import convergence, reach_target

RNG = np.random.default_rng(5)
VALUES = (3.279 + 0.0012 * RNG.standard_normal(9)).tolist()

#: Samples to converge of points of mlcommons/logging 7bbf7926 (Apache 2.0), `rcp_checker/training_1.0.0`, with runs of
#: a submission, and the mean, SD and smallest mean ("Min Epochs") of its `RCP_Checker`.
POINTS = {
    "bert_ref_256": (
        [2834944, 2508800, 2709504, 2609152, 2383360, 2308096, 2910208, 2333184, 2283008, 2935296, 2483712, 2558976,
         2709504, 2232832, 2333184, 2533888, 2709504, 2257920, 2609152, 2809856],
        10, 2549219.5555555555, 218406.13406770426, 2390441.5519584813,
    ),
    "resnet_ref_1632": (
        [34, 34, 34, 35, 35, 37, 35, 35, 33, 35, 35, 37, 37, 35, 35, 34, 35],
        5, 35.0, 1.0846522890932808, 33.80234241485596,
    ),
    "resnet_ref_2048": (
        [38, 39, 38, 39, 38, 39, 38, 39, 38, 38], 5, 38.375, 0.4898979485566356, 37.76700985431671
    ),
}  # fmt: skip


@pytest.mark.parametrize("direction", ["lower", "higher"])
def test_t_is_that_of_scipy(direction):
    alternative = {"lower": "less", "higher": "greater"}[direction]
    expected = stats.ttest_1samp(VALUES, 3.28, alternative=alternative)
    found = reach_target(VALUES, 3.28, direction, 0.05)
    assert found.p_reached == pytest.approx(expected.pvalue, abs=1e-12)
    assert found.p_missed == pytest.approx(1 - expected.pvalue, abs=1e-12)
    low, high = expected.confidence_interval(0.95)
    assert found.bound == pytest.approx(high if direction == "lower" else low, abs=1e-12)


def test_a_known_sd_gives_z_and_signs_the_binomial_test():
    z = (3.28 - np.mean(VALUES)) / 0.0013 * 3
    found = reach_target(VALUES, 3.28, "lower", 0.05, test="sd", sd=0.0013)
    assert (found.statistic, found.p_reached) == (pytest.approx(z), pytest.approx(stats.norm.sf(z), abs=1e-12))
    signs = reach_target(VALUES, 3.28, "lower", 0.05, test="sign")
    there = sum(value <= 3.28 for value in VALUES)
    assert signs.statistic == there
    assert signs.p_reached == pytest.approx(stats.binomtest(there, 9, alternative="greater").pvalue, abs=1e-12)
    assert signs.p_missed == pytest.approx(stats.binomtest(there, 9, alternative="less").pvalue, abs=1e-12)


def test_equal_runs_and_one_run_have_no_test_of_the_mean():
    assert reach_target([1.0], 2.0, "lower", 0.05).reason == "one run has no SD"
    assert "all runs are equal" in reach_target([1.0, 1.0], 2.0, "lower", 0.05).reason


@pytest.mark.parametrize("point", POINTS)
def test_the_limit_is_that_of_the_published_checker(point):
    reference, runs, mean, sd, limit = POINTS[point]
    found = convergence([mean] * runs, reference)
    assert (found.reference, found.sd) == (pytest.approx(mean, rel=1e-12), pytest.approx(sd, rel=1e-12))
    # The checker halves until it knows the limit to 0.0001.
    assert found.limit == pytest.approx(limit, abs=1e-4)
    assert convergence([limit + 1e-3] * runs, reference).passed
    assert not convergence([limit - 1e-3] * runs, reference).passed
