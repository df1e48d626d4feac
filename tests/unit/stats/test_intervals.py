"""Intervals of the mean and the SD, against published values, SciPy and statsmodels, and by property."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from deviate.stats.intervals import (
    bootstrap_mean_intervals,
    bootstrap_sd_intervals,
    mean_interval,
    sd_factors,
    sd_interval,
)

SAMPLES = st.lists(st.floats(min_value=-1e3, max_value=1e3).map(lambda x: round(x, 4)), min_size=2, max_size=30)
LEVELS = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
BOTH = pytest.mark.parametrize("interval_of", [mean_interval, sd_interval])


def bootstrap_mean_interval(sample, rng, **options):
    return bootstrap_mean_intervals([sample], rng, **options)[0]


def bootstrap_sd_interval(sample, rng, **options):
    return bootstrap_sd_intervals([sample], rng, **options)[0]


BOOTSTRAPS = pytest.mark.parametrize("interval_of", [bootstrap_mean_interval, bootstrap_sd_interval])

ACCURACIES = [96.9, 97.2, 96.1, 97.8, 96.9, 97.2, 96.4, 97.0]


def varied(values):
    assume(np.ptp(values) > 1e-3)
    return values


@pytest.mark.parametrize(
    ("n", "low", "high"),
    [(3, 0.52, 6.28), (5, 0.60, 2.87), (8, 0.66, 2.04), (10, 0.69, 1.83), (16, 0.74, 1.55), (30, 0.80, 1.34)],
)
def test_sd_factors_are_those_of_the_tables(n, low, high):
    assert sd_factors(n) == (pytest.approx(low, abs=0.005), pytest.approx(high, abs=0.005))


@pytest.mark.parametrize(("n", "half"), [(3, 2.48), (5, 1.24), (10, 0.72), (16, 0.53), (30, 0.37)])
def test_mean_interval_has_the_half_width_of_the_tables(n, half):
    """Student's t: the half-width in units of the SD."""
    values = np.arange(n, dtype=float)
    interval = mean_interval(values)
    assert (interval.high - interval.low) / 2 / values.std(ddof=1) == pytest.approx(half, abs=0.005)


@given(SAMPLES, LEVELS)
def test_mean_interval_inverts_the_t_test(values, level):
    """The ends are the means that a one-sample t test just rejects."""
    interval = mean_interval(varied(values), level)
    for end in (interval.low, interval.high):
        assert stats.ttest_1samp(values, end).pvalue == pytest.approx(1 - level, rel=1e-6)


@given(SAMPLES, LEVELS)
def test_sd_interval_inverts_the_chi_square_test(values, level):
    interval = sd_interval(varied(values), level)
    squares = (len(values) - 1) * np.var(values, ddof=1)
    tail = (1 - level) / 2
    assert stats.chi2.cdf(squares / interval.high**2, len(values) - 1) == pytest.approx(tail, rel=1e-6)
    assert stats.chi2.sf(squares / interval.low**2, len(values) - 1) == pytest.approx(tail, rel=1e-6)


def test_mean_interval_agrees_with_statsmodels():
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    low, high = weightstats.DescrStatsW(ACCURACIES).tconfint_mean(alpha=0.1)
    interval = mean_interval(ACCURACIES, 0.9)
    assert (interval.low, interval.high) == (pytest.approx(low, rel=1e-12), pytest.approx(high, rel=1e-12))


@BOOTSTRAPS
def test_bootstrap_agrees_with_scipy_on_the_same_draws(interval_of):
    statistic = np.mean if interval_of is bootstrap_mean_interval else stats.tstd
    expected = stats.bootstrap(
        (ACCURACIES,), statistic, method="BCa", rng=np.random.default_rng(5), n_resamples=2000, vectorized=False
    ).confidence_interval
    interval = interval_of(ACCURACIES, np.random.default_rng(5), resamples=2000)
    assert interval.low == pytest.approx(expected.low, rel=1e-9)
    assert interval.high == pytest.approx(expected.high, rel=1e-9)


@BOOTSTRAPS
def test_the_same_generator_gives_the_same_interval_and_the_global_one_is_untouched(interval_of):
    before = np.random.get_state()[1].tolist()
    first, second = (interval_of(ACCURACIES, np.random.default_rng(3), resamples=500) for _ in range(2))
    assert first == second
    assert first != interval_of(ACCURACIES, np.random.default_rng(4), resamples=500)
    assert np.random.get_state()[1].tolist() == before


