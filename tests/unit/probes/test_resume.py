"""What is said of a resumed training, and what counts as not restored."""

import os
from pathlib import Path

from deviate.probes.certificate import Parting
from deviate.probes.resume import Lost, Resumed, lost_parts, newest_checkpoint
from deviate.probes.training import Failure
from deviate.report.topics.certificate import lost_text, resumed_sentences
from deviate.report.views import page_view

COMMAND = ["python", "train.py"]
PARTING = Parting(metric="loss", iteration=3, here=0.5, there=0.25)
VELOCITY = Lost(kind="variable", name="velocity", parts=[], fresh=True)


def resumed(**changes):
    fields = {"command": COMMAND, "resumed": COMMAND, "at": 3, "went_on": 3, "values": 6, "metrics": 2}
    return Resumed(**{**fields, **changes})


def said(**changes):
    return list(resumed_sentences(resumed(**changes)))


def test_equality_needs_values_or_weights_that_were_compared():
    assert resumed().status == 0
    assert said(weights=True) == [
        "Resumed at the 4th iteration, it equals a training that was not interrupted, bit by bit: 6 values of 2 "
        "metrics and the final weights."
    ]
    assert resumed(values=0, metrics=0).status == 1
    assert said(values=0, metrics=0) == [
        "Resumed at the 4th iteration, but nothing could be compared: no value was recorded and no weights were seen."
    ]


def test_a_difference_names_the_first_value_and_what_was_not_restored():
    optimizer = Lost(kind="optimizer", name="optimizer", parts=["momentum_buffer", "lr"], fresh=True)
    assert said(parting=PARTING, lost=[optimizer, VELOCITY]) == [
        "Resumed at the 4th iteration, it differs from a training that was not interrupted.",
        "First difference: loss in the 4th iteration: 0.5 resumed, 0.25 uninterrupted.",
        "Not restored: optimizer optimizer (momentum_buffer and lr) and variable velocity.",
    ]
    assert said(parting=PARTING, weights=True)[2] == "The final weights are equal."
    assert said(weights_differ=True)[1:] == [
        "The values are equal, and the final weights are not.",
        "What was not restored is not known: all that was looked at was as it was.",
    ]
    assert resumed(parting=PARTING).status == resumed(weights_differ=True).status == resumed(anew=True).status == 1
    text = repr(page_view(resumed(parting=PARTING, lost=[VELOCITY])))
    assert "as at the beginning" in text


def test_what_was_not_resumed_is_not_compared():
    assert said(anew=True) == ["Not resumed: the command began again at the first iteration."]
    failed = Failure(run="the training", reason="it ended with status 1", stderr=["KeyError: 'epoch'"])
    assert said(failure=failed) == ["Not compared: the training: it ended with status 1."]
    assert "KeyError" in repr(page_view(resumed(failure=failed)))


def state(**variables):
    return {("variable", name): {"": value} for name, value in variables.items()}


def test_what_moved_and_is_another_is_lost():
    whole = {0: state(a=1, b=1, c=1, d=1, e=1), 3: state(a=2, b=1, c=2, d=2, e=2, loss=9), 4: state(d=7)}
    then = {0: state(a=2, b=5, c=1, d=1, e=3), 1: state(d=7)}
    # a: restored; b: a setting that never moved; c: as at the beginning; d: set anew in each iteration; e: another;
    # loss: not set yet.
    lost = lost_parts(whole, then, 3)
    assert [(each.name, each.fresh) for each in lost] == [("c", True), ("e", False)]
    assert lost_parts(whole, {}, 3) == lost_parts({0: state()}, then, 3) == []


def test_of_an_object_the_parts_are_named_and_one_that_is_gone_is_lost():
    key = ("optimizer", "Adam")
    whole = {0: {key: {"lr": 1}}, 2: {key: {"lr": 1, "exp_avg": 5, "step": 6}}}
    lost = lost_parts(whole, {0: {key: {"lr": 1}}}, 2)
    assert [lost_text(each) for each in lost] == ["optimizer Adam (exp_avg and step)"]
    assert lost_parts(whole, {0: {}}, 2)[0].name == "Adam"


def test_the_newest_checkpoint_is_found_and_a_folder_of_one_is_one(tmp_path):
    copy, snapshot = tmp_path / "copy", tmp_path / "snapshot"
    for place, name in ((snapshot, "old.pt"), (copy, "old.pt"), (copy, "new.pt"), (copy, "log.txt")):
        place.mkdir(exist_ok=True)
        (place / name).write_text("")
    assert newest_checkpoint(copy, snapshot) == "new.pt"
    folder = copy / "out" / "checkpoint-12"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_text("")
    assert newest_checkpoint(copy, snapshot) == str(Path("out") / "checkpoint-12")
    assert newest_checkpoint(snapshot, snapshot) == ""


def test_a_state_under_any_name_is_a_checkpoint_where_no_other_file_is(tmp_path):
    copy, snapshot = tmp_path / "copy", tmp_path / "snapshot"
    for place, name in ((snapshot, "table.npy"), (copy, "table.npy"), (copy, "log.csv"), (copy, "run_3.joblib")):
        place.mkdir(exist_ok=True)
        (place / name).write_text("")
    assert newest_checkpoint(copy, snapshot) == "run_3.joblib"
    (copy / "best.pkl").write_text("")
    os.utime(copy / "best.pkl", (1, 1))
    assert newest_checkpoint(copy, snapshot) == "best.pkl"
