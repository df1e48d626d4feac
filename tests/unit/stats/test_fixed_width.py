"""A mean known to a width: when it is enough, and which interval is given."""

import math

import numpy as np
import pytest
from scipy import stats

from deviate.stats.intervals import EXTRA_RUNS, fixed_width

VALUES = np.random.default_rng(5).normal(90, 1, 60)


def t_half_width(values, level=0.95):
    """Reference: SciPy's own interval of a mean."""
    interval = stats.ttest_1samp(values, 0).confidence_interval(level)
    return (interval.high - interval.low) / 2


def first_narrow(values, width, least):
    return next(n for n in range(least, len(values) + 1) if t_half_width(values[:n]) <= width)


def test_enough_are_two_runs_more_than_at_the_first_narrow_look():
    first = first_narrow(VALUES, 0.5, 10)
    assert 10 < first < 50
    assert fixed_width(VALUES, 0.5, least=10).enough_at == first + EXTRA_RUNS
    for n, met in ((first - 1, False), (first, False), (first + 1, False), (first + 2, True), (first + 9, True)):
        assert fixed_width(VALUES[:n], 0.5, least=10).met is met


def test_the_interval_is_the_width_asked_for_once_it_is_met():
    width = fixed_width(VALUES, 0.5, least=10)
    assert (width.interval.low, width.interval.high) == pytest.approx((VALUES.mean() - 0.5, VALUES.mean() + 0.5))
    assert width.half_width == pytest.approx(t_half_width(VALUES))


def test_before_it_is_met_the_interval_is_the_t_interval_and_never_narrower_than_the_width():
    early = fixed_width(VALUES[:10], 0.1, least=10)
    assert not early.met
    assert early.interval.high - early.interval.low == pytest.approx(2 * t_half_width(VALUES[:10]))
    just = fixed_width(VALUES[:10], 100.0, least=10)
    assert not just.met
    assert just.interval.high - just.interval.low == pytest.approx(200)


def test_no_look_is_taken_before_the_first_one_allowed():
    assert fixed_width(VALUES, 100.0, least=10).enough_at == 10 + EXTRA_RUNS
    assert fixed_width(VALUES, 100.0, least=20).enough_at == 20 + EXTRA_RUNS


def test_a_relative_width_is_a_share_of_the_absolute_mean():
    width = fixed_width(VALUES, 0.005, relative=True, least=10)
    assert width.wanted == pytest.approx(0.005 * VALUES.mean())
    mirrored = fixed_width(-VALUES, 0.005, relative=True, least=10)
    assert (mirrored.enough_at, mirrored.wanted) == (width.enough_at, pytest.approx(width.wanted))
    assert mirrored.interval.low == pytest.approx(-width.interval.high)


def test_equal_values_are_never_enough():
    width = fixed_width(np.full(30, 97.0), 0.5, least=10)
    assert not width.met
    assert not width.interval.known
    assert "exactly the same value" in width.interval.reason


def test_looks_at_equal_values_are_passed_over():
    values = np.concatenate([np.full(10, 97.0), VALUES])
    assert fixed_width(values, 100.0, least=10).enough_at == 11 + EXTRA_RUNS


@pytest.mark.parametrize("shift", [-90.0, 1e6])
def test_shifting_and_scaling_all_values_changes_nothing_but_the_unit(shift):
    plain, other = fixed_width(VALUES, 0.5, least=10), fixed_width(4 * VALUES + shift, 2.0, least=10)
    assert other.enough_at == plain.enough_at
    assert other.interval.low == pytest.approx(4 * plain.interval.low + shift)


def test_the_level_is_that_of_the_looks():
    assert fixed_width(VALUES, 0.5, least=10, level=0.8).enough_at < fixed_width(VALUES, 0.5, least=10).enough_at


@pytest.mark.parametrize(("width", "least"), [(0, 10), (-1, 10), (math.inf, 10), (math.nan, 10), (1, 4)])
def test_what_cannot_be_asked_is_refused(width, least):
    with pytest.raises(ValueError, match=r"above 0|runs or more"):
        fixed_width(VALUES, width, least=least)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_values_have_no_interval(n):
    width = fixed_width(VALUES[:n], 0.5, least=10)
    assert (width.n, width.met, width.enough_at) == (n, False, None)
    assert width.interval.known == (n > 1)


def test_stopped_samples_have_an_interval_about_their_mean_no_narrower_than_asked_for():
    """How often it covers is told by ``benchmarks/statistics/until.py``."""
    rng = np.random.default_rng(3)
    for sample in rng.normal(0, 1, (40, 26)):
        n = fixed_width(sample, 0.5, least=10).enough_at or 26
        width = fixed_width(sample[:n], 0.5, least=10)
        assert width.interval.high - width.interval.low >= 1 - 1e-12
        assert abs(np.mean(sample[:n]) - (width.interval.high + width.interval.low) / 2) < 1e-12
