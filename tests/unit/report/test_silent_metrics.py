"""Metrics of the source that no run recorded: lost, or never asked for."""

import pytest
import report_cases as cases
from msgspec import structs

from deviate.observe.events import RuntimeNote
from deviate.observe.reported import ReportedNumber

ACC, BATCH = cases.metric("acc", line=20), cases.metric("batch loss", line=12)
PRINTED = ReportedNumber(
    source="stdout", template="acc: N", position=0, name="acc", decimals=2, varies=True, metric="acc"
)
UNREAD = structs.replace(PRINTED, name="batch loss", metric="", reason="unlike numbers")
VALUES = {"acc": [0.5, 0.6, 0.7]}


def silent(values=VALUES, *, other=None, metrics=(ACC, BATCH), numbers=(PRINTED,), **more):
    by_variant = {"algo+impl": values, **({"init": other} if other else {})}
    reported = {name: list(numbers) for name in by_variant if numbers}
    document = cases.document(by_variant, metrics=list(metrics), reported=reported, **more)
    return [(each.severity, each.message) for each in document.warnings if each.slug == "metric-silent"]


def test_what_these_runs_were_not_asked_for_is_a_note():
    ((severity, message),) = silent()
    assert severity == "note"
    assert message == "No record of its own: batch loss (train.py:12). Every printed number that differed is measured."


@pytest.mark.parametrize(
    "lost",
    [
        {"numbers": ()},
        {"numbers": (PRINTED, UNREAD)},
        {"numbers": (structs.replace(PRINTED, varies=False),)},
        {"lines_left_out": {"algo+impl": 3}},
        {"metrics": (ACC, structs.replace(BATCH, line=20))},
        {"metrics": (ACC, structs.replace(BATCH, sink="added"))},
        {"other": {"acc": [0.5, 0.6, 0.7], "batch loss": [1.0, 2.0, 3.0]}},
        {"values": {"batch loss": [None, None, None]}},
    ],
    ids=[
        "nothing read",
        "a number left",
        "no number differs",
        "lines unread",
        "same line",
        "the user's",
        "in another variant",
        "no other",
    ],
)
def test_a_metric_that_may_have_been_lost_is_warned_of(lost):
    said = silent(**lost)
    ((severity, message),) = said
    assert message.startswith("Never recorded: ")
    # Only without the main metric does a reader look at another number.
    assert (severity == "warning") == ("acc" in message)


def test_what_was_reported_and_is_no_number_is_not_said_to_be_unreported():
    refused = RuntimeNote(slug="value-unreadable", message="batch loss: it is of type list", runs=["algo+impl-0"])
    assert silent(notes=[refused]) == []
    assert silent(notes=[structs.replace(refused, message="train batch loss: it is of type list")]) != []


@pytest.mark.parametrize(("accuracies", "said"), [([0.5, 0.6, 0.7], 0), ([0.5, 0.6, None], 1)])
def test_what_holds_several_numbers_is_no_news_where_the_output_shows_the_metric_in_each_run(accuracies, said):
    refused = RuntimeNote(slug="value-unreadable", message="acc: it is of type tuple", runs=["algo+impl-0"])
    found = cases.results({"algo+impl": {"acc": accuracies}}, metrics=[ACC], notes=[refused])
    read = [structs.replace(sample, observed=True) for sample in found.samples["algo+impl"]]
    document = cases.said(structs.replace(found, samples={"algo+impl": read}))
    assert [each.slug for each in document.warnings].count("value-unreadable") == said


def test_where_notes_were_left_out_nothing_is_said_of_the_line():
    ((_, message),) = silent(notes_left_out={"value-unreadable": 4})
    assert message == (
        "Never recorded: batch loss (train.py:12). Nothing shows whether a run reached the line: notes on 4 or more "
        "values were left out."
    )
    ((_, message),) = silent(notes_left_out={"predictions-unread": 4})
    assert message.startswith("No record of its own: ")
