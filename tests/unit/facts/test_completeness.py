"""How much of what a program reports is measured, and the sentences that say it."""

from __future__ import annotations

from deviate.core.experiment import ObservedWish
from deviate.facts.experiment import completeness
from deviate.observe.reported import ReportedNumber
from deviate.report.topics.reported import reported_sentences


def number(name, *, varies=True, metric="", observed=False, reason="", source="stdout", logged=False):
    return ReportedNumber(
        source=source, template=f"{name} ⟨n⟩", position=0, name=name, varies=varies, metric=metric, observed=observed,
        reason=reason, logged=logged,
    )  # fmt: skip


LOSS = number("loss", metric="loss")
ACCURACY = number("acc", metric="acc", observed=True)
CLOCK = number("at", reason="the time of day", source="log.txt")
WIDTH = number("width", varies=False, reason="equal in all runs")


def facts(*numbers, runs=3, lines_left_out=0, libraries=()):
    (known,) = completeness(
        {"control": numbers}, {"control": runs}, {"control": lines_left_out}, {"control": libraries}
    )
    return known


def test_only_what_differs_between_runs_is_counted():
    known = facts(LOSS, ACCURACY, CLOCK, WIDTH)
    assert (known.reported, known.differing, known.measured) == (4, 3, 2)
    assert (known.observed, known.left) == (["acc"], [CLOCK])


def test_the_sentences_name_what_was_observed_and_what_is_left_with_the_reason():
    assert reported_sentences(facts(LOSS, ACCURACY, CLOCK, WIDTH)) == [
        "Numbers in 3 places of the output differed between runs; 2 of them show metrics.",
        "Read from output or files: acc.",
        "Not measured: at (log.txt; the time of day).",
    ]
    # That every number is measured is not said: a place that shows a metric may once show an evaluation's value.
    assert reported_sentences(facts(LOSS, WIDTH)) == [
        "Numbers in 1 place of the output differed between runs; 1 of them shows a metric."
    ]


def test_many_names_are_counted():
    many = [number(f"m{index}", metric=f"m{index}", observed=True) for index in range(9)]
    assert reported_sentences(facts(*many))[1] == ("Read from output or files: m0, m1, m2, m3, m4, m5 and 3 more.")


def test_where_nothing_differed_that_is_said():
    assert reported_sentences(facts(WIDTH)) == ["No number that this program reported differed between runs."]


def test_one_run_cannot_tell():
    assert completeness({"control": [LOSS]}, {"control": 1}, {}, {}) == []
    assert completeness({"control": []}, {"control": 3}, {}, {}) == []


def test_lines_that_were_not_searched_are_counted():
    assert reported_sentences(facts(LOSS, lines_left_out=12))[-1] == (
        "12 printed lines of too many forms were not searched for numbers."
    )
    assert len(reported_sentences(facts(WIDTH, lines_left_out=12))) == 2


def test_what_is_printed_and_logged_counts_once():
    logged = number("loss/val", metric="loss", source="TensorBoard", logged=True)
    other = number("loss/val", metric="loss", source="MLflow", logged=True)
    alone = number("f1", metric="f1", observed=True, source="TensorBoard", logged=True)
    again = number("f1", metric="f1", observed=True, source="MLflow", logged=True)
    steps = number("batches", reason="whole numbers", source="TensorBoard", logged=True)
    known = facts(LOSS, logged, alone, steps, other, again)
    assert (known.reported, known.differing, known.measured) == (3, 3, 2)
    assert (known.observed, known.left) == (["f1"], [steps])


def test_what_differs_in_digits_that_are_logged_alone_counts():
    rounded = number("acc", varies=False, metric="acc", observed=True)
    logged = number("acc", metric="acc", observed=True, source="TensorBoard", logged=True)
    known = facts(rounded, logged)
    assert (known.reported, known.differing, known.measured) == (1, 1, 1)


def test_a_tracker_that_left_no_file_is_named():
    stored = number("loss", metric="loss", source="wandb", logged=True)
    assert facts(LOSS, libraries={"torch", "wandb", "mlflow", "aim"}).unread_trackers == ["wandb", "mlflow", "aim"]
    known = facts(stored, libraries={"wandb", "mlflow"})
    assert known.unread_trackers == ["mlflow"]
    assert reported_sentences(known)[-1] == (
        "What it may have reported to mlflow alone is not among them: no file of the run holds it."
    )


def test_a_number_that_the_user_names_and_that_was_not_reported_is_said():
    wishes = [ObservedWish(name="acc", metric=False), ObservedWish(name="f1"), ObservedWish(name="x", rename="loss")]
    (known,) = completeness({"control": [LOSS, ACCURACY]}, {"control": 2}, {}, {}, wishes)
    assert known.missing == ["f1"]
    assert "Named in deviate.toml under [[observed]], and not reported: f1." in reported_sentences(known)
