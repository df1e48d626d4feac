"""The difference for other runs on other examples: what is compared, and what is said of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from deviate.facts.compared_predictions import changed_predictions
from deviate.facts.predictions import Evaluation
from deviate.observe.examples import match_groups, read_group_table
from deviate.observe.matching import Predictions
from deviate.observe.predictions import Frame
from deviate.report.topics.comparison_predictions import example_sentences

EXAMPLES = 200
TARGETS = np.arange(EXAMPLES) % 3


def side(runs, share, seed, *, values=False, targets=TARGETS):
    rng = np.random.default_rng(seed)
    right = rng.random((runs, EXAMPLES)) < share
    predicted = Predictions(
        runs=tuple(f"algo-{index}" for index in range(runs)), by="index", targets=targets,
        labels=None if values else np.where(right, TARGETS, (TARGETS + 1) % 3),
        values=TARGETS + share * rng.standard_normal((runs, EXAMPLES)) if values else None, top=None, scores=None,
        keys=np.arange(EXAMPLES), classes=None,
    )  # fmt: skip
    evaluation = Evaluation(
        variant="algo", site=Frame("train.py", 9, "evaluate"), kept="last", data="", metric=None,
        iterations=[4] * runs, goodness=[0.9] * runs, predictions=predicted,
    )  # fmt: skip
    return SimpleNamespace(evaluations=[evaluation], samples=[])


def said(a, b, **changes):
    facts = changed_predictions(a, b, {}, 0.95)
    return facts, example_sentences(facts, "base", "wider", **{"alpha": 0.05, "one_draw": False, **changes})


def test_the_difference_for_other_runs_on_other_examples_is_said():
    facts, sentences = said(side(4, 0.7, 0), side(5, 0.9, 1))
    right = [(each.evaluations[0].predictions.labels == TARGETS).mean() for each in (side(4, 0.7, 0), side(5, 0.9, 1))]
    assert facts.score == "accuracy"
    assert facts.crossed.difference.value == pytest.approx(right[0] - right[1], abs=1e-12)
    interval = facts.crossed.difference.interval.negated
    assert sentences == [
        f"For other runs on other test examples, wider minus base in accuracy: {100 * (right[1] - right[0]):.1f} "
        f"points [{100 * interval.low:.1f}, {100 * interval.high:.1f}].",
        f"Its standard error is {100 * facts.crossed.se_runs:.1f} points from the runs alone and "
        f"{100 * facts.crossed.se_examples:.1f} points from the 200 examples alone.",
    ]
    assert said(side(4, 0.7, 0), side(5, 0.9, 1), one_draw=True)[1] == []


def test_examples_of_a_cluster_are_counted_as_one(tmp_path):
    (tmp_path / "patients.csv").write_text("cluster\n" + "".join(f"p{index // 4}\n" for index in range(EXAMPLES)))
    a, b = side(4, 0.7, 0), side(5, 0.9, 1)
    (evaluation,) = a.evaluations
    groups = match_groups(read_group_table(tmp_path / "patients.csv"), evaluation.predictions)
    a.evaluations = [structs.replace(evaluation, groups=[groups])]
    facts, sentences = said(a, b)
    assert (groups.groupings, facts.crossed.clusters, facts.groups) == ((), 50, [])
    assert sentences[1].endswith("points from the 200 examples in 50 clusters alone.")
    assert facts.crossed.se_runs == pytest.approx(said(side(4, 0.7, 0), b)[0].crossed.se_runs, rel=1e-9)
    a.evaluations, b = [structs.replace(each, groups=[groups]) for each in side(1, 0.7, 0).evaluations], side(1, 0.9, 1)
    assert said(a, b)[0].mcnemar is None


def test_values_are_scored_by_their_squared_error():
    facts, sentences = said(side(4, 0.7, 0, values=True), side(4, 0.5, 1, values=True))
    assert (facts.score, facts.withheld) == ("squared error", "the models predict values, not classes")
    assert "wider minus base in squared error: −0.189 " in sentences[0]


def test_one_run_each_is_a_question_of_two_models():
    facts, sentences = said(side(1, 0.7, 0), side(1, 0.9, 1))
    assert facts.crossed.difference.interval.low is None
    assert sentences[0].startswith(
        "McNemar's test of these two models, one run of base and one of wider: p < 0.001 (ex"
    )
    assert sentences[1] == "It says nothing about the recipes: other runs of them are other models."


def test_without_targets_nothing_is_scored():
    facts, sentences = said(side(3, 0.7, 0, targets=None), side(3, 0.9, 1, targets=None))
    assert (facts.score, facts.crossed, sentences) == ("", None, [])
