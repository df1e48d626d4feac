"""Likelihood, Brier score and calibration, against scikit-learn, torchmetrics and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_predictions import SCORES, TARGETS

from deviate.stats.classes import BINS, calibration, expected_calibration_error

#: Values of scikit-learn 1.9.1: log_loss and brier_score_loss with labels 0 to 3, run after run.
LOG_LOSS = [0.8479724102010505, 0.8535855670360715, 0.8013074147733241, 0.7913642905868893]
BRIER = [0.48865972794121987, 0.4799898746733256, 0.45421096439138675, 0.4442513287850201]
#: Values of torchmetrics 1.9.0: multiclass_calibration_error with 15 bins, in single precision.
ECE = [0.19506584107875824, 0.17033600807189941, 0.17447760701179504, 0.2021956741809845]


def test_it_agrees_with_scikit_learn_and_torchmetrics():
    measured = calibration(SCORES, TARGETS)
    assert measured.nll.values == pytest.approx(np.array(LOG_LOSS), abs=1e-12)
    assert measured.brier.values == pytest.approx(np.array(BRIER), abs=1e-12)
    assert measured.ece.values == pytest.approx(np.array(ECE), abs=1e-6)
    assert measured.nll.spread.sd == pytest.approx(np.std(LOG_LOSS, ddof=1), abs=1e-12)
    assert measured.nll.interval.known


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_calibration_error_is_the_gap_in_each_bin(examples):
    top, right = (np.array(column) for column in zip(*examples, strict=True))
    expected = 0.0
    for b in range(BINS):
        inside = (top * BINS > b) & (top * BINS <= b + 1) | (b == 0) & (top == 0)
        if inside.any():
            expected += inside.mean() * abs(right[inside].mean() - top[inside].mean())
    assert expected_calibration_error(top, right) == pytest.approx(expected, abs=1e-12)


def test_calibration_error_by_hand():
    """Bins of 0.5: (0.6, right) and (0.9, wrong) share one, (0.4, right) is alone: (|1 - 1.5| + |1 - 0.4|) / 3."""
    error = expected_calibration_error(np.array([0.6, 0.9, 0.4]), np.array([True, False, True]), bins=2)
    assert error == pytest.approx((0.5 + 0.6) / 3, abs=1e-12)


def test_scores_that_are_always_right_are_perfect():
    measured = calibration(np.eye(3)[None, [0, 2, 1]], [0, 2, 1])
    assert (measured.nll.values, measured.brier.values, measured.ece.values) == ([0], [0], [0])
    assert measured.nll.spread.withheld["sd"] == "one run has no spread"


def test_a_target_with_a_score_of_0_has_no_finite_likelihood():
    measured = calibration([[[1.0, 0.0]], [[0.5, 0.5]], [[0.25, 0.75]]], [1])
    assert np.isnan(measured.nll.values).tolist() == [True, False, False]
    assert measured.nll.reason == "infinite in 1 runs: a target has a score of 0"
    assert measured.nll.spread.mean == pytest.approx((math.log(2) - math.log(0.75)) / 2)
    assert measured.brier.values.tolist() == [2, 0.5, 0.125]
    assert measured.brier.reason == ""


def test_order_of_runs_and_examples_does_not_matter():
    before, after = calibration(SCORES, TARGETS), calibration(SCORES[::-1, ::-1], TARGETS[::-1])
    for name in ("nll", "brier", "ece"):
        assert getattr(after, name).values[::-1] == pytest.approx(getattr(before, name).values, abs=1e-12)


def test_single_precision_will_do():
    before, after = calibration(SCORES, TARGETS), calibration(SCORES.astype(np.float32), TARGETS)
    assert after.nll.values == pytest.approx(before.nll.values, abs=1e-6)


@pytest.mark.parametrize(
    ("scores", "targets", "message"),
    [
        ([[[2.0, -1.0]]], [0], "apply softmax to logits"),
        ([[[0.5, 0.3]]], [0], "sum to 1"),
        ([[[np.nan, 0.5]]], [0], "in \\[0, 1\\]"),
        ([[0.5, 0.5]], [0], "n_runs, n_examples, n_classes"),
        (np.empty((1, 0, 2)), [], "all 1 or more"),
        ([[[0.5, 0.5]]], [2], "positions of classes, 0 to 1; these go from 2 to 2"),
        ([[[0.5, 0.5]]], [0, 1], "targets have shape"),
    ],
)
def test_what_are_no_probabilities_or_positions_is_refused(scores, targets, message):
    with pytest.raises(ValueError, match=message):
        calibration(scores, targets)
