"""A number says of how many trainings of a run it is, where a run holds several."""

import pytest
import report_cases as cases
from msgspec import structs

from deviate.core.experiment import MainLoop
from deviate.observe.processes import Trainings
from deviate.report.topics.caveats import taken_in_rounds, training_caveats


def document(trainings, reports, **extra):
    runs = [structs.replace(run, trainings=trainings) for run in cases.completed("control", 2)]
    values = {"control": {"test acc": [0.5, 0.5]}}
    return cases.document(values, runs=runs, reports={"control": {"test acc": reports}}, **extra)


@pytest.mark.parametrize(
    ("trainings", "reports", "label", "slug"),
    [
        (Trainings(count=3), [3], "(best of 3 values)", "several-trainings"),
        (Trainings(count=3), [12], "(best of 12 values)", "several-trainings"),
        (Trainings(count=3), [2], "(best of 2 values)", "several-trainings"),
        (Trainings(count=2, together=True), [3], "(best of 3 values)", "several-trainings"),
        # Reported once, after all of them.
        (Trainings(count=3), [1], "(best)", "several-trainings"),
        (Trainings(count=1), [9], "(best)", ""),
        (Trainings(), [3, 5], "(best of 3 to 5 values)", "loop-unseen"),
        (Trainings(), [1], "(best)", ""),
    ],
)
def test_the_headline_says_of_how_many(trainings, reports, label, slug):
    said = document(trainings, reports)
    assert said.variants[0].headline[0] == f"test acc was exactly 0.5 in both runs {label}."
    assert {each.slug for each in said.warnings} & {"several-trainings", "loop-unseen"} == ({slug} - {""})


def test_trainings_side_by_side_are_told_from_others():
    (warned,) = (each for each in document(Trainings(count=2, together=True), [4]).warnings if "loop" in each.message)
    assert "at the same time" in warned.message
    assert warned.severity == "warning"


def test_iterations_without_a_note_of_the_loop_are_of_one_training():
    said = document(Trainings(), [9], looped={"control": 9})
    assert said.variants[0].headline[0].endswith(" (best).")


@pytest.mark.parametrize(
    ("reports", "sentence"),
    [([3], "of what each of them reports is of the last one"), ([1], "Reported once in a run, by one of them or")],
)
def test_what_is_said_of_several_trainings_names_the_numbers(reports, sentence):
    (caveat,) = training_caveats(document(Trainings(count=3), reports).variants[0].facts, [loop("pre"), loop("fine")])
    assert sentence in caveat.message
    assert "its main loops (pre.py:4 and fine.py:4) 3 times" in caveat.message


def loop(name):
    return MainLoop(file=f"{name}.py", line=4, variable="epoch", kind="for", why="")


def test_a_value_of_rounds_that_others_do_not_report_is_of_so_many_values():
    def said(reports):
        facts = document(Trainings(count=1), reports, looped={"control": 9}).variants[0].facts
        return taken_in_rounds(facts.metrics[0], facts.trainings)

    assert (said([9]), said([3])) == ("best", "best of 3 values")
