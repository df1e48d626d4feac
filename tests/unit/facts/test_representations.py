"""How alike runs represent the same examples: from evaluations to the sentence."""

from __future__ import annotations

import numpy as np
import pytest

from deviate.facts.predictions import Evaluation
from deviate.facts.weights import representation_facts
from deviate.observe.matching import Predictions
from deviate.observe.predictions import Frame
from deviate.report.topics.stability import representation_sentences
from deviate.stats.weights import linear_cka


def evaluation(features):
    rows = 40
    runs = tuple(f"algo-{index}" for index in range(len(features)))
    predicted = Predictions(
        runs=runs, by="index", targets=np.zeros(rows, int), labels=np.zeros((len(runs), rows), int), values=None,
        top=None, scores=None, keys=np.arange(rows), classes=None, features=features,
    )  # fmt: skip
    return Evaluation(
        variant="algo", site=Frame("train.py", 3, "test"), kept="last", data="", metric=None,
        iterations=[1] * len(runs), goodness=[1.0] * len(runs), predictions=predicted,
    )  # fmt: skip


def test_representations_of_runs_are_compared_by_pairs():
    rng = np.random.default_rng(0)
    features = tuple(rng.normal(size=(20, 4)) for _ in range(3))
    facts = representation_facts([evaluation(features)], [], 0.95)
    pairs = [linear_cka(features[a], features[b]).value for a, b in ((0, 1), (0, 2), (1, 2))]
    assert facts.cka.value == pytest.approx(np.mean(pairs))
    assert (facts.examples, facts.runs) == (20, ["algo-0", "algo-1", "algo-2"])
    (said,) = representation_sentences(facts)
    assert said.startswith("What enters the last linear layer is alike in two runs by ")
    assert "the linear CKA over 20 examples; 1 is equal up to rotation and scale, 0 unrelated." in said
    assert "unrelated" not in representation_sentences(facts, scale=False)[0]


def test_what_does_not_vary_says_why_it_is_not_compared():
    facts = representation_facts([evaluation((np.ones((20, 2)),) * 2)], [], 0.95)
    assert facts.cka.value is None
    assert representation_sentences(facts) == [f"Representations are not compared: {facts.cka.reason}."]
    assert facts.cka.reason


@pytest.mark.parametrize("features", [None, (np.ones((20, 2)),), (np.ones((3, 2)), np.ones((3, 2)))])
def test_without_enough_features_there_are_no_facts(features):
    made = evaluation(features or ())
    assert representation_facts([made], [], 0.95) is None
