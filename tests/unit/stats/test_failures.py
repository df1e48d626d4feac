"""Rates of failures: their limits, and what so many runs can see."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from deviate.stats.failures import failure_contrast, failure_rate, far_from_others, rate_seen


@pytest.mark.parametrize(("failed", "runs"), [(0, 5), (1, 10), (7, 30), (30, 30)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_limits_are_those_of_statsmodels(failed, runs, level):
    interval = failure_rate(failed, runs, level).interval
    expected = proportion_confint(failed, runs, 1 - level, method="beta")
    assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_without_a_run_nothing_is_known():
    rate = failure_rate(0, 0)
    assert (rate.share, rate.interval.known, rate.interval.reason) == (None, False, "no run has ended")
    with pytest.raises(ValueError, match="between 0 and 3"):
        failure_rate(4, 3)
    with pytest.raises(ValueError, match="without a run"):
        rate_seen(0)


@pytest.mark.parametrize("runs", [1, 5, 29, 100])
def test_the_rate_that_is_seen_is_seen_so_often(runs):
    assert 1 - stats.binom.pmf(0, runs, rate_seen(runs, 0.95)) == pytest.approx(0.95)


def test_two_rates_are_compared_by_fishers_test():
    contrast = failure_contrast(5, 10, 0, 12)
    assert contrast.fisher.p == pytest.approx(stats.fisher_exact([[5, 5], [0, 12]]).pvalue, rel=1e-9)
    assert failure_contrast(0, 10, 0, 10).fisher.reason == "no run failed"
    assert failure_contrast(0, 0, 1, 10).fisher.reason == "one experiment has no run"


def test_collapsed_runs_are_far_from_the_others_and_usual_ones_are_not():
    rng = np.random.default_rng(0)
    for n in (5, 8, 30):
        values = 97 + 0.5 * rng.standard_normal(n)
        values[-2:] = 10.0 if n > 5 else values[-2:]
        values[0] = 11.0
        assert set(far_from_others(values)) == ({0, n - 2, n - 1} if n > 5 else {0})
    normal = rng.standard_normal((500, 10))
    assert sum(bool(far_from_others(sample)) for sample in normal) <= 10
    assert far_from_others([1.0, 2.0, 90.0]) == []
