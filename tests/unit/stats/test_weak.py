"""Weak runs, against SciPy's MAD, a published example and by property."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deviate.stats.failures import (
    MAD_CUTOFF,
    MEAN_DEVIATION_TO_SD,
    collapsed_runs,
    far_from_others,
    weak_beyond,
    weak_by_mad,
)

VALUES = st.lists(st.floats(min_value=-1e3, max_value=1e3).map(lambda x: round(x, 3)), min_size=5, max_size=30)


@pytest.mark.parametrize(("sign", "weak"), [("<", [1, 3]), ("<=", [1, 2, 3]), (">", [0, 3]), (">=", [0, 2, 3])])
def test_a_bar_parts_the_runs_and_nan_is_weak_on_either_side(sign, weak):
    assert weak_beyond([90.0, 10.0, 50.0, float("nan")], sign, 50.0).places == weak


def test_an_infinity_is_weak_whatever_the_bar():
    assert weak_beyond([1.0, float("inf"), float("-inf")], "<", 0.0).places == [1, 2]


@given(VALUES)
def test_the_robust_rule_is_the_modified_z_score(values):
    """Iglewicz and Hoaglin: 0.6745 (x - median) / MAD, beyond 3.5, as SciPy's MAD gives it."""
    mad = stats.median_abs_deviation(values, scale="normal")
    if mad == 0:
        return
    scores = np.abs(np.asarray(values) - np.median(values)) / mad
    clear = np.abs(scores - MAD_CUTOFF) > 1e-9
    weak = weak_by_mad(values)
    assert [index for index in np.flatnonzero(scores > MAD_CUTOFF) if clear[index]] == [
        index for index in weak.places if clear[index]
    ]


def test_hampels_outlier_is_found_where_the_standard_score_masks_it():
    """Two gross errors inflate the SD so much that neither is beyond 3 SDs; the median does not move."""
    values = [2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3]
    assert np.abs(stats.zscore(values)).max() < 3
    assert weak_by_mad(values).places == [8, 9]


def test_only_the_worse_side_is_weak():
    values = [90.0, 90.1, 89.9, 90.2, 10.0, 170.0]
    assert weak_by_mad(values, "higher").places == [4]
    assert weak_by_mad(values, "lower").places == [5]
    assert weak_by_mad(values).places == [4, 5]


def test_where_most_runs_are_equal_the_mean_deviation_takes_over():
    values = [90.0] * 20 + [10.0]
    assert stats.median_abs_deviation(values) == 0
    scale = MEAN_DEVIATION_TO_SD * np.mean(np.abs(np.asarray(values) - 90.0))
    assert 80.0 / scale > MAD_CUTOFF
    assert weak_by_mad(values).places == [20]
    assert weak_by_mad([90.0] * 6).reason == "all finite values are equal"


def test_mean_deviation_of_the_normal_distribution():
    assert pytest.approx(1 / stats.norm.expect(abs), rel=1e-9) == MEAN_DEVIATION_TO_SD


def test_too_few_runs_are_not_judged_but_nan_is_weak():
    weak = weak_by_mad([1.0, 2.0, float("nan"), 99.0])
    assert weak.places == [2]
    assert "5 finite values" in weak.reason


@given(VALUES, st.floats(min_value=0.1, max_value=10), st.floats(min_value=-50, max_value=50))
def test_shift_and_scale_do_not_change_who_is_weak(values, scale, shift):
    sample = np.asarray(values)
    spread = stats.median_abs_deviation(sample, scale="normal") or MEAN_DEVIATION_TO_SD * np.mean(
        np.abs(sample - np.median(sample))
    )
    if spread < 1e-2 or (np.abs(np.abs(sample - np.median(sample)) / spread - MAD_CUTOFF) < 1e-6).any():
        return
    if stats.median_abs_deviation(sample) == 0:
        return
    assert weak_by_mad(sample).places == weak_by_mad(scale * sample + shift).places


@pytest.mark.parametrize("collapsed", [1, 3, 15, 18])
def test_collapsed_runs_are_found_where_they_are_the_larger_part_too(collapsed):
    rng = np.random.default_rng(5)
    values = [*(10 + 0.2 * rng.standard_normal(collapsed)), *(90 + rng.standard_normal(30 - collapsed))]
    assert collapsed_runs([values], "higher") == [list(range(collapsed))]
    assert collapsed_runs([-np.asarray(values)], "lower") == [list(range(collapsed))]


def test_a_few_runs_are_collapsed_beside_those_of_the_other_side_and_a_shifted_side_is_not():
    typical = [92.2, 92.0, 91.2, 91.8, 91.7, 92.3]
    assert collapsed_runs([[92.5, 92.3, 11.3, 11.1, 10.3], typical], "higher") == [[2, 3, 4], []]
    assert collapsed_runs([[11.3, 11.1, 10.3, 11.2, 10.8], typical], "higher") == [[], []]
    assert collapsed_runs([[11.3, 11.1, 10.3, 11.2, 10.8], [*typical, 10.9]], "higher") == [[0, 1, 2, 3, 4], [6]]
    assert collapsed_runs([typical[:2], [10.3]], "higher") == [[], []]


def test_hardly_any_normal_sample_has_collapsed_runs():
    rng = np.random.default_rng(6)
    for n, most in ((6, 0.03), (10, 0.012), (30, 0.005)):
        found = [collapsed_runs([rng.standard_normal(n)], "lower") != [[]] for _ in range(1000)]
        assert np.mean(found) <= most


def test_values_near_the_largest_float_are_told_apart_without_a_warning():
    largest = 1.7e308
    assert weak_by_mad([largest, largest, largest, largest, -largest, float("nan")]).places == [4, 5]
    assert far_from_others([largest, -largest, largest, -largest, 0.0, 1.0]) == []
    kept, fallen = [largest * (1 - k / 100) for k in range(5)], [largest, -largest]
    assert collapsed_runs([kept, fallen], "higher") == [[], [1]]
