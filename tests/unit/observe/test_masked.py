"""Masked targets are recognised by what runs predict and report, and left out."""

import msgspec
import numpy as np
import pytest

from deviate.observe.predictions import EvaluationPass, Frame, Header, is_no_label, never_predicted, without_target


def made(target, label, **more):
    header = Header(
        schema=1, site=Frame("train.py", 1, ""), chain=[], data="", kept="last", iteration=0, number=0, rank=None,
        rows=len(target), goodness=0.0, classes=None, columns=[],
    )  # fmt: skip
    return EvaluationPass(header, {"target": np.array(target), "label": np.array(label)}, **more)


@pytest.mark.parametrize(
    ("target", "labels", "unpredicted", "masks"),
    [
        ([0, 1, -1, -1], [[0, 1, 0, 1], [1, 1, 0, 0]], [-1], True),
        ([0, 1, -100, 2], [[0, 1, 1, 0]], [-100, 2], True),
        # A class that one run predicts is a class.
        ([-1, 1, -1, 1], [[1, 1, -1, 1], [1, 1, 1, 1]], [], False),
        # Runs that predict one label alone do not show what the others are.
        ([-1, 0, 1, 1], [[1, 1, 1, 1]], [], False),
        ([0, 1, 2, 2], [[0, 1, 0, 1]], [2], False),
    ],
)
def test_what_no_run_predicts_may_be_masked(target, labels, unpredicted, masks):
    passes = [made(target, label) for label in labels]
    assert never_predicted(passes) == unpredicted
    assert [value for value in unpredicted if is_no_label(value, passes)] == (unpredicted[:1] if masks else [])


def test_masked_examples_are_left_out_with_all_that_is_known_of_them():
    rows = np.array([0, 2, 3])
    each = made([0, -1, 1, -1], [0, 1, 0, 0], features=np.arange(3.0)[:, None], feature_rows=rows)
    cut = without_target(each, -1)
    assert (cut.header.rows, cut.header.goodness) == (2, 0.5)
    assert {name: column.tolist() for name, column in cut.columns.items()} == {"target": [0, 1], "label": [0, 0]}
    assert cut.features.ravel().tolist() == [0.0, 1.0]
    assert cut.feature_rows.tolist() == [0, 1]


def test_labels_with_names_are_left_as_they_are():
    named = made([0, 1, 2], [0, 1, 1])
    header = msgspec.structs.replace(named.header, classes=["a", "b", "c"])
    assert never_predicted([EvaluationPass(header, named.columns)]) == []