@BOOTSTRAPS
def test_bootstrap_says_why_there_is_none(interval_of):
    rng = np.random.default_rng(0)
    assert interval_of([1.0], rng).reason == "an interval needs two runs or more"
    assert interval_of([1.0, 2.0, 3.0, 4.0], rng).reason == "a bootstrap interval needs 5 runs or more"
    assert interval_of([2.0] * 6, rng).reason == "all 6 runs gave exactly the same value"


@pytest.mark.parametrize(
    ("single", "joint"),
    [(bootstrap_mean_interval, bootstrap_mean_intervals), (bootstrap_sd_interval, bootstrap_sd_intervals)],
)
def test_several_samples_together_give_what_each_gives_alone(single, joint):
    """Samples of one length share their draws, so each is as if it were the first; others keep their reasons."""
    # So many that no resample is the sample itself: up to rounding it would tie, and the order of summing decide.
    drawn = np.random.default_rng(2).normal(size=(2, 25))
    samples = [drawn[0], [1.0], drawn[1], [2.0] * 6, [1.0, 2.0, 3.0]]
    intervals = joint(samples, np.random.default_rng(8), resamples=999)
    for sample, interval in zip(samples, intervals, strict=True):
        alone = single(sample, np.random.default_rng(8), resamples=999)
        assert interval.reason == alone.reason
        if alone.known:
            assert interval.low == pytest.approx(alone.low, rel=1e-12)
            assert interval.high == pytest.approx(alone.high, rel=1e-12)


@BOTH
@given(values=SAMPLES, power=st.integers(min_value=-300, max_value=300))
def test_scaling_the_values_scales_the_interval(interval_of, values, power):
    before = interval_of(varied(values))
    after = interval_of(np.ldexp(values, power))
    assert after.low == pytest.approx(math.ldexp(before.low, power), rel=1e-9)
    assert after.high == pytest.approx(math.ldexp(before.high, power), rel=1e-9)


@given(SAMPLES, st.floats(min_value=-100, max_value=100))
def test_shifting_the_values_shifts_the_mean_interval_alone(values, shift):
    moved = np.asarray(varied(values)) + shift
    mean, sd = mean_interval(values), sd_interval(values)
    assert mean_interval(moved).low == pytest.approx(mean.low + shift, abs=1e-7)
    assert sd_interval(moved).high == pytest.approx(sd.high, rel=1e-6)


@BOTH
@given(values=SAMPLES, random=st.randoms(use_true_random=False))
def test_order_of_the_runs_does_not_matter(interval_of, values, random):
    before = interval_of(varied(values))
    after = interval_of(random.sample(values, len(values)))
    assert (after.low, after.high) == (pytest.approx(before.low, abs=1e-7), pytest.approx(before.high, rel=1e-9))


@BOTH
@given(values=SAMPLES)
def test_a_higher_level_gives_a_wider_interval_around_the_estimate(interval_of, values):
    narrow, wide = interval_of(varied(values), 0.8), interval_of(values, 0.99)
    estimate = np.mean(values) if interval_of is mean_interval else np.std(values, ddof=1)
    # Below 3 runs the chi-square interval of the SD lies above its estimate at low levels, so only the wide one must.
    assert wide.low < narrow.low < narrow.high < wide.high
    assert wide.low <= estimate <= wide.high


@BOTH
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "an interval needs two runs or more"),
        ([1.0], "an interval needs two runs or more"),
        ([0.1, 0.1, 0.1], "all 3 runs gave exactly the same value"),
    ],
)
def test_an_unknown_interval_says_why(interval_of, values, reason):
    interval = interval_of(values)
    assert (interval.low, interval.high, interval.known) == (None, None, False)
    assert interval.reason == reason


@BOTH
def test_an_interval_beyond_float64_is_unknown(interval_of):
    assert "larger than" in interval_of([1e308, -1e308]).reason


@BOTH
@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_a_level_is_a_share(interval_of, level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        interval_of([1.0, 2.0], level)


def test_one_run_has_no_factors():
    with pytest.raises(ValueError, match="2 runs or more"):
        sd_factors(1)
