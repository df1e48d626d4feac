"""Metrics as users name them."""

import pytest

from deviate.core.errors import BadOption
from deviate.lexicon.words import find_name


def test_the_very_name_goes_before_one_in_another_case():
    assert find_name("loss", ["Loss", "loss"]) == "loss"
    assert find_name("test accuracy", ["loss", "Test accuracy"]) == "Test accuracy"


def test_what_is_none_of_them_is_refused_with_their_names():
    with pytest.raises(BadOption, match="no metric") as raised:
        find_name("", ["Loss", "loss", "acc"])
    assert raised.value.hint == "type one of: Loss, loss, acc"
    with pytest.raises(BadOption, match="no metric 'los'; did you mean 'loss'"):
        find_name("los", ["Loss", "loss", "acc"])


def test_what_may_be_several_is_refused_with_these():
    names = ["evaluate: acc", "evaluate-2: acc", "Loss", "loss"]
    with pytest.raises(BadOption, match="'acc' names 2 metrics") as raised:
        find_name("acc", names)
    assert raised.value.hint == "type one of them: 'evaluate: acc', 'evaluate-2: acc'"
    with pytest.raises(BadOption, match="'LOSS' names 2 metrics"):
        find_name("LOSS", names)


def test_nothing_recorded_is_said():
    with pytest.raises(BadOption, match="no metric 'a'") as raised:
        find_name("a", [])
    assert raised.value.hint == "there is no metric"
