"""The interval of an SD that allows for tails, and the runs that know an SD to a width."""

import math
import statistics

import numpy as np
import pytest
from scipy import stats

from deviate.stats.intervals import (
    CHI_SQUARE,
    cautious_sd_interval,
    farthest_end,
    robust_sd_interval,
    runs_for_sd,
    sd_interval,
)

RNG = np.random.default_rng(11)
SAMPLES = [RNG.normal(5, 2, 20), RNG.standard_exponential(35), RNG.standard_t(3, 12), RNG.normal(0, 1e-9, 9)]


def bonett(values, level):
    """Reference: the formula of Bonett (2006), equation 2, in plain Python."""
    n, z = len(values), statistics.NormalDist().inv_cdf((1 + level) / 2)
    ordered = sorted(values)
    cut = int(n / (2 * math.sqrt(n - 4)))
    trimmed = statistics.fmean(ordered[cut : n - cut])
    kurtosis = n * math.fsum((x - trimmed) ** 4 for x in values) / ((n - 1) * statistics.variance(values)) ** 2
    c = n / (n - z)
    se = c * math.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    log = math.log(c * statistics.variance(values))
    return math.exp((log - z * se) / 2), math.exp((log + z * se) / 2)


@pytest.mark.parametrize("values", SAMPLES, ids=["normal", "skewed", "heavy", "tiny"])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_it_is_bonett_s_interval(values, level):
    interval = robust_sd_interval(values, level)
    assert (interval.low, interval.high) == pytest.approx(bonett(values.tolist(), level))


@pytest.mark.parametrize("values", SAMPLES, ids=["normal", "skewed", "heavy", "tiny"])
def test_the_cautious_one_holds_both(values):
    cautious, normal, robust = cautious_sd_interval(values), sd_interval(values), robust_sd_interval(values)
    assert cautious.low == min(normal.low, robust.low)
    assert cautious.high == max(normal.high, robust.high)


def test_tails_that_show_widen_it():
    heavy = np.concatenate([np.zeros(20) + RNG.normal(0, 0.1, 20), [5.0, -5.0]])
    assert farthest_end(cautious_sd_interval(heavy), heavy.std(ddof=1)) > farthest_end(
        sd_interval(heavy), heavy.std(ddof=1)
    )


@pytest.mark.parametrize(
    ("values", "reason"), [([1.0, 2.0, 3.0], "too few runs"), ([2.0] * 8, "same value"), ([1.0], "two runs")]
)
def test_where_there_is_none_the_reason_says_why(values, reason):
    assert reason in robust_sd_interval(values).reason
    assert farthest_end(robust_sd_interval(values), 1.0) is None


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 5.0]])
def test_below_five_runs_the_cautious_interval_is_that_of_normal_values(values):
    assert cautious_sd_interval(values) == sd_interval(values)
    assert cautious_sd_interval([*values, 4.0, 2.5, 8.0]).method != CHI_SQUARE


@pytest.mark.parametrize("width", [1.0, 0.5, 0.25, 0.1])
def test_the_runs_for_a_width_are_the_first_that_reach_it(width):
    n = runs_for_sd(width)
    upper = [math.sqrt((k - 1) / stats.chi2.ppf(0.025, k - 1)) - 1 for k in (n - 1, n)]
    assert upper[1] <= width < upper[0]


def test_a_width_nobody_can_reach_has_no_number():
    assert runs_for_sd(1e-4) is None
    with pytest.raises(ValueError, match="above 0"):
        runs_for_sd(0)
