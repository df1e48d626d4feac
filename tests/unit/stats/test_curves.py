"""Median and band of learning curves, against pandas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.stats.curves import curve_band, parting

RUN = st.lists(st.floats(min_value=-1e3, max_value=1e3) | st.just(float("nan")), max_size=12)
RUNS = st.lists(RUN.map(lambda values: (list(range(len(values))), values)), max_size=8)


@given(RUNS)
def test_agrees_with_pandas_grouped_quantiles(runs):
    rows = [(step, value) for steps, values in runs for step, value in zip(steps, values, strict=True)]
    grouped = pd.DataFrame(rows, columns=["step", "value"], dtype=float).dropna().groupby("step")["value"]
    band = curve_band(runs, band=0.8)
    expected = grouped.quantile([0.1, 0.5, 0.9]).unstack() if rows else pd.DataFrame(columns=[0.1, 0.5, 0.9])
    assert band.iterations.tolist() == sorted(expected.index)
    assert band.n.tolist() == grouped.count().tolist()
    if band.iterations.size:
        np.testing.assert_allclose(np.stack([band.low, band.median, band.high], axis=1), expected, atol=1e-9)


@given(RUNS, st.randoms(use_true_random=False))
def test_order_of_the_runs_does_not_matter(runs, random):
    first, second = curve_band(runs), curve_band(random.sample(runs, len(runs)))
    np.testing.assert_array_equal(first.median, second.median)
    np.testing.assert_array_equal(first.n, second.n)


def test_a_curve_is_not_extended_beyond_its_end():
    band = curve_band([([0], [1.0]), ([0, 1], [3.0, 9.0])])
    assert band.n.tolist() == [2, 1]
    assert (band.low[1], band.median[1], band.high[1]) == (9.0, 9.0, 9.0)


def test_of_several_values_at_one_iteration_the_last_finite_one_counts():
    band = curve_band([([0, 0, 0], [1.0, 2.0, float("nan")])])
    assert band.median.tolist() == [2.0]


def test_no_run_gives_an_empty_curve():
    assert curve_band([]).median.size == 0
    assert curve_band([([0], [float("inf")])]).iterations.size == 0


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        curve_band([([0, 1], [1.0])])
    with pytest.raises(ValueError, match="share of the runs"):
        curve_band([], band=1.0)


@given(RUNS, st.floats(min_value=0, max_value=100))
def test_runs_part_where_pandas_finds_the_first_range_beyond_the_tolerance(runs, tolerance):
    rows = [(step, value) for steps, values in runs for step, value in zip(steps, values, strict=True)]
    grouped = pd.DataFrame(rows, columns=["step", "value"], dtype=float).dropna().groupby("step")["value"]
    ranges = (grouped.max() - grouped.min())[grouped.count() > 1]
    near = (ranges - tolerance).abs() < 1e-9 * (1 + ranges)
    parted = parting(runs, tolerance)
    assert parted.compared == len(ranges)
    if not near.any():
        beyond = ranges[ranges > tolerance]
        assert parted.iteration == (None if beyond.empty else beyond.index[0])
        assert parted.apart is None or parted.apart == pytest.approx(beyond.iloc[0])


def test_one_bit_parts_runs():
    parted = parting([([0, 1], [1.0, 0.5]), ([0, 1], [1.0, np.nextafter(0.5, 1)])])
    assert (parted.iteration, parted.apart) == (1, np.nextafter(0.5, 1) - 0.5)


def test_runs_that_share_no_iteration_never_part():
    assert parting([([0], [1.0]), ([1], [2.0])]).compared == 0
    assert parting([]).iteration is None
    with pytest.raises(ValueError, match="0 or more"):
        parting([], tolerance=-1.0)
