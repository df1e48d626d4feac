"""Correlations of correctness and of values, against NumPy and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from made_predictions import LABELS, TARGETS

from deviate.stats import agreement
from deviate.stats.agreement import correctness_correlation, value_correlation

TABLES = arrays.arrays(np.int64, st.tuples(st.integers(2, 6), st.integers(1, 12)), elements=st.integers(0, 1))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@given(TABLES)
def test_it_is_pearsons_coefficient(right):
    measured = correctness_correlation(right, np.ones(right.shape[1], int))
    expected = np.array(
        [[np.corrcoef(a, b)[0, 1] if np.ptp(a) and np.ptp(b) else np.nan for b in right] for a in right]
    )
    assert measured.matrix == pytest.approx(expected, abs=1e-12, nan_ok=True)
    pairs = expected[np.triu_indices(len(right), 1)]
    assert measured.undefined == np.isnan(pairs).sum()
    if measured.undefined < pairs.size:
        assert measured.mean.value == pytest.approx(np.nanmean(pairs), abs=1e-12)
    else:
        assert (measured.mean.value, measured.mean.reason) == (None, "no pair of runs has a value")


def test_it_is_matthews_coefficient():
    """Values of scikit-learn 1.9.1: matthews_corrcoef of the correctness of two runs."""
    expected = [0.07537783614444091, -0.09090909090909091, 0.36786169268471874]
    expected += [-0.0215365246126974, 0.07787611974767476, 0.0961583755953976]
    matrix = correctness_correlation(LABELS, TARGETS).matrix
    assert matrix[np.triu_indices(4, 1)] == pytest.approx(np.array(expected), abs=1e-12)
    assert np.diag(matrix) == pytest.approx(np.ones(4), abs=1e-12)


def test_a_run_that_is_always_right_has_no_correlation():
    measured = correctness_correlation([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]], [0, 0, 0])
    assert measured.undefined == 3
    assert measured.reason == "3 pairs have a run that is right, or wrong, on all examples"
    assert measured.mean.value == pytest.approx((0.5 - 0.5 - 1) / 3, abs=1e-12)
    without_it = correctness_correlation([[0, 0, 1], [0, 1, 1], [1, 0, 0]], [0, 0, 0])
    assert measured.mean == without_it.mean


def test_one_run_has_no_pair():
    measured = correctness_correlation([[0, 1]], [0, 0])
    assert (measured.mean.value, measured.mean.reason, measured.undefined) == (None, "a pair needs two runs", 0)


def test_where_no_two_runs_are_wrong_together_there_is_no_interval():
    """Four runs with two errors each on 30 examples: phi is -1/14 for each pair that errs apart."""
    errors = np.zeros((4, 30), int)
    for run in range(4):
        errors[run, 2 * run : 2 * run + 2 - run // 3] = 1
    apart = correctness_correlation(errors, np.zeros(30, int)).mean
    assert apart.value < 0
    assert (
        apart.interval.reason == "no example is wrong in two runs, so nothing shows how often runs are wrong together"
    )
    opposite = correctness_correlation(1 - errors, np.zeros(30, int)).mean
    assert opposite.value == pytest.approx(apart.value)
    assert opposite.interval.reason.startswith("no example is right in two runs")
    errors[3, 0] = 1
    assert correctness_correlation(errors, np.zeros(30, int)).mean.interval.known


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_values_correlate_as_numpy_says_also_in_parts(monkeypatch, kind):
    monkeypatch.setattr(agreement, "_AT_ONCE", 7)
    values = (np.random.default_rng(3).normal(size=(4, 60)) + np.linspace(1e3, 1e3 + 2, 60)).astype(kind)
    pairs = np.corrcoef(values.astype(np.float64))[np.triu_indices(4, 1)]
    measured = value_correlation(values)
    assert measured.value == pytest.approx(pairs.mean(), abs=1e-12)
    assert measured.interval.low < measured.value < measured.interval.high


def test_a_run_of_one_value_or_of_nan_correlates_with_none():
    rows = np.array([[0.1, 0.5, 0.9], [0.1, 0.1, 0.1], [0.2, np.nan, 0.8], [0.3, 0.2, 0.9], [0.1, 0.4, 0.3]])
    assert value_correlation(rows) == value_correlation(rows[[0, 3, 4]])
    assert value_correlation(rows[:2]).reason == "no pair of runs has a value"
    assert value_correlation(rows[[0, 0, 0]]).value == pytest.approx(1)
