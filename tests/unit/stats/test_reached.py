"""When runs reach their best or a threshold, against pandas and by property."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.stats.curves import Reached, reached_best, reached_threshold

CURVE = st.lists(st.floats(min_value=-1e3, max_value=1e3) | st.just(float("nan")), min_size=1, max_size=30)
DIRECTIONS = st.sampled_from(["higher", "lower"])


@given(CURVE, DIRECTIONS)
def test_best_is_where_pandas_finds_it(values, direction):
    series = pd.Series(values, index=np.arange(len(values)) * 10, dtype=float)
    reached = reached_best(series.index, values, direction)
    if series.isna().all():
        assert reached == Reached()
    else:
        assert reached.iteration == (series.idxmax() if direction == "higher" else series.idxmin())
        assert reached.value == (series.max() if direction == "higher" else series.min())


@given(CURVE, st.floats(min_value=-1e3, max_value=1e3), DIRECTIONS)
def test_threshold_is_crossed_where_pandas_finds_it(values, threshold, direction):
    series = pd.Series(values, dtype=float)
    crossed = series[series >= threshold] if direction == "higher" else series[series <= threshold]
    reached = reached_threshold(series.index, values, threshold, direction)
    assert reached.iteration == (None if crossed.empty else crossed.index[0])


@given(CURVE, DIRECTIONS)
def test_the_best_value_is_the_last_threshold_that_is_reached(values, direction):
    best = reached_best(range(len(values)), values, direction)
    if best.value is not None:
        assert reached_threshold(range(len(values)), values, best.value, direction) == best


@given(CURVE, st.floats(min_value=-1e3, max_value=1e3))
def test_lower_is_higher_with_the_sign_changed(values, threshold):
    up = reached_threshold(range(len(values)), values, threshold, "higher")
    down = reached_threshold(range(len(values)), [-value for value in values], -threshold, "lower")
    assert up.iteration == down.iteration


def test_seconds_come_with_it_where_they_are_known():
    assert reached_best([5, 6], [1.0, 2.0], "higher", [10.0, 20.0]).seconds == pytest.approx(20.0)
    assert reached_best([5, 6], [1.0, 2.0], "higher", [10.0, float("nan")]).seconds is None
    assert reached_best([5, 6], [1.0, 2.0], "higher").seconds is None
