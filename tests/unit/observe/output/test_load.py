"""Numbers of the clock, the process and the load are told by how they behave."""

from __future__ import annotations

import numpy as np
import pytest

from deviate.observe.output.judge import load_slots
from deviate.observe.output.slots import mine_log

LOSSES = (0.9, 0.5, 0.3)


def runs(*texts: str):
    return {f"run {number}": mine_log(text.encode(), "stdout").series for number, text in enumerate(texts)}


def recorded(*losses: tuple[float, ...], name: str = "loss"):
    return {f"run {number}": {name: np.array(values)} for number, values in enumerate(losses)}


def templates(found) -> list[str]:
    return sorted(template for _, template, _ in found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("worker 1811 ready", "worker 1907 ready"),
        ("done: 0.276 (s)", "done: 0.281 (s)"),
        ("[ INFO:0@12.345] codec not known", "[ INFO:0@13.345] codec not known"),
        ("queue 812", "queue 916"),
    ],
)
def test_of_runs_with_equal_losses_an_unnamed_number_that_differs_is_of_the_load(one, other):
    assert len(load_slots(runs(one, other), recorded(LOSSES, LOSSES), ())) == 1


def test_of_runs_with_other_losses_nothing_is_of_the_load():
    assert not load_slots(runs("worker 1", "worker 2"), recorded(LOSSES, (0.9, 0.5, 0.4)), ())


def test_a_number_with_the_name_of_a_quality_is_never_of_the_load():
    assert not load_slots(runs("test accuracy 0.91", "test accuracy 0.92"), recorded(LOSSES, LOSSES), ())


def test_a_printed_loss_tells_runs_apart_that_recorded_the_same():
    texts = ("epoch 1 loss 0.5\nepoch 2 loss 0.4\nworker 1", "epoch 1 loss 0.5\nepoch 2 loss 0.3\nworker 2")
    assert not load_slots(runs(*texts), recorded((1.0, 2.0), (1.0, 2.0), name="x"), ())


def test_times_need_not_be_equal():
    times = recorded((1.0, 2.0), (1.5, 2.5), name="took")
    losses = {run: {**values, "loss": np.array(LOSSES)} for run, values in times.items()}
    assert templates(load_slots(runs("worker 1", "worker 2"), losses, {"took"})) == ["worker ⟨n⟩"]


def test_numbers_that_never_change_prove_nothing():
    assert not load_slots(runs("worker 1", "worker 2"), recorded((0.5, 0.5), (0.5, 0.5)), ())
    assert not load_slots(runs("worker 1", "worker 2"), {}, ())
