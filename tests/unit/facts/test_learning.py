"""The facts about every evaluation pass, worked by hand."""

import dataclasses

import numpy as np
import pytest

from deviate.facts.learning import ONE_PASS, forgetting_table, learning_facts
from deviate.observe.matching import EveryPass, Predictions, Withheld
from deviate.report.topics.stability import learning_sentences

TARGETS = np.array([0, 1, 1, 0])
#: Two runs, three passes: equal in the first, apart on one example in the second and on two in the third.
RUNS = np.array(
    [
        [[0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 1, 0]],
        [[0, 0, 1, 1], [0, 1, 0, 0], [1, 1, 0, 0]],
    ]
)


def every(runs=RUNS, targets=TARGETS, left_out=0):
    predicted = Predictions(
        runs=("r-0", "r-1"), by="index", targets=targets, labels=np.moveaxis(runs, 1, 2), values=None, top=None,
        scores=None, keys=np.arange(4), classes=None,
    )  # fmt: skip
    return EveryPass(predicted, tuple(range(runs.shape[1])), left_out)


def test_churn_and_accuracy_by_pass_and_where_runs_part():
    facts = learning_facts(every(), 0.95)
    assert [each.churn.value for each in facts.passes] == [0, 0.25, 0.5]
    assert [each.accuracy for each in facts.passes] == [0.5, 0.875, 0.75]
    # Run 0 changes two labels, then none; run 1 changes three, then one.
    assert [each.changed for each in facts.passes] == [None, 0.625, 0.125]
    assert facts.parting == 1


def test_what_is_forgotten():
    known = learning_facts(every(), 0.95).forgetting
    # Run 1 forgets example 2 after the first pass, and example 0 after the second.
    assert known.mean_events.mean == 0.25
    assert known.unforgettable.mean == 0.75
    # Both runs learn example 0 and 2 in pass 0, examples 1 and 3 in pass 1.
    assert (known.mean_first_learnt, known.first_learnt_sd, known.learnt_by_all) == (0.5, 0, 1)


def test_the_table_has_a_row_for_each_example():
    table = forgetting_table("control", every())
    assert table["events"].tolist() == [0.5, 0, 0.5, 0]
    assert table["first_learnt"].tolist() == [0, 1, 0, 1]
    assert table["runs_unforgettable"].tolist() == [1, 2, 1, 2]


def test_sentences_say_where_runs_part_and_what_they_forget():
    parting, forgotten, learnt = learning_sentences(learning_facts(every(), 0.95))
    assert parting == (
        "Runs first differ in evaluation 2 of 3, two of them on 25% of the examples; in the last one it is 50%."
    )
    assert forgotten.startswith(
        "An example is forgotten 0.25 times on average; 75% are learnt and never forgotten (SD "
    )
    assert learnt == "When an example is first right differs between runs by an SD of 0 evaluations."
    assert learning_sentences(learning_facts(every(RUNS[[0, 0]]), 0.95))[0] == (
        "In all 3 evaluations the runs give every example the same label."
    )


def test_without_targets_only_churn_is_known():
    facts = learning_facts(every(targets=None), 0.95)
    assert facts.forgetting is None
    assert len(learning_sentences(facts)) == 1


@pytest.mark.parametrize(("given", "reason"), [(Withheld("others"), "others"), (every(RUNS[:, :1]), ONE_PASS)])
def test_what_is_withheld_says_why(given, reason):
    (sentence,) = learning_sentences(learning_facts(given, 0.95))
    assert sentence == f"The course of the predictions over the evaluations is unknown: {reason}."


def test_passes_that_not_all_runs_made_are_counted():
    assert learning_facts(dataclasses.replace(every(), left_out=2), 0.95).left_out == 2
