"""The facts about predictions, worked by hand."""

import re

import numpy as np
import pytest

from deviate.facts.predictions import Evaluation, follows, main_evaluation, proving_metric
from deviate.facts.samples import Sample
from deviate.facts.stability import stabilities, stability
from deviate.observe.matching import Predictions
from deviate.observe.predictions import Frame
from deviate.report.topics.stability import brief_stability, provenance, screen_stability, stability_sentences
from deviate.stats.pairs import METHOD_AS_WHOLES

#: Three runs on ten examples of two classes; the last run flips two examples, one of them to a right label.
TARGETS = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
LABELS = np.array([[0, 0, 0, 0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 1, 1, 1]])


def predictions(**changes):
    fields = {
        "runs": ("r-0", "r-1", "r-2"), "by": "index", "targets": TARGETS, "labels": LABELS, "values": None,
        "top": None, "scores": None, "keys": np.arange(100, 110), "classes": None, **changes,
    }  # fmt: skip
    return Predictions(**fields)


def evaluation(**changes):
    fields = {
        "variant": "r", "site": Frame("train.py", 9, "evaluate"), "kept": "last", "data": "", "metric": "acc",
        "iterations": [4, 4, 4], "goodness": [0.9, 0.9, 0.9], "predictions": predictions(), **changes,
    }  # fmt: skip
    return Evaluation(**fields)


def facts(**changes):
    return stability(evaluation(**changes), seed=0, level=0.95)


def test_churn_flips_and_stable_examples():
    known = facts().labels
    assert known.churn.value == pytest.approx((0 + 0.2 + 0.2) / 3)
    assert known.matrix == [[0, 0, 0.2], [0, 0, 0.2], [0.2, 0.2, 0]]
    assert known.unstable == 0.2
    assert known.correctness.stably_right == 0.8
    assert known.correctness.stably_wrong == 0
    flips = [(each.example, each.target, each.majority, each.agreeing, each.other, each.others) for each in known.flips]
    assert flips == [(103, "0", "0", 2, "1", 1), (104, "0", "1", 2, "0", 1)]


def test_examples_without_a_number_are_named_by_their_place_in_the_first_run():
    shuffled = predictions(by="digest", keys=np.arange(10, dtype=np.uint64) * 2**59, places=np.arange(10)[::-1])
    assert [each.example for each in facts(predictions=shuffled).labels.flips] == [6, 5]


def test_runs_that_agree_on_every_example_say_so():
    agreed = predictions(labels=LABELS[[0, 0, 0]])
    said = "For acc, all runs answer each of the 10 examples alike."
    assert brief_stability(facts(predictions=agreed))[0] == said
    assert screen_stability(facts(predictions=agreed)) == ([said], [said])
    unproven = facts(predictions=agreed, metric=None)
    assert brief_stability(unproven)[0] == "All runs answer each of the 10 examples alike."


def test_equal_accuracies_force_no_churn():
    assert facts().labels.correctness.excess.forced.value == 0


def test_classes_have_their_names_and_their_own_churn():
    known = facts(predictions=predictions(classes=("cat", "dog"))).labels
    cat, dog = known.correctness.classes
    assert (cat.name, cat.examples, cat.accuracy, cat.churn.value) == (
        "cat",
        5,
        pytest.approx(0.8),
        pytest.approx(4 / 15),
    )
    assert (dog.name, dog.churn.value) == ("dog", 0)
    assert known.flips[0].majority == "cat"


def test_without_targets_churn_is_known_and_correctness_is_not():
    known = facts(predictions=predictions(targets=None), metric=None, goodness=[None] * 3)
    assert known.labels.churn.value == pytest.approx(0.4 / 3)
    assert known.labels.correctness is None
    assert known.labels.flips[0].target == ""
    assert brief_stability(known)[1] == "All runs agree on 80% of the examples."


def test_values_of_a_regression():
    values = np.array([[1.0, 2.0], [1.5, 2.0]])
    regression = predictions(runs=("r-0", "r-1"), labels=None, values=values, targets=np.array([1.0, 2.0]))
    known = facts(predictions=regression).values
    assert known.difference.value == 0.25
    assert known.error.mean == pytest.approx(np.sqrt(0.125) / 2)


def test_predictions_of_a_regression_correlate():
    values = np.array([[1.0, 2.0, 4.0], [1.5, 2.0, 3.5], [1.0, 2.5, 3.0]])
    said = brief_stability(facts(predictions=predictions(labels=None, values=values, targets=None)))
    mean = np.corrcoef(values)[np.triu_indices(3, 1)].mean()
    assert said[1].startswith(f"The predictions of two runs correlate by {mean:.2f} (95% CI [")


