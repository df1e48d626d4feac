"""The review in the terminal: metrics are kept, refused, added, renamed, and their direction is corrected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deviate.cli import extract as review
from deviate.core.experiment import ObservedWish
from deviate.probes.trial import PrintedNumber
from deviate.source.config import read_config
from deviate.source.config_file import write_observed


class _Answer:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    def unsafe_ask(self) -> object:
        return self.answer


@pytest.fixture
def answers(monkeypatch) -> Iterator[list[object]]:
    """Answers to the questions, in turn; all must have been asked in the end."""
    waiting: list[object] = []
    for kind in ("checkbox", "select", "text"):
        monkeypatch.setattr(review.questionary, kind, lambda *_, **__: _Answer(waiting.pop(0)))
    yield waiting
    assert waiting == []


def number(name: str, kind: str | None) -> PrintedNumber:
    reason = "" if kind else "one value in all runs"
    return PrintedNumber(name=name, source="stdout", line="", count=2, first=1.0, last=2.0, kind=kind, reason=reason)


PRINTED = [number("loss", "loss"), number("reward", "quality"), number("widgets", None), number("size", None)]


def test_numbers_of_the_output_are_refused_added_renamed_and_turned(answers):
    answers += [[1, 2], 1, "return", "best", "higher", review.DONE]
    assert review.review_numbers(PRINTED) == [
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


def test_a_review_of_nothing_asks_for_nothing_to_tick(answers):
    answers.append(review.DONE)
    assert review.review_numbers([]) == []
