"""The review in the terminal: metrics are kept, refused, added, renamed, and their direction is corrected."""

from __future__ import annotations

import click
import pytest

from deviate.cli.extract import review_metrics, review_numbers
from deviate.cli.review import Review
from deviate.core.experiment import ObservedWish
from deviate.probes.trial import PrintedNumber
from deviate.source.config import read_config
from deviate.source.config_file import write_metrics, write_observed
from deviate.source.selection import extract


def pressing(*keys):
    """Answer a review with keys; what is longer than a key's name is typed letter by letter."""

    def answer(review: Review) -> bool:
        for key in keys:
            for each in [key] if key in ("enter", "escape", "down", "up", "backspace") else key:
                review.press(each)
        return bool(review.saved)

    return answer


def number(name: str, kind: str | None) -> PrintedNumber:
    reason = "" if kind else "one value in all runs"
    return PrintedNumber(name=name, source="stdout", line="", count=2, first=1.0, last=2.0, kind=kind, reason=reason)


PRINTED = [number("loss", "loss"), number("reward", "quality"), number("widgets", None), number("size", None)]


def test_numbers_of_the_output_are_refused_added_renamed_and_turned():
    keys = [" ", "down", "n", *["backspace"] * 6, "return", "enter", "a", "d", "f", "down", " ", "enter"]
    assert review_numbers(PRINTED, pressing(*keys)) == [
        ObservedWish(name="loss", metric=False, kind="loss"),
        ObservedWish(name="reward", rename="return", aggregate="best", direction="higher", kind="quality"),
        ObservedWish(name="widgets"),
    ]


def test_what_was_reviewed_replaces_what_the_file_says_of_the_same_number(tmp_path):
    write_observed(tmp_path, [ObservedWish(name="acc", rename="accuracy"), ObservedWish(name="f1", aggregate="max")])
    write_observed(tmp_path, [ObservedWish(name="accuracy", direction="lower")], replaces=True)
    assert read_config(tmp_path).observed == [
        ObservedWish(name="acc", rename="accuracy", direction="lower"),
        ObservedWish(name="f1", aggregate="max"),
    ]


def test_a_review_of_nothing_asks_for_nothing_to_tick():
    assert review_numbers([], lambda review: pytest.fail("asked")) == []


SOURCE = """
import random
weight = random.random()
for epoch in range(3):
    error = weight * 2
    loss = weight / (epoch + 1)
    print(f"epoch {epoch} loss {loss:.3f}")
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "train.py").write_text(SOURCE)
    return tmp_path


def test_a_rejected_value_and_an_assigned_variable_become_metrics(project):
    findings = extract(project, "train.py")
    assert [each.variable for each in findings.rejected] == ["epoch"]
    reviewed = review_metrics(project, findings, pressing("f", "down", " ", "+", "train.py:5 error", "enter", "enter"))
    chosen = [metric for metric in reviewed.metrics if metric.selected]
    assert [(each.name, each.line, each.expression) for each in chosen] == [
        ("loss", 7, "loss"),
        ("epoch", 7, "epoch"),
        ("error", 5, "error"),
    ]
    write_metrics(project, "train.py", chosen)
    assert [each.name for each in extract(project, "train.py").metrics if each.selected] == ["loss", "epoch", "error"]


def test_what_cannot_be_added_is_said_and_a_stopped_review_changes_nothing(project):
    findings, seen = extract(project, "train.py"), []

    def answer(review: Review) -> bool:
        said = pressing("+", "train.py:5 nothing", "enter")
        assert not said(review)
        seen.extend(review.screen(80))
        return pressing("escape", "escape")(review)

    with pytest.raises(click.Abort):
        review_metrics(project, findings, answer)
    assert any("no expression 'nothing' on line 5" in line for line in seen)
    assert any(line.startswith("FILE:LINE EXPRESSION: train.py:5 nothing") for line in seen)


def test_the_screen_has_a_line_a_metric_and_says_what_was_left_out(project):
    seen: list[str] = []

    def answer(review: Review) -> bool:
        seen.extend(review.screen(60))
        return pressing("enter")(review)

    review_metrics(project, extract(project, "train.py"), answer)
    assert seen[2:] == [">[x] ★ loss  lower  last  loss  :7", "  left out: 1 (f shows them)"]
