"""Which examples a training had is shown whatever drew them, and only where they are fixed for the training."""

from __future__ import annotations

import pytest
from factor_runs import SEEDS, Trained, other

from deviate.observe.fingerprints import same_examples

#: Whatever draws the examples: all but the order of the data is drawn from other seeds.
VARIED = other("init", "augment", "layers", "other", "data", "shuffle")

SAME = [
    "shuffled",
    "loader_drops_last",
    "cut_drops_last",
    "with_replacement",
    "whole",
    "one_by_one",
    "shuffled_in_place",
]
NONE = [
    "augmented",
    "adversarial",
    "policy",
    "replayed",
    "rollouts",
    "negatives",
    "tested_with_gradients",
    "noise_shown",
]
DIFFERENT = ["made", "made_for_loader", "split_by_hand", "split_for_loaders", "other_labels", "listed"]


@pytest.fixture(scope="module")
def trained(torchs):
    return lambda name: torchs.run("torch_examples.py", [name], [SEEDS, SEEDS, VARIED])


def examples(run: Trained) -> dict[str, list[str]]:
    events = [event["parts"] for event in run.of("fingerprint") if event["name"] == "examples"]
    assert not [event for event in run.of("note") if event["slug"] == "examples-unread"], run.output
    assert "Traceback" not in run.output, run.output
    return events[-1] if events else {}


@pytest.mark.parametrize("name", SAME)
def test_the_same_examples_are_recognized_in_any_order(trained, name):
    control, again, varied = map(examples, trained(name))
    assert control == again
    assert same_examples(control, varied) is True


@pytest.mark.parametrize("name", NONE)
def test_what_is_drawn_anew_in_each_pass_is_no_data_set(trained, name):
    assert [examples(run) for run in trained(name)] == [{}, {}, {}]


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_examples_are_recognized_whatever_drew_them(trained, name):
    control, again, varied = map(examples, trained(name))
    assert control
    assert control == again
    assert same_examples(control, varied) is False


def test_how_far_rows_are_padded_proves_no_other_examples(trained):
    control, again, varied = map(examples, trained("padded"))
    assert control == again
    assert set(control) == set(varied) == {"padded, training, Mean"}
    assert same_examples(control, varied) is not False


def test_predictions_that_a_loss_gets_are_no_input(trained):
    names = {event["name"] for run in trained("by_hand") for event in run.of("fingerprint")}
    assert "weights" in names
    assert not names & {"examples", "input"}


def test_data_sets_that_come_and_go_are_not_mistaken_for_each_other(trained):
    assert [set(examples(run)) for run in trained("one_after_another")] == [{"data set 1", "data set 2"}] * 3
