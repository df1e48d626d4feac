"""Where a program reports another accuracy than captured labels give, its own is right, and ours is not shown."""

import numpy as np
import pytest

from deviate.facts.predictions import disputed_accuracy, every_without_targets
from deviate.observe.matching import EveryPass, Predictions, Withheld

PLACES = [(0, 4), (1, 4)]
SHARES = [0.9144, 0.92]


def recorded(**metrics):
    return [
        (*place, name, value)
        for name, values in metrics.items()
        for place, value in zip(PLACES, values, strict=True)
        if value is not None
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"test_acc": [0.87, 0.88]}, "test_acc"),
        ({"loss": [0.3, 0.2], "accuracy": [87.1, 92.0]}, "accuracy"),
        # Beside an accuracy of held-out data, one of no part of the data is of the training.
        ({"accuracy": [0.99, 0.98], "val_accuracy": [0.87, 0.88]}, "val_accuracy"),
        # It differs by rounding alone, or another accuracy agrees.
        ({"test_acc": [0.91, 0.92]}, ""),
        ({"test_acc": [91.4, 92.0]}, ""),
        ({"val_acc": [0.5, 0.6], "test_acc": [0.914, 0.92]}, ""),
        # Not every pass has one, or it is of other examples or of another kind.
        ({"test_acc": [0.87, None]}, ""),
        ({"train_acc": [0.5, 0.6], "acc_top5": [0.99, 0.99], "best_acc": [0.95, 0.95], "f1": [0.8, 0.8]}, ""),
        ({"val_acc": [0.5, 0.6]}, ""),
        ({}, ""),
    ],
)
def test_an_accuracy_of_the_programs_that_the_labels_do_not_give_disputes_them(values, expected):
    proven = {"val_acc"} if set(values) == {"val_acc"} else {None}
    assert disputed_accuracy(PLACES, SHARES, recorded(**values), proven) == expected


def test_no_pass_keeps_what_tells_which_labels_are_correct():
    labels = np.zeros((1, 3, 2), int)
    predicted = Predictions(("r-0",), "index", labels[0, :, 0], labels, None, None, None, np.arange(3), None)
    assert every_without_targets(EveryPass(predicted, (0, 1), 0)).predictions.targets is None
    assert every_without_targets(withheld := Withheld("why")) is withheld
