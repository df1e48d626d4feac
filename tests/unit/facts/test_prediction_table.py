"""Predictions as a table, with the scores of all classes where they were kept."""

import numpy as np
import pytest

from deviate.facts.predictions import Evaluation, prediction_table
from deviate.observe.matching import Predictions
from deviate.observe.predictions import Frame

SCORES = np.array([[[0.7, 0.3], [0.2, 0.8]], [[0.6, 0.4], [0.9, 0.1]]])


def evaluation(scores, classes=None):
    predicted = Predictions(
        runs=("algo-0", "algo-3"), by="index", targets=np.array([0, 1]), labels=SCORES.argmax(axis=2), values=None,
        top=SCORES.max(axis=2), scores=scores, keys=np.array([5, 6]), classes=classes,
    )  # fmt: skip
    return Evaluation(
        variant="algo", site=Frame("train.py", 9, "test"), kept="last", data="", metric=None, iterations=[0, 0],
        goodness=[1.0, 0.5], predictions=predicted,
    )  # fmt: skip


def test_scores_have_a_column_for_each_class_in_the_row_of_their_run_and_example():
    table = prediction_table([evaluation(SCORES, classes=("cat", "dog"))], scores=True)
    assert list(table.columns[-2:]) == ["score of cat", "score of dog"]
    row = table[(table["run"] == 3) & (table["example"] == 6)].iloc[0]
    assert (row["prediction"], row["score of cat"], row["score of dog"]) == ("cat", 0.9, 0.1)
    assert row["score"] == pytest.approx(max(row["score of cat"], row["score of dog"]))


def test_without_scores_or_without_asking_there_are_no_such_columns():
    plain = prediction_table([evaluation(SCORES)])
    assert list(plain.columns) == ["variant", "run", "example", "target", "prediction", "score"]
    assert prediction_table([evaluation(None)], scores=True).equals(prediction_table([evaluation(None)]))
    assert len(plain) == 4
