"""How often a spread hides a difference, against drawn runs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.stats.intervals import Interval
from deviate.stats.power import misranking

UNKNOWN = Interval(level=0.95, method="chi-square", reason="one run")
POSITIVE = st.floats(min_value=1e-6, max_value=1e6)


@pytest.mark.parametrize(("difference", "sd"), [(0.5, 1.0), (1.0, 1.0), (2.0, 0.7)])
def test_single_runs_of_two_recipes_are_in_the_wrong_order_as_often_as_said(difference, sd):
    rng = np.random.default_rng(0)
    worse, better = rng.normal(0, sd, 200_000), rng.normal(difference, sd, 200_000)
    drawn = np.mean(worse > better)
    assert misranking(difference, sd, UNKNOWN).wrong == pytest.approx(drawn, abs=4 * math.sqrt(0.25 / 200_000))


@given(POSITIVE, POSITIVE, POSITIVE)
def test_neither_the_unit_nor_more_than_a_coin_matters(difference, sd, unit):
    here, there = misranking(difference, sd, UNKNOWN), misranking(difference * unit, sd * unit, UNKNOWN)
    assert here.wrong == pytest.approx(there.wrong, rel=1e-6, abs=1e-12)
    assert here.sd_in_differences == pytest.approx(there.sd_in_differences)
    assert 0 <= here.wrong <= 0.5


def test_the_interval_is_that_of_the_sd_and_unknown_where_that_is():
    known = misranking(0.5, 0.5, Interval(level=0.95, method="chi-square", low=0.25, high=1.0))
    assert known.low == misranking(0.5, 0.25, UNKNOWN).wrong
    assert known.high == misranking(0.5, 1.0, UNKNOWN).wrong
    unknown = misranking(0.5, 0.0, UNKNOWN)
    assert (unknown.wrong, unknown.low, unknown.high) == (0.0, None, None)


@pytest.mark.parametrize("difference", [0.0, -1.0, math.nan])
def test_no_difference_is_refused(difference):
    with pytest.raises(ValueError, match="above 0"):
        misranking(difference, 1.0, UNKNOWN)
