"""Runs with predictions, made by hand."""

import numpy as np

from deviate.facts.predictions import Evaluation
from deviate.observe.matching import Predictions
from deviate.observe.predictions import Frame


def predictions(runs: int, examples: int = 60, classes: int = 3, seed: int = 0, **changes: object) -> Predictions:
    """Return labels of runs that are right on most examples."""
    rng = np.random.default_rng(seed)
    targets = np.arange(examples) % classes
    labels = np.where(rng.random((runs, examples)) < 0.9, targets, rng.integers(classes, size=(runs, examples)))
    fields = {
        "runs": tuple(f"algo+impl-{index}" for index in range(runs)), "by": "index", "targets": targets,
        "labels": labels, "values": None, "top": None, "scores": None, "keys": np.arange(examples), "classes": None,
        **changes,
    }  # fmt: skip
    return Predictions(**fields)


def evaluation(predicted: Predictions | None, **changes: object) -> Evaluation:
    """Return the evaluation that such predictions come from."""
    runs = len(predicted.runs) if predicted else 2
    fields = {
        "variant": "algo+impl", "site": Frame("train.py", 9, "evaluate"), "kept": "last", "data": "test set of 60",
        "metric": "test acc", "iterations": [4] * runs, "goodness": [0.9] * runs, "predictions": predicted, **changes,
    }  # fmt: skip
    return Evaluation(**fields)
