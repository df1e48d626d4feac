"""Checked arrays of predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deviate.stats.predictions import checked_values, coded, correctness

TABLES = arrays.arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 12)))


@given(TABLES, st.integers(-(2**62), 2**62))
def test_codes_give_the_labels_and_the_targets_back(labels, target):
    targets = np.full(labels.shape[1], target)
    numbered = coded(labels, targets)
    assert (numbered.classes[numbered.labels] == labels).all()
    assert (numbered.classes[numbered.targets] == targets).all()
    assert (np.diff(numbered.classes.astype(object)) > 0).all()


@pytest.mark.parametrize("count", [2, 255, 256, 65535, 65536])
def test_codes_have_the_smallest_type_that_also_holds_the_number_of_classes(count):
    codes = coded(np.arange(count)[None]).labels
    assert codes.max() == count - 1
    assert np.iinfo(codes.dtype).max > count - 1
    assert codes.dtype.itemsize <= (1 if count < 256 else 2 if count < 65536 else 4)


def test_unsigned_labels_and_signed_targets_meet():
    numbered = coded(np.array([[2**60]], np.uint64), np.array([2**60 + 1]))
    assert numbered.classes.tolist() == [2**60, 2**60 + 1]


def test_true_and_false_are_labels():
    assert correctness([[True, False]], np.array([1, 1])).tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"shape \(n_runs, n_examples\); these have shape \(2,\)"),
        ([], r"these have shape \(0,\)"),
        ([[], []], "1 run and 1 example at least"),
        (np.empty((0, 4), int), "1 run and 1 example at least"),
        ([[0.0, np.nan]], "labels are integers; these are float64, which may hold NaN"),
        ([["cat", "dog"]], "number the classes first"),
        (np.array([[2**63]], np.uint64), r"up to 2\*\*63 - 1"),
    ],
)
def test_what_is_no_table_of_labels_is_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        coded(labels)


@pytest.mark.parametrize("targets", [[0], [0, 1, 2], [[0, 1]]])
def test_targets_are_one_for_each_example(targets):
    with pytest.raises(ValueError, match="targets have shape"):
        correctness([[0, 1]], targets)


@pytest.mark.parametrize(
    ("values", "message"), [([[np.nan]], "NaN or infinite"), ([1.0], "shape"), (np.empty((2, 0)), "1 or more")]
)
def test_values_are_finite_and_a_table(values, message):
    with pytest.raises(ValueError, match=message):
        checked_values(values)
