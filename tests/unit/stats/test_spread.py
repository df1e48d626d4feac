"""Spread of one sample, against the statistics module and by property."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from deviate.stats.spread import Spread, spread

ORDINARY = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False).map(lambda x: round(x, 6))
SAMPLES = st.lists(ORDINARY, min_size=2, max_size=30)
ANY_FINITE = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=12)
NUMBERS = ("mean", "sd", "min", "max", "range", "median", "iqr", "trimmed_mean")


@given(SAMPLES)
def test_agrees_with_the_statistics_module(values):
    """Python's exact rational arithmetic is the reference."""
    measured = spread(values)
    assert measured.mean == pytest.approx(statistics.mean(values), rel=1e-9, abs=1e-9)
    assert measured.sd == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-6)
    assert measured.median == pytest.approx(statistics.median(values), rel=1e-12)
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    assert measured.iqr == pytest.approx(upper - lower, rel=1e-9, abs=1e-9)
    assert (measured.min, measured.max, measured.n) == (min(values), max(values), len(values))


def test_agrees_with_a_certified_value():
    """NIST StRD data set NumAcc3: mean 1000000.2 and SD 0.1 exactly, where naive sums of squares fail."""
    values = [1000000.2] + [1000000.1, 1000000.3] * 500
    measured = spread(values)
    assert measured.mean == pytest.approx(1000000.2, rel=1e-15)
    assert measured.sd == pytest.approx(0.1, rel=1e-9)


@given(SAMPLES, st.floats(min_value=-1e6, max_value=1e6))
def test_shifting_moves_the_location_and_leaves_the_spread(values, shift):
    before, after = spread(values), spread(np.asarray(values) + shift)
    for name in ("mean", "median", "min", "max"):
        assert getattr(after, name) == pytest.approx(getattr(before, name) + shift, rel=1e-9, abs=1e-6)
    for name in ("sd", "range", "iqr"):
        assert getattr(after, name) == pytest.approx(getattr(before, name), rel=1e-6, abs=1e-5)


@given(SAMPLES, st.integers(min_value=-40, max_value=40))
def test_scaling_scales_all_but_cv(values, power):
    factor = 2.0**power
    before, after = spread(values), spread(np.asarray(values) * factor)
    assert [getattr(after, name) for name in NUMBERS] == [getattr(before, name) * factor for name in NUMBERS]
    assert after.cv == before.cv


@given(SAMPLES, st.randoms(use_true_random=False))
def test_order_of_the_runs_does_not_matter(values, random):
    shuffled = random.sample(values, len(values))
    before, after = spread(values), spread(shuffled)
    for name in NUMBERS:
        assert getattr(after, name) == pytest.approx(getattr(before, name), rel=1e-9, abs=1e-9)


@given(ANY_FINITE)
def test_numbers_are_finite_or_withheld_with_a_reason(values):
    """No finite sample overflows, underflows to a false zero, or puts the mean outside the values."""
    measured = spread(values)
    for name in (*NUMBERS, "cv"):
        number = getattr(measured, name)
        assert (number is None) == (name in measured.withheld)
        assert number is None or math.isfinite(number)
    assert measured.min <= measured.mean <= measured.max
    assert measured.identical == (len(set(values)) == 1)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(min_value=2, max_value=30))
def test_equal_values_have_no_spread_at_all(value, n):
    """0.1 + 0.1 + 0.1 is not 0.3, but three runs at 0.1 have the mean 0.1 and the SD 0."""
    measured = spread([value] * n)
    assert measured.identical
    assert (measured.mean, measured.sd, measured.range, measured.iqr) == (value, 0, 0, 0)


def test_one_run_has_a_location_and_no_spread():
    measured = spread([0.5])
    assert (measured.n, measured.mean, measured.median, measured.min, measured.max) == (1, 0.5, 0.5, 0.5, 0.5)
    assert (measured.sd, measured.cv, measured.range, measured.iqr) == (None, None, None, None)
    assert set(measured.withheld) == {"sd", "cv", "range", "iqr"}
    assert not measured.identical


def test_no_run_has_nothing():
    measured = spread([])
    assert measured == Spread(n=0, withheld=measured.withheld)
    assert set(measured.withheld) == {*NUMBERS, "cv"}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([-1.0, 2.0, 5.0], "values below zero, so the metric is not a ratio scale"),
        ([-3.0, -2.0], "values below zero, so the metric is not a ratio scale"),
        ([0.0, 0.0, 0.0], "the mean is zero"),
        ([0.0, 0.0, 3.0], "the mean is within one SD of zero"),
    ],
)
def test_cv_is_withheld_where_it_means_nothing(values, reason):
    measured = spread(values)
    assert measured.cv is None
    assert measured.withheld["cv"] == reason


def test_cv_of_a_known_ratio_scale_may_be_large():
    measured = spread([0.0, 0.0, 3.0], ratio_scale=True)
    assert measured.cv == pytest.approx(3**0.5)
    assert spread([-1.0, 3.0], ratio_scale=True).cv is None
    assert spread([0.0, 0.0], ratio_scale=True).cv is None


@given(SAMPLES.map(lambda values: [abs(value) for value in values]))
def test_cv_where_given_lies_between_0_and_1(values):
    measured = spread(values)
    assume(measured.cv is not None)
    assert 0 <= measured.cv <= 1
    assert measured.cv == pytest.approx(measured.sd / measured.mean)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_diverged_runs_must_be_excluded_first(bad):
    with pytest.raises(ValueError, match="exclude and count them first"):
        spread([0.5, bad])


def test_a_sample_is_one_dimensional():
    with pytest.raises(ValueError, match=r"shape \(2, 2\)"):
        spread([[1.0, 2.0], [3.0, 4.0]])


def test_runs_far_from_the_others_move_no_trimmed_mean():
    values = [96.0, 97.0, 98.0, 97.5, 96.5, 97.2, 96.8, 97.1, 10.0, 11.0]
    assert spread(values).trimmed_mean == pytest.approx(stats.trim_mean(values, 0.2), rel=1e-12)
    assert spread(values).trimmed_mean > 96