def test_the_scores_of_two_runs_correlate_with_targets_or_without():
    first = np.random.default_rng(1).random((3, 10))
    scores = np.stack([first, 1 - first], axis=2)
    mean = np.corrcoef(scores.reshape(3, -1))[np.triu_indices(3, 1)].mean()
    untargeted = predictions(scores=scores, targets=None)
    for known in (
        facts(predictions=predictions(scores=scores)),
        facts(predictions=untargeted, metric=None, goodness=[None] * 3),
    ):
        assert known.labels.score_correlation.value == pytest.approx(mean, abs=1e-12)
        assert brief_stability(known)[-1].startswith("The scores of two runs correlate by ")
    assert facts().labels.score_correlation is None


@pytest.mark.parametrize(
    ("targets", "values", "is_error"),
    [
        ([0.0, 1.0], [[0.2, 0.9], [0.4, 1.0]], False),
        ([0, 1], [[0.2, 0.9], [0.4, 1.0]], False),
        ([0.0, 1.0], [[0.2, 0.9], [0.4, 1.1]], True),
        ([0.0, 0.5], [[0.2, 0.9], [0.4, 1.0]], True),
    ],
)
def test_scores_of_two_classes_have_no_error(targets, values, is_error):
    scored = predictions(runs=("r-0", "r-1"), labels=None, values=np.array(values), targets=np.array(targets))
    known = facts(predictions=scored)
    assert (known.values.error is not None, known.values.variance is not None) == (is_error, is_error)
    assert ("RMSE" in brief_stability(known)[0]) == is_error
    assert brief_stability(known)[0].startswith("The predictions of two runs for an example are ")


def test_scores_give_calibration_and_ensembles_by_their_mean():
    scores = np.full((3, 10, 2), 0.5)
    known = facts(predictions=predictions(scores=scores)).labels.correctness
    assert known.calibration["nll"].spread.mean == pytest.approx(np.log(2))
    assert known.calibration["brier"].spread.mean == pytest.approx(0.5)


def test_scores_of_classes_with_names_have_no_known_order():
    scores = np.full((3, 10, 2), 0.5)
    named = predictions(scores=scores, classes=("cat", "dog"))
    assert facts(predictions=named).labels.correctness.calibration == {}


def test_one_run_is_not_compared():
    single = facts(predictions=predictions(runs=("r-0",), labels=LABELS[:1]))
    assert single.labels is None
    assert brief_stability(single) == ["Predictions are not compared: one run has nothing to differ from."]


def test_what_is_withheld_says_why():
    assert brief_stability(facts(predictions=None, withheld="other examples")) == [
        "Predictions are not compared: other examples."
    ]


def test_sentences_hold_the_numbers():
    sentences = stability_sentences(facts())
    assert sentences[0].startswith("Churn: two runs answer 13.3% [0.0, ")
    assert "explains none of it" in sentences[0]
    assert sentences[1].startswith("All runs are right on 80% of the examples;")
    assert sentences[1].endswith("on 20% it depends on the run.")


@pytest.mark.parametrize("apart", [0, 60])
def test_pairs_that_differ_by_more_than_chance_widen_the_interval(apart):
    labels = np.stack([np.repeat([0, 1], 50)] * 5)
    labels[np.arange(5), np.arange(5)] = 1
    labels[4, 20 : 20 + apart] = 1 - labels[4, 20 : 20 + apart]
    known = predictions(targets=np.repeat([0, 1], 50), labels=labels, keys=np.arange(100))
    method = facts(predictions=known).labels.churn.interval.method
    assert (method == METHOD_AS_WHOLES) == (apart > 0)


def test_runs_that_agree_leave_nothing_to_depend_on_the_run():
    same = np.stack([np.where(np.arange(10) == 3, 1 - TARGETS, TARGETS)] * 3)
    sentences = stability_sentences(facts(predictions=predictions(labels=same)))
    assert sentences[1] == "All runs are right on 90% of the examples, alike and wrong on 10%."


def test_no_class_varies_most_where_another_varies_as_much():
    targets = np.repeat([0, 1], 50)
    labels = np.stack([targets] * 3)
    labels[0, [0, 50]] = [1, 0]  # one example of each class
    known = predictions(targets=targets, labels=labels, keys=np.arange(100))
    assert "varies most" not in " ".join(stability_sentences(facts(predictions=known)))


