"""What would lower the spread, from stored reports and predictions, and what is not known of it."""

import dataclasses

import numpy as np
import pytest

from deviate.facts.predictions import Evaluation
from deviate.facts.remedies import DISPUTED, NO_LABELS, NO_MAJORITY, NO_OTHERS, NO_SNAPSHOTS, NO_TARGETS, remedies
from deviate.facts.samples import Sample
from deviate.facts.stability import stabilities
from deviate.observe.matching import EveryPass, Predictions
from deviate.observe.predictions import Frame
from deviate.report.topics.remedies import remedies_table

RNG = np.random.default_rng(0)
RUNS, EXAMPLES = 6, 60
TARGETS = np.arange(EXAMPLES) % 3
ACCURACY = Sample(name="test acc", aggregate="last", values=RNG.normal(90, 1, RUNS).tolist(), runs=list(range(RUNS)))
REPORTS = {run: [value - 1, value] for run, value in enumerate(ACCURACY.values)}


def predictions(**changes):
    scores = (2 * RNG.dirichlet((1, 1, 1), (RUNS, EXAMPLES)) + np.eye(3)[TARGETS]) / 3
    fields = {
        "runs": tuple(f"algo+impl-{run}" for run in range(RUNS)), "by": "index", "targets": TARGETS,
        "labels": scores.argmax(axis=2), "values": None, "top": None, "scores": scores, "keys": np.arange(EXAMPLES),
        "classes": None, **changes,
    }  # fmt: skip
    return Predictions(**fields)


def evaluation(predicted, line=9, **changes):
    return Evaluation(
        variant="algo+impl", site=Frame("train.py", line, "evaluate"), kept="last", data="", metric=None,
        iterations=[4] * RUNS, goodness=[0.9] * RUNS, predictions=predicted, **changes,
    )  # fmt: skip


def ways(*evaluations, reports=REPORTS):
    known = stabilities(evaluations, [ACCURACY], 0, 0.95)
    found = remedies("algo+impl", [ACCURACY], reports, evaluations, next(iter(known), None), 0.95)
    return found and {each.way: each for each in found.ways}


def test_the_last_reports_of_the_main_metric():
    found = ways()["reports"]
    assert [row.size for row in found.rows] == [1, 2]
    assert found.rows[1].mean == pytest.approx(np.mean(ACCURACY.values) - 0.5)
    assert ways()["runs"].reason == NO_TARGETS


def test_a_run_that_diverged_is_left_out_and_one_report_says_nothing():
    assert ways(reports={**REPORTS, 0: [1.0, float("nan")]})["reports"].rows[0].values == RUNS - 1
    assert ways(reports={run: [1.0] for run in REPORTS}) is None


def test_answers_that_are_numbers_or_another_accuracy_than_the_programs_are_not_called_missing():
    numbers = predictions(labels=None, scores=None, values=RNG.normal(size=(RUNS, EXAMPLES)))
    assert ways(evaluation(numbers))["runs"].reason == NO_LABELS
    disputed = evaluation(predictions(targets=None), disputed="test acc")
    assert ways(disputed)["runs"].reason == DISPUTED.format(metric="test acc")


def test_scores_of_two_places_are_averaged():
    first, second = predictions(), predictions()
    found = ways(evaluation(first), evaluation(second, line=20))["evaluations"]
    assert [site.line for _, site in found.places] == [9, 20]
    right = ((first.scores + second.scores).argmax(axis=2) == TARGETS).mean(axis=1)
    assert found.rows[1].mean == pytest.approx(right.mean(), abs=1e-12)
    assert found.rows[1].sd == pytest.approx(right.std(ddof=1), abs=1e-12)


def test_what_cannot_be_put_together_is_said():
    plain = predictions(scores=None)
    alone = ways(evaluation(plain), evaluation(plain, line=20))
    assert (alone["evaluations"].reason, alone["snapshots"].reason) == (NO_OTHERS, NO_SNAPSHOTS)
    other = evaluation(predictions(scores=None), line=20)
    assert ways(evaluation(plain), other)["evaluations"].reason == NO_MAJORITY
    elsewhere = evaluation(predictions(keys=np.arange(EXAMPLES) + 50), line=20)
    assert ways(evaluation(plain), elsewhere)["evaluations"].reason == NO_OTHERS


def test_snapshots_are_those_of_every_evaluation():
    snapshots = RNG.integers(0, 3, (RUNS, EXAMPLES, 4))
    kept = dataclasses.replace(predictions(), labels=snapshots, scores=None)
    found = ways(evaluation(predictions(), every=EveryPass(kept, (0, 1, 2, 3), 0)))
    assert [row.size for row in found["snapshots"].rows] == [1, 3]
    assert [row.size for row in found["runs"].rows] == [1, 2, 3]


def test_the_table_has_one_row_of_one_and_says_what_an_answer_costs():
    first, second = evaluation(predictions()), evaluation(predictions(), line=20)
    known = stabilities([first, second], [ACCURACY], 0, 0.95)
    found = remedies("algo+impl", [ACCURACY], REPORTS, [first, second], known[0], 0.95)
    shown = remedies_table(found, "")
    assert [(row.cells[0].text, row.cells[-2].text, row.cells[-1].text) for row in shown.rows] == [
        ("the last report", "1", "1"),
        ("mean of the last 2 reports", "–", "1"),
        ("labels of one run", "1", "1"),
        ("mean scores of 2 evaluations", "2", "1"),
        ("mean scores of 2 runs", "2", "2"),
        ("mean scores of 3 runs", "3", "3"),
    ]
    assert [name for name, _ in shown.folded] == ["snapshots of a run", "averaged weights"]