@pytest.mark.parametrize(("flips", "chance"), [(2, "may make as much"), (40, "more than independent errors on its 50")])
def test_the_class_that_varies_most_is_named_with_what_chance_may_make(flips, chance):
    targets = np.repeat([0, 1], 50)
    labels = np.stack([targets] * 6)
    labels[0, 50 : 50 + flips] = 0  # in one run many examples of class 1 go over to class 0
    labels[3, 0] = 1
    wavering = predictions(
        runs=tuple(f"r-{index}" for index in range(6)), targets=targets, labels=labels, keys=np.arange(100)
    )
    text = " ".join(stability_sentences(facts(predictions=wavering, goodness=[0.9] * 6)))
    assert "varies most: the SD of its accuracy is" in text
    assert chance in text
    assert "Whether two runs are right correlates by " in text
    screen = " ".join(screen_stability(facts(predictions=wavering, goodness=[0.9] * 6))[0])
    assert ("varies most" in screen) == chance.startswith("more than"), "chance is no news"


@pytest.mark.parametrize(
    ("shift", "said"),
    [
        (0, "cannot be said"),
        (60, "the rest is single examples that flip"),
        (400, "points, and would be about as large on an infinite test set."),
    ],
)
def test_the_variance_on_a_test_set_without_end_is_told_or_limited(shift, said):
    rng = np.random.default_rng(2)
    targets = rng.integers(2, size=400)
    wrong = rng.random((8, 400)) < 0.1
    for run in range(8):
        wrong[run, : shift * (run % 2)] |= rng.random(shift * (run % 2)) < 0.9
    labels = np.where(wrong, 1 - targets, targets)
    runs = tuple(f"r-{index}" for index in range(8))
    known = facts(predictions=predictions(runs=runs, targets=targets, labels=labels, keys=np.arange(400)))
    assert said in " ".join(stability_sentences(known))


def test_provenance_says_what_proves_the_predictions():
    assert provenance(facts()) == [
        "Captured in evaluate at train.py:9, what was predicted there last in each run.",
        "Examples are matched by their number in the data set.",
        "The shares of correct labels are the values of acc in every run.",
    ]
    assert "check that this is the evaluation you mean" in provenance(facts(metric=None))[-1]
    disputed = facts(metric=None, disputed="test acc", predictions=predictions(targets=None), goodness=[None] * 3)
    assert "do not give the values of test acc" in provenance(disputed)[-1]
    for said in screen_stability(disputed):
        assert re.fullmatch(r"These answers, at \S+:\d+, do not give the values of test acc\.", said[-1]), said
    assert (disputed.goodness, disputed.labels.correctness, disputed.labels.churn.value > 0) == ([], None, True)
    written = facts(site=Frame("preds.csv", 0, ""), predictions=predictions(by="digest"))
    assert provenance(written)[:2] == [
        "Read from preds.csv, which each run wrote.",
        "Examples are matched by their ids.",
    ]


# The metric that proves


@pytest.mark.parametrize(
    ("value", "goodness", "expected"),
    [
        (0.9095, 0.90954, True),
        (90.95, 0.9095, True),
        (0.0905, 0.9095, True),
        (9.05, 0.9095, True),
        (0.909, 0.9095, False),
        (0.25, -0.25, True),
        (0.5, -0.25, True),
        (0.26, -0.25, False),
    ],
)
def test_a_value_follows_from_predictions_in_the_usual_forms(value, goodness, expected):
    assert follows(value, goodness) is expected


def test_a_metric_proves_predictions_only_if_it_does_in_every_run():
    recorded = [(0, 4, "acc", 0.9), (1, 4, "acc", 0.8), (0, 4, "loss", 0.1), (1, 4, "loss", 0.7)]
    assert proving_metric([(0, 4), (1, 4)], [0.9, 0.8], recorded) == "acc"
    assert proving_metric([(0, 4), (1, 4)], [0.9, 0.9], recorded) is None
    assert proving_metric([(0, 3), (1, 4)], [0.9, 0.8], recorded) is None
    assert proving_metric([(0, 4)], [None], recorded) is None


def sample(name, aggregate):
    return Sample(name=name, aggregate=aggregate, values=[], runs=[])


def test_the_evaluation_of_the_main_metric_comes_first_by_its_aggregate():
    train, last, best = evaluation(metric="train acc"), evaluation(), evaluation(kept="best")
    assert main_evaluation([train, last, best], [sample("acc", "best"), sample("train acc", "last")]) is best
    assert main_evaluation([train, last, best], [sample("acc", "last")]) is last
    assert main_evaluation([train], [sample("acc", "last")]) is train
    withheld = evaluation(predictions=None, withheld="no", metric=None)
    assert main_evaluation([withheld, train], []) is train
    assert main_evaluation([withheld], []) is withheld
    assert main_evaluation([], []) is None


def test_the_main_evaluation_is_measured_first():
    train, test = evaluation(metric="train acc"), evaluation(metric="test acc")
    first, second = stabilities([train, test], [sample("train acc", "last"), sample("test acc", "last")], 0, 0.95)
    assert (first.metric, second.metric) == ("test acc", "train acc")
